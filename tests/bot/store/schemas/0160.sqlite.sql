BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0160');
CREATE TABLE alerts (
	id TEXT DEFAULT '' NOT NULL, 
	delivery_id INTEGER NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	email TEXT DEFAULT '' NOT NULL, 
	received_at DOUBLE NOT NULL, 
	claimed_by TEXT DEFAULT '' NOT NULL, 
	claimed_name TEXT DEFAULT '' NOT NULL, 
	claimed_at DOUBLE, 
	sequence TEXT DEFAULT '' NOT NULL, 
	domain TEXT DEFAULT '' NOT NULL, 
	waiting_since DOUBLE, 
	nudges BIGINT DEFAULT '0' NOT NULL, 
	snoozed_until DOUBLE, 
	snoozed_name TEXT DEFAULT '' NOT NULL, 
	handled_name TEXT DEFAULT '' NOT NULL, 
	handled_at DOUBLE, 
	standing TEXT DEFAULT '' NOT NULL, 
	looked_at DOUBLE, 
	recovered_at DOUBLE, closed_reason TEXT DEFAULT '' NOT NULL, claim_nudges BIGINT DEFAULT '0' NOT NULL, reply TEXT DEFAULT '' NOT NULL, acked_name TEXT DEFAULT '' NOT NULL, acked_at DOUBLE, ack_due_at DOUBLE, ack_reminders BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(delivery_id) REFERENCES deliveries (id), 
	UNIQUE (delivery_id)
);
INSERT INTO "alerts" VALUES('al_7b1dd6bfc491abc0c856',1,'default','reply.interested','ada1@acme.example',1795165201.0,'U1','ann',1795165200.0,'Q3 founders','mail.example',NULL,0,NULL,'','',NULL,'',NULL,NULL,'',1,'','',NULL,NULL,0);
INSERT INTO "alerts" VALUES('al_2faa1fc47b4c90797088',2,'default','reply.interested','ada2@acme.example',1795165202.0,'','',NULL,'Q3 founders','mail.example',1795165202.0,0,NULL,'','',NULL,'',NULL,NULL,'',0,'','',NULL,NULL,0);
CREATE TABLE answers (
	batch BIGINT NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (batch)
);
INSERT INTO "answers" VALUES(1,1795165200.0);
CREATE TABLE arrivals (
	id INTEGER NOT NULL, 
	dkey BLOB NOT NULL, 
	at DOUBLE NOT NULL, 
	batch BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	actor_name TEXT DEFAULT '' NOT NULL, 
	actor_id TEXT DEFAULT '' NOT NULL, 
	face TEXT DEFAULT '' NOT NULL, 
	channel TEXT DEFAULT '' NOT NULL, 
	command TEXT DEFAULT '' NOT NULL, 
	result TEXT DEFAULT '' NOT NULL, effect TEXT DEFAULT '' NOT NULL, sequences TEXT DEFAULT '' NOT NULL, reason TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1795165200.0,'default','ann','U1','slack','C1','pause sq_1','done (sq_1)','paused','["done", "sq_1"]','');
