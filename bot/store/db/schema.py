"""The bot's tables, for SQLite and PostgreSQL alike. All times are Unix seconds.

Apart from the code that uses them, because the migrations are checked against them on both engines.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})

Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # only INTEGER counts up by itself in SQLite


def _serial() -> sa.Column[int]:
    return sa.Column("id", Serial, primary_key=True, autoincrement=True)


def _text(name: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def _moment(name: str, *, nullable: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=nullable)


deliveries = sa.Table(
    "deliveries",
    metadata,
    _serial(),
    sa.Column("dkey", sa.LargeBinary, nullable=False),  # sha256(workspace, 0, raw body)
    _text("workspace"),
    _text("kind"),  # empty until the router has read the body
    _text("problem"),  # why it is no known event
    sa.Column("body", sa.LargeBinary),  # NULL once pruned
    _flag("found"),  # by reconciling with the API: nobody delivered it
    _moment("received_at", nullable=False),
    _moment("last_at", nullable=False),
    _moment("before_at", nullable=False),  # of the arrival before the newest
    _count("seen"),
    _count("batch_first"),  # of the first arrival
    _count("batch"),  # of the newest
    _count("batch_before"),  # of the one before it
    sa.Column("pending", sa.Boolean, nullable=False),  # an arrival that the router has not looked at
)
sa.Index(
    "ix_deliveries_pending",
    deliveries.c.received_at,
    deliveries.c.id,
    sqlite_where=sa.text("pending = 1"),  # in the very words of a query, else SQLite leaves it unused
    postgresql_where=deliveries.c.pending,
)
sa.Index(
    "ix_deliveries_dkey",
    deliveries.c.dkey,
    unique=True,
    sqlite_where=sa.not_(deliveries.c.pending),
    postgresql_where=sa.not_(deliveries.c.pending),
)
sa.Index(
    "ix_deliveries_received_at",
    deliveries.c.received_at,
    sqlite_where=sa.not_(deliveries.c.pending),
    postgresql_where=sa.not_(deliveries.c.pending),
)
_HAS_BODY = sa.not_(deliveries.c.pending) & deliveries.c.body.is_not(None)
sa.Index("ix_deliveries_body", deliveries.c.received_at, sqlite_where=_HAS_BODY, postgresql_where=_HAS_BODY)
sa.Index(
    "ix_deliveries_last_at",
    deliveries.c.workspace,
    deliveries.c.last_at,
    sqlite_where=sa.not_(deliveries.c.pending),
    postgresql_where=sa.not_(deliveries.c.pending),
)

arrivals = sa.Table(  # those after the first, which has the delivery's own row
    "arrivals",
    metadata,
    _serial(),
    sa.Column("dkey", sa.LargeBinary, nullable=False),
    _moment("at", nullable=False),
    _count("batch"),
)

answers = sa.Table(  # the batches whose every arrival was answered 200
    "answers",
    metadata,
    sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
    _moment("at", nullable=False),
)
sa.Index("ix_answers_at", answers.c.at)

alerts = sa.Table(
    "alerts",
    metadata,
    _text("id", primary_key=True),
    sa.Column("delivery_id", Serial, sa.ForeignKey("deliveries.id"), nullable=False, unique=True),
    _text("workspace"),
    _text("kind"),
    _text("email"),
    _moment("received_at", nullable=False),
    _text("claimed_by"),
    _text("claimed_name"),
    _moment("claimed_at"),
    _text("sequence"),
    _text("domain"),
    _moment("waiting_since"),  # since when it can be claimed; NULL: it need not be
    _count("nudges"),  # how often it was pointed out: 1 reminded, 2 escalated
    _moment("snoozed_until"),
    _text("snoozed_name"),
    _text("handled_name"),
    _moment("handled_at"),
    _text("closed_reason"),  # why nobody follows up: the lead is not interested after all
    _count("claim_nudges"),  # how often its claimer was reminded
    _text("standing"),  # how what it is about stands, as JSON: its sequence, its domain
    _moment("looked_at"),  # when that was last asked
    _moment("recovered_at"),
    _text("reply"),  # a hash of what the lead wrote: the same reply may be told of as several kinds of event
    _text("acked_name"),  # who takes care of a paused domain
    _moment("acked_at"),
    _moment("ack_due_at"),  # when to remind of it next; NULL: it need not be
    _count("ack_reminders"),
)
sa.Index(
    "ix_alerts_ack_due_at",
    alerts.c.ack_due_at,
    sqlite_where=alerts.c.ack_due_at.is_not(None),
    postgresql_where=alerts.c.ack_due_at.is_not(None),
)
sa.Index(
    "ix_alerts_nudges",
    alerts.c.nudges,
    alerts.c.waiting_since,
    sqlite_where=alerts.c.waiting_since.is_not(None),
    postgresql_where=alerts.c.waiting_since.is_not(None),
)
sa.Index(
    "ix_alerts_snoozed_until",
    alerts.c.snoozed_until,
    sqlite_where=alerts.c.snoozed_until.is_not(None),
    postgresql_where=alerts.c.snoozed_until.is_not(None),
)
sa.Index("ix_alerts_email", alerts.c.email)
_CLAIMED = (alerts.c.claimed_by != "") & alerts.c.handled_at.is_(None)
sa.Index(
    "ix_alerts_claimed_by",
    alerts.c.claimed_by,
    alerts.c.claimed_at,
    sqlite_where=_CLAIMED,
    postgresql_where=_CLAIMED,
)
_UNFINISHED = _CLAIMED & (alerts.c.claim_nudges == 0)
sa.Index(
    "ix_alerts_unfinished",
    alerts.c.claimed_at,
    sqlite_where=_UNFINISHED,
    postgresql_where=_UNFINISHED,
)
_OPEN = (alerts.c.kind == "reply.interested") & alerts.c.handled_at.is_(None)
sa.Index(
    "ix_alerts_unhandled",
    alerts.c.received_at,
    alerts.c.workspace,
    sqlite_where=_OPEN,
    postgresql_where=_OPEN,
)
_PAUSED = (alerts.c.kind == "domain.paused") & alerts.c.recovered_at.is_(None)
sa.Index(
    "ix_alerts_not_recovered",
    alerts.c.received_at,
    alerts.c.workspace,
    sqlite_where=_PAUSED,
    postgresql_where=_PAUSED,
)
sa.Index("ix_alerts_open", alerts.c.workspace, alerts.c.kind, alerts.c.claimed_by)

posts = sa.Table(
    "posts",
    metadata,
    _serial(),
    sa.Column("dedupe", sa.Text, nullable=False, unique=True),
    _text("workspace"),
    _text("channel"),
    _text("kind"),
    _text("alert_id"),
    _text("note"),  # a Card as JSON, for what is no alert
    _count("urgency"),
    _text("state"),
    _flag("unsure"),  # an attempt ended without an answer: look it up before the next
    _count("token"),
    _text("bundle"),  # the message it went out in, where several shared one
    _count("storm"),  # the post whose thread it is in
    _text("thread_ts"),
    _text("ts"),
    _text("error"),
    _flag("condensed"),
    _text("mention"),  # whom Slack is to call: U…, S… or here
    _text("undo"),  # the question that its Undo button answers
    _moment("held_until"),  # of a post that is held over a quiet time
    _count("attempts"),
    _count("lookups"),
    _moment("tried_until"),  # from when on the newest attempt can no longer turn up in the channel
    _count("version"),
    _moment("repaint_at"),
    _flag("clicked"),  # somebody waits for the repaint
    _moment("created_at", nullable=False),
    _moment("sent_at"),
)
sa.Index(
    "ix_posts_waiting",
    posts.c.channel,
    posts.c.id,
    sqlite_where=posts.c.state != "sent",
    postgresql_where=posts.c.state != "sent",
)
sa.Index(  # what is posted before everything else: the urgency is `posts.INCIDENT`
    "ix_posts_incidents",
    posts.c.channel,
    posts.c.id,
    sqlite_where=sa.text("urgency >= 3 AND state != 'sent'"),
    postgresql_where=sa.text("urgency >= 3 AND state != 'sent'"),
)
sa.Index(
    "ix_posts_repaint_at",
    posts.c.repaint_at,
    sqlite_where=posts.c.repaint_at.is_not(None),
    postgresql_where=posts.c.repaint_at.is_not(None),
)
sa.Index(
    "ix_posts_held_until",
    posts.c.held_until,
    sqlite_where=posts.c.held_until.is_not(None),
    postgresql_where=posts.c.held_until.is_not(None),
)
sa.Index(
    "ix_posts_dead",
    posts.c.channel,
    sqlite_where=posts.c.state == "dead",
    postgresql_where=posts.c.state == "dead",
)
sa.Index("ix_posts_alert_id", posts.c.alert_id)
sa.Index("ix_posts_ts", posts.c.channel, posts.c.ts)
_WITH_UNDO = posts.c.undo != ""
sa.Index("ix_posts_undo", posts.c.undo, sqlite_where=_WITH_UNDO, postgresql_where=_WITH_UNDO)
_ANSWERS = posts.c.kind == "answer"
sa.Index("ix_posts_answers", posts.c.created_at, sqlite_where=_ANSWERS, postgresql_where=_ANSWERS)
sa.Index(
    "ix_posts_storm", posts.c.storm, sqlite_where=posts.c.storm != 0, postgresql_where=posts.c.storm != 0
)

channel_leases = sa.Table(  # one per channel: who posts there, how fast it may go, what is wrong with it
    "lanes",
    metadata,
    _text("channel", primary_key=True),
    _moment("due_at"),
    _moment("lease_until"),
    _count("token"),
    _moment("tat"),  # theoretical arrival time of GCRA: when the next message would be on schedule
    _text("trouble"),
    _moment("trouble_since"),
    _count("storm"),  # the post that heads the storm, 0: calm
)
sa.Index(
    "ix_lanes_due_at",
    channel_leases.c.due_at,
    sqlite_where=channel_leases.c.due_at.is_not(None),
    postgresql_where=channel_leases.c.due_at.is_not(None),
)
sa.Index(
    "ix_lanes_trouble",
    channel_leases.c.channel,
    sqlite_where=channel_leases.c.trouble != "",
    postgresql_where=channel_leases.c.trouble != "",
)

subscriptions = sa.Table(
    "subscriptions",
    metadata,
    _text("workspace", primary_key=True),
    _text("channel", primary_key=True),
    _text("event", primary_key=True),
    _text("sequence", primary_key=True),
    _text("inbox", primary_key=True),
    _flag("condensed"),
)

digests = sa.Table(
    "digests",
    metadata,
    _text("workspace", primary_key=True),
    _text("channel", primary_key=True),
    _text("every", primary_key=True),  # day or week
    _text("at"),  # a rhythm: `09:00 Europe/Berlin`, `mondays 09:00`
    _moment("done_until", nullable=False),  # the last time it was due and given
    sa.Column("due_at", sa.Double, nullable=False, server_default="0"),  # when to look at it next
)
sa.Index("ix_digests_due_at", digests.c.due_at)

sightings = sa.Table(  # one row per delivery, without its text: for counts, causes and spikes
    "sightings",
    metadata,
    sa.Column("delivery_id", Serial, primary_key=True, autoincrement=False),
    _text("workspace"),
    _text("kind"),
    _text("domain"),
    _text("sequence"),
    _text("detail"),
    _moment("at", nullable=False),
    _text("inbox"),
)
sa.Index("ix_sightings_at", sightings.c.at)
sa.Index("ix_sightings_workspace", sightings.c.workspace, sightings.c.at)

spikes = sa.Table(  # many events of one kind at once; one card each, until it is over
    "spikes",
    metadata,
    _text("workspace", primary_key=True),
    _text("kind", primary_key=True),
    _text("scope", primary_key=True),
    _text("name", primary_key=True),
    _moment("since", nullable=False),
    _moment("last_at", nullable=False),
    _text("dedupe"),
)

questions = sa.Table(  # confirmations and Undos that can still be answered
    "questions",
    metadata,
    _text("id", primary_key=True),
    _text("workspace"),
    _text("person"),
    _text("line"),
    _text("names"),
    _moment("ends_at", nullable=False),
    _moment("given_at"),
    _text("given_name"),  # who answered
    _text("overtaken_by"),  # who changed all that an Undo would take back
)
sa.Index("ix_questions_ends_at", questions.c.ends_at)

timers = sa.Table(
    "timers",
    metadata,
    _serial(),
    _text("workspace"),
    _text("kind"),
    _text("key"),
    _text("payload"),
    _moment("due_at", nullable=False),
    _moment("lease_until"),
    _count("token"),
    _count("attempts"),
    sa.UniqueConstraint("workspace", "kind", "key"),
)
sa.Index("ix_timers_due_at", timers.c.due_at)

audit = sa.Table(
    "audit",
    metadata,
    _serial(),
    _moment("at", nullable=False),
    _text("workspace"),
    _text("actor_name"),
    _text("actor_id"),
    _text("face"),
    _text("channel"),
    _text("command"),
    _text("result"),
)

known_leads = (
    sa.Table(  # interested leads, whether announced, there before the first start, or not yet announced
        "known_leads",
        metadata,
        _text("workspace", primary_key=True),
        _text("lead", primary_key=True),
        _moment("candidate_since"),  # without an alert since then; NULL: no news
    )
)

webhook_subscriptions = sa.Table(  # those made by `webhooks create`; the service shows a secret only once
    "webhook_subscriptions",
    metadata,
    _text("workspace", primary_key=True),
    _text("id", primary_key=True),
    _text("url"),
    _text("events"),  # JSON
    _text("secret"),  # as it is, or encrypted with the key of the settings
    _moment("created_at", nullable=False),
)

slack_events = sa.Table(  # those that were taken, by Slack's own id: it sends one again that it thinks lost
    "slack_events",
    metadata,
    _text("id", primary_key=True),
    _moment("at", nullable=False),
)
sa.Index("ix_slack_events_at", slack_events.c.at)

moved_channels = sa.Table(  # private channels that got another id when they were shared
    "moved_channels",
    metadata,
    _text("old", primary_key=True),
    _text("new"),
)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False, server_default="0")


slack_limits = sa.Table(  # how fast a method of Slack may be called, by all bots that share the database
    "slack_limits",
    metadata,
    _text("key", primary_key=True),  # a method, or a method and a channel
    _time("tat"),  # theoretical arrival time of GCRA: when the next call would be on schedule
    _time("closed_until"),  # Slack asked to wait, or keeps failing
    _time("slow_until"),  # until when a method is paced that was throttled
    _count("failures"),  # in a row
    _text("channel"),  # in which it was throttled last
    _time("throttled_at"),
)

instance = sa.Table(  # one row: which database this is
    "instance",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    _text("id"),
)

bot_processes = sa.Table(  # the running bots, by their heartbeat
    "bot_processes",
    metadata,
    _text("id", primary_key=True),
    _text("host"),
    _moment("seen_at", nullable=False),
)

releases = sa.Table(  # which version of the program brought the schema to a revision
    "releases",
    metadata,
    _text("revision", primary_key=True),
    _text("version"),
    _moment("at", nullable=False),
)


def _installed_bot() -> list[sa.Column[Any]]:
    """What the SDK's installation store keeps of a bot; tokens are encrypted, and longer than it expects."""
    return [
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("client_id", "app_id")),
        *(sa.Column(f"{of}_{what}", sa.Text) for of in ("enterprise", "team") for what in ("id", "name")),
        *(
            sa.Column(f"bot_{what}", sa.Text)
            for what in ("token", "id", "user_id", "scopes", "refresh_token")
        ),
        sa.Column("bot_token_expires_at", sa.DateTime),
        sa.Column("is_enterprise_install", sa.Boolean, nullable=False),
        sa.Column("installed_at", sa.DateTime, nullable=False),
    ]