CREATE TABLE bot_processes (
	id TEXT DEFAULT '' NOT NULL, 
	host TEXT DEFAULT '' NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE "channel_leases" (
	channel TEXT DEFAULT '' NOT NULL, 
	due_at DOUBLE, 
	lease_until DOUBLE, 
	token BIGINT DEFAULT '0' NOT NULL, 
	tat DOUBLE, 
	trouble TEXT DEFAULT '' NOT NULL, 
	trouble_since DOUBLE, 
	storm BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (channel)
);
INSERT INTO "channel_leases" VALUES('C1',1795165200.0,NULL,1,1795165201.0,'',NULL,0);
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	dkey BLOB NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	problem TEXT DEFAULT '' NOT NULL, 
	body BLOB, 
	found BOOLEAN DEFAULT 0 NOT NULL, 
	received_at DOUBLE NOT NULL, 
	last_at DOUBLE NOT NULL, 
	before_at DOUBLE NOT NULL, 
	seen BIGINT DEFAULT '0' NOT NULL, 
	batch_first BIGINT DEFAULT '0' NOT NULL, 
	batch BIGINT DEFAULT '0' NOT NULL, 
	batch_before BIGINT DEFAULT '0' NOT NULL, 
	pending BOOLEAN NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "deliveries" VALUES(1,X'7B1DD6BFC491ABC0C856568F50CECF9D67304D319FE238F6C1A569A9E7225B2C','default','reply.interested','',X'7B226576656E74223A20227265706C792E696E7465726573746564222C20226C656164223A207B22656D61696C223A2022616461314061636D652E6578616D706C65222C202266697273745F6E616D65223A20224164612031222C2022636F6D70616E79223A202241636D65227D2C202273657175656E6365223A2022513320666F756E64657273222C202273746570223A20322C20227265706C79223A20225965732C2063616C6C206D652E222C2022696E626F78223A202273616D406D61696C2E6578616D706C65227D',0,1795165201.0,1795165201.0,1795165201.0,1,1,1,0,0);
INSERT INTO "deliveries" VALUES(2,X'2FAA1FC47B4C907970880132F8A3D274621014F6D125BAD200120AC3C52D5EC0','default','reply.interested','',X'7B226576656E74223A20227265706C792E696E7465726573746564222C20226C656164223A207B22656D61696C223A2022616461324061636D652E6578616D706C65222C202266697273745F6E616D65223A20224164612032222C2022636F6D70616E79223A202241636D65227D2C202273657175656E6365223A2022513320666F756E64657273222C202273746570223A20322C20227265706C79223A20225965732C2063616C6C206D652E222C2022696E626F78223A202273616D406D61696C2E6578616D706C65227D',0,1795165202.0,1795165202.0,1795165202.0,1,1,1,0,0);
INSERT INTO "deliveries" VALUES(3,X'7B1DD6BFC491ABC0C856568F50CECF9D67304D319FE238F6C1A569A9E7225B2C','default','','',X'7B226576656E74223A20227265706C792E696E7465726573746564222C20226C656164223A207B22656D61696C223A2022616461314061636D652E6578616D706C65222C202266697273745F6E616D65223A20224164612031222C2022636F6D70616E79223A202241636D65227D2C202273657175656E6365223A2022513320666F756E64657273222C202273746570223A20322C20227265706C79223A20225965732C2063616C6C206D652E222C2022696E626F78223A202273616D406D61696C2E6578616D706C65227D',0,1795165205.0,1795165205.0,1795165205.0,1,2,2,0,1);
INSERT INTO "deliveries" VALUES(4,X'535742AA435B6A39FFEF90EC36A876BD93B247735707CCE1B1F15EBE0F19149D','default','','',X'7B226576656E74223A20227265706C792E696E7465726573746564222C20226C656164223A207B22656D61696C223A2022616461334061636D652E6578616D706C65222C202266697273745F6E616D65223A20224164612033222C2022636F6D70616E79223A202241636D65227D2C202273657175656E6365223A2022513320666F756E64657273222C202273746570223A20322C20227265706C79223A20225965732C2063616C6C206D652E222C2022696E626F78223A202273616D406D61696C2E6578616D706C65227D',0,1795165206.0,1795165206.0,1795165206.0,1,2,2,0,1);
CREATE TABLE digests (
	workspace TEXT DEFAULT '' NOT NULL, 
	channel TEXT DEFAULT '' NOT NULL, 
	every TEXT DEFAULT '' NOT NULL, 
	at TEXT DEFAULT '' NOT NULL, 
	done_until DOUBLE NOT NULL, due_at DOUBLE DEFAULT '0' NOT NULL, 
	PRIMARY KEY (workspace, channel, every)
);
INSERT INTO "digests" VALUES('default','C2','day','09:00',1795165200.0,0.0);
CREATE TABLE guardrail_incidents (
	id INTEGER NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	rule TEXT DEFAULT '' NOT NULL, 
	sentence TEXT DEFAULT '' NOT NULL, 
	action TEXT DEFAULT '' NOT NULL, 
	subject TEXT DEFAULT '' NOT NULL, 
	label TEXT DEFAULT '' NOT NULL, 
	note TEXT DEFAULT '' NOT NULL, 
	sequences TEXT DEFAULT '[]' NOT NULL, 
	state TEXT DEFAULT '' NOT NULL, 
	began_at DOUBLE NOT NULL, 
	held_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	resumes_at DOUBLE, 
	lease_until DOUBLE, 
	token BIGINT DEFAULT '0' NOT NULL, 
	attempts BIGINT DEFAULT '0' NOT NULL, 
	undo TEXT DEFAULT '' NOT NULL, requested TEXT DEFAULT '[]' NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE guardrail_samples (
	workspace TEXT DEFAULT '' NOT NULL, 
	day BIGINT NOT NULL, 
	slot BIGINT NOT NULL, 
	scope TEXT DEFAULT '' NOT NULL, 
	"key" TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	sends BIGINT DEFAULT '0' NOT NULL, 
	replies BIGINT DEFAULT '0' NOT NULL, 
	positive BIGINT DEFAULT '0' NOT NULL, 
	health DOUBLE, 
	PRIMARY KEY (workspace, day, slot, scope, "key")
);
CREATE TABLE guardrail_switches (
	workspace TEXT DEFAULT '' NOT NULL, 
	rule TEXT DEFAULT '' NOT NULL, 
	"by" TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	until DOUBLE, 
	PRIMARY KEY (workspace, rule)
);
CREATE TABLE guardrail_turns (
	workspace TEXT DEFAULT '' NOT NULL, 
	rule TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (workspace, rule)
);
CREATE TABLE guardrails (
	workspace TEXT DEFAULT '' NOT NULL, 
	name TEXT DEFAULT '' NOT NULL, 
	sentence TEXT DEFAULT '' NOT NULL, 
	added_by TEXT DEFAULT '' NOT NULL, 
	added_name TEXT DEFAULT '' NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (workspace, name)
);
CREATE TABLE instance (
	number INTEGER NOT NULL, 
	id TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE known_leads (
	workspace TEXT DEFAULT '' NOT NULL, 
	lead TEXT DEFAULT '' NOT NULL, 
	candidate_since DOUBLE, seen_at DOUBLE, 
	PRIMARY KEY (workspace, lead)
);
INSERT INTO "known_leads" VALUES('default','',NULL,NULL);
INSERT INTO "known_leads" VALUES('default','64e16f4ecf23e5aaec280728123e4898be442aadee0363549fd5d26d1c0bdfdd',NULL,1.79542066298742294307e+09);
CREATE TABLE lookups (
	channel TEXT DEFAULT '' NOT NULL, 
	thread_ts TEXT DEFAULT '' NOT NULL, 
	due_at DOUBLE NOT NULL, 
	lease_until DOUBLE, 
	token BIGINT DEFAULT '0' NOT NULL, 
	position TEXT DEFAULT '' NOT NULL, 
	began_at DOUBLE, 
	around DOUBLE, 
	PRIMARY KEY (channel, thread_ts)
);
CREATE TABLE moved_channels (
	old TEXT DEFAULT '' NOT NULL, 
	new TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (old)
);
CREATE TABLE posts (
	id INTEGER NOT NULL, 
	dedupe TEXT NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	channel TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	alert_id TEXT DEFAULT '' NOT NULL, 
	note TEXT DEFAULT '' NOT NULL, 
	urgency BIGINT DEFAULT '0' NOT NULL, 
	state TEXT DEFAULT '' NOT NULL, 
	unsure BOOLEAN DEFAULT 0 NOT NULL, 
	token BIGINT DEFAULT '0' NOT NULL, 
	bundle TEXT DEFAULT '' NOT NULL, 
	storm BIGINT DEFAULT '0' NOT NULL, 
	thread_ts TEXT DEFAULT '' NOT NULL, 
	ts TEXT DEFAULT '' NOT NULL, 
	error TEXT DEFAULT '' NOT NULL, 
	condensed BOOLEAN DEFAULT 0 NOT NULL, 
	mention TEXT DEFAULT '' NOT NULL, 
	held_until DOUBLE, 
	attempts BIGINT DEFAULT '0' NOT NULL, 
	lookups BIGINT DEFAULT '0' NOT NULL, 
	tried_until DOUBLE, 
	version BIGINT DEFAULT '0' NOT NULL, 
	repaint_at DOUBLE, 
	created_at DOUBLE NOT NULL, 
	sent_at DOUBLE, clicked BOOLEAN DEFAULT 0 NOT NULL, undo TEXT DEFAULT '' NOT NULL, keyless BOOLEAN DEFAULT 0 NOT NULL, failed_lookups BIGINT DEFAULT '0' NOT NULL, turned BOOLEAN DEFAULT 0 NOT NULL, frozen BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (dedupe)
);
INSERT INTO "posts" VALUES(1,'al_7b1dd6bfc491abc0c856:C1','default','C1','alert','al_7b1dd6bfc491abc0c856','',2,'sent',0,1,'',0,'','1795165200.000100','',0,'',NULL,1,0,1795165220.0,1,1795165200.0,1795165200.0,1795165200.0,0,'',0,0,0,0);
INSERT INTO "posts" VALUES(2,'al_2faa1fc47b4c90797088:C1','default','C1','alert','al_2faa1fc47b4c90797088','',2,'ready',0,0,'',0,'','','',0,'',NULL,0,0,NULL,0,NULL,1795165200.0,NULL,0,'',0,0,0,0);
CREATE TABLE questions (
	id TEXT DEFAULT '' NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	person TEXT DEFAULT '' NOT NULL, 
	line TEXT DEFAULT '' NOT NULL, 
	names TEXT DEFAULT '' NOT NULL, 
	ends_at DOUBLE NOT NULL, 
	given_at DOUBLE, given_name TEXT DEFAULT '' NOT NULL, overtaken_by TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "questions" VALUES('q_fccc5fd4e6b82615','default','U1','remove ld_1 --yes','{"names": [], "since": 0}',1795165800.0,NULL,'','');
CREATE TABLE releases (
	revision TEXT DEFAULT '' NOT NULL, 
	version TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (revision)
);
INSERT INTO "releases" VALUES('0160','1.0.0',1.79542066300578355788e+09);
CREATE TABLE sequence_changes (
	workspace TEXT DEFAULT '' NOT NULL, 
	sequence TEXT DEFAULT '' NOT NULL, 
	token BIGINT DEFAULT '0' NOT NULL, 
	revision BIGINT DEFAULT '0' NOT NULL, 
	locked_until DOUBLE, 
	asked TEXT DEFAULT '' NOT NULL, 
	confirmed TEXT DEFAULT '' NOT NULL, 
	pause_late_until DOUBLE, 
	resume_late_until DOUBLE, 
	PRIMARY KEY (workspace, sequence)
);
CREATE TABLE sightings (
	delivery_id INTEGER NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	domain TEXT DEFAULT '' NOT NULL, 
	sequence TEXT DEFAULT '' NOT NULL, 
	detail TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, inbox TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (delivery_id)
);
INSERT INTO "sightings" VALUES(1,'default','reply.interested','mail.example','Q3 founders','',1795165201.0,'');
INSERT INTO "sightings" VALUES(2,'default','reply.interested','mail.example','Q3 founders','',1795165202.0,'');
CREATE TABLE slack_bots (
	id INTEGER NOT NULL, 
	client_id TEXT NOT NULL, 
	app_id TEXT NOT NULL, 
	enterprise_id TEXT, 
	enterprise_name TEXT, 
	team_id TEXT, 
	team_name TEXT, 
	bot_token TEXT, 
	bot_id TEXT, 
	bot_user_id TEXT, 
	bot_scopes TEXT, 
	bot_refresh_token TEXT, 
	bot_token_expires_at DATETIME, 
	is_enterprise_install BOOLEAN NOT NULL, 
	installed_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE slack_events (
	id TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE slack_installations (
	id INTEGER NOT NULL, 
	client_id TEXT NOT NULL, 
	app_id TEXT NOT NULL, 
	enterprise_id TEXT, 
	enterprise_name TEXT, 
	team_id TEXT, 
	team_name TEXT, 
	bot_token TEXT, 
	bot_id TEXT, 
	bot_user_id TEXT, 
	bot_scopes TEXT, 
	bot_refresh_token TEXT, 
	bot_token_expires_at DATETIME, 
	is_enterprise_install BOOLEAN NOT NULL, 
	installed_at DATETIME NOT NULL, 
	enterprise_url TEXT, 
	user_id TEXT NOT NULL, 
	user_token TEXT, 
	user_scopes TEXT, 
	user_refresh_token TEXT, 
	user_token_expires_at DATETIME, 
	incoming_webhook_url TEXT, 
	incoming_webhook_channel TEXT, 
	incoming_webhook_channel_id TEXT, 
	incoming_webhook_configuration_url TEXT, 
	token_type TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE slack_limits (
	"key" TEXT DEFAULT '' NOT NULL, 
	tat DOUBLE DEFAULT '0' NOT NULL, 
	closed_until DOUBLE DEFAULT '0' NOT NULL, 
	slow_until DOUBLE DEFAULT '0' NOT NULL, 
	failures BIGINT DEFAULT '0' NOT NULL, 
	channel TEXT DEFAULT '' NOT NULL, 
	throttled_at DOUBLE DEFAULT '0' NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE slack_oauth_states (
	state BLOB NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	PRIMARY KEY (state)
);
CREATE TABLE slack_team_workspaces (
	team TEXT DEFAULT '' NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (team, workspace)
);
CREATE TABLE spikes (
	workspace TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	scope TEXT DEFAULT '' NOT NULL, 
	name TEXT DEFAULT '' NOT NULL, 
	since DOUBLE NOT NULL, 
	last_at DOUBLE NOT NULL, 
	dedupe TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (workspace, kind, scope, name)
);
CREATE TABLE subscriptions (
	workspace TEXT DEFAULT '' NOT NULL, 
	channel TEXT DEFAULT '' NOT NULL, 
	event TEXT DEFAULT '' NOT NULL, 
	sequence TEXT DEFAULT '' NOT NULL, 
	inbox TEXT DEFAULT '' NOT NULL, 
	condensed BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (workspace, channel, event, sequence, inbox)
);
INSERT INTO "subscriptions" VALUES('default','C2','lead.bounced','','',1);
CREATE TABLE timers (
	id INTEGER NOT NULL, 
	workspace TEXT DEFAULT '' NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	"key" TEXT DEFAULT '' NOT NULL, 
	payload TEXT DEFAULT '' NOT NULL, 
	due_at DOUBLE NOT NULL, 
	lease_until DOUBLE, 
	token BIGINT DEFAULT '0' NOT NULL, 
	attempts BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (workspace, kind, "key")
);
INSERT INTO "timers" VALUES(1,'default','resume','sq_1','{"name": "Q3", "by": "ann"}',1795168800.0,NULL,0,0);
CREATE TABLE webhook_subscriptions (
	workspace TEXT DEFAULT '' NOT NULL, 
	id TEXT DEFAULT '' NOT NULL, 
	url TEXT DEFAULT '' NOT NULL, 
	events TEXT DEFAULT '' NOT NULL, 
	secret TEXT DEFAULT '' NOT NULL, 
	created_at DOUBLE NOT NULL, ends_at DOUBLE, 
	PRIMARY KEY (workspace, id)
);
CREATE INDEX ix_deliveries_pending ON deliveries (received_at, id) WHERE pending = 1;
CREATE UNIQUE INDEX ix_deliveries_dkey ON deliveries (dkey) WHERE pending = 0;
CREATE INDEX ix_deliveries_received_at ON deliveries (received_at) WHERE pending = 0;
CREATE INDEX ix_posts_alert_id ON posts (alert_id);
CREATE INDEX ix_posts_repaint_at ON posts (repaint_at) WHERE repaint_at IS NOT NULL;
CREATE INDEX ix_posts_storm ON posts (storm) WHERE storm != 0;
CREATE INDEX ix_posts_ts ON posts (channel, ts);
CREATE INDEX ix_posts_waiting ON posts (channel, id) WHERE state != 'sent';
CREATE INDEX ix_sightings_at ON sightings (at);
CREATE INDEX ix_timers_due_at ON timers (due_at);
CREATE INDEX ix_alerts_snoozed_until ON alerts (snoozed_until) WHERE snoozed_until IS NOT NULL;
CREATE INDEX ix_alerts_email ON alerts (email);
CREATE INDEX ix_alerts_open ON alerts (workspace, kind, claimed_by);
CREATE INDEX ix_alerts_claimed_by ON alerts (claimed_by, claimed_at) WHERE claimed_by != '' AND handled_at IS NULL;
CREATE INDEX ix_alerts_not_recovered ON alerts (received_at, workspace) WHERE kind = 'domain.paused' AND recovered_at IS NULL;
CREATE INDEX ix_alerts_nudges ON alerts (nudges, waiting_since) WHERE waiting_since IS NOT NULL;
CREATE INDEX ix_alerts_unhandled ON alerts (received_at, workspace) WHERE kind = 'reply.interested' AND handled_at IS NULL;
CREATE INDEX ix_answers_at ON answers (at);
CREATE INDEX ix_digests_due_at ON digests (due_at);
CREATE INDEX ix_posts_dead ON posts (channel) WHERE state = 'dead';
CREATE INDEX ix_posts_held_until ON posts (held_until) WHERE held_until IS NOT NULL;
CREATE INDEX ix_questions_ends_at ON questions (ends_at);
CREATE INDEX ix_sightings_workspace ON sightings (workspace, at);
CREATE INDEX ix_deliveries_body ON deliveries (received_at) WHERE pending = 0 AND body IS NOT NULL;
CREATE INDEX ix_deliveries_last_at ON deliveries (workspace, last_at) WHERE pending = 0;
CREATE INDEX ix_slack_events_at ON slack_events (at);
CREATE INDEX ix_alerts_unfinished ON alerts (claimed_at) WHERE claimed_by != '' AND handled_at IS NULL AND claim_nudges = 0;
CREATE INDEX ix_posts_undo ON posts (undo) WHERE undo != '';
CREATE INDEX ix_alerts_ack_due_at ON alerts (ack_due_at) WHERE ack_due_at IS NOT NULL;
CREATE INDEX ix_posts_incidents ON posts (channel, id) WHERE urgency >= 3 AND state != 'sent';
CREATE INDEX ix_slack_bots_team_id ON slack_bots (client_id, team_id);
CREATE INDEX ix_slack_installations_team_id ON slack_installations (client_id, team_id);
CREATE UNIQUE INDEX ix_guardrail_incidents_open ON guardrail_incidents (workspace, rule, subject) WHERE ended_at IS NULL;
CREATE INDEX ix_guardrail_incidents_began_at ON guardrail_incidents (workspace, began_at);
CREATE INDEX ix_guardrail_incidents_undo ON guardrail_incidents (undo);
CREATE INDEX ix_guardrail_samples_at ON guardrail_samples (at);
CREATE INDEX ix_channel_leases_due_at ON channel_leases (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX ix_channel_leases_trouble ON channel_leases (channel) WHERE trouble != '';
CREATE INDEX ix_posts_no_alerts ON posts (created_at) WHERE kind != 'alert';
CREATE INDEX ix_known_leads_seen_at ON known_leads (seen_at) WHERE seen_at IS NOT NULL;
CREATE INDEX ix_posts_uncertain ON posts (channel, thread_ts) WHERE state = 'uncertain';
COMMIT;