slack_bots = sa.Table("slack_bots", metadata, *_installed_bot())
sa.Index("ix_slack_bots_team_id", slack_bots.c.client_id, slack_bots.c.team_id)

_WEBHOOK = ("incoming_webhook_url", "incoming_webhook_channel", "incoming_webhook_channel_id")
slack_installations = sa.Table(  # the same, with who installed it
    "slack_installations",
    metadata,
    *_installed_bot(),
    sa.Column("enterprise_url", sa.Text),
    sa.Column("user_id", sa.Text, nullable=False),
    *(sa.Column(name, sa.Text) for name in ("user_token", "user_scopes", "user_refresh_token")),
    sa.Column("user_token_expires_at", sa.DateTime),
    *(sa.Column(name, sa.Text) for name in (*_WEBHOOK, "incoming_webhook_configuration_url", "token_type")),
)
sa.Index("ix_slack_installations_team_id", slack_installations.c.client_id, slack_installations.c.team_id)

slack_oauth_states = sa.Table(  # installations under way
    "slack_oauth_states",
    metadata,
    sa.Column("state", sa.LargeBinary, primary_key=True),  # sha256 of what the browser holds
    _moment("expires_at", nullable=False),
)

slack_team_workspaces = sa.Table(  # the outreach workspaces that each Slack workspace may see
    "slack_team_workspaces",
    metadata,
    _text("team", primary_key=True),
    _text("workspace", primary_key=True),
)
