"""The messages of alerts, as functions of the alert: of replies, leads, domains and pauses. Pure.

A menu takes five entries, of 75 characters and with a value of 150 at most
(https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element/#fields,
https://docs.slack.dev/reference/block-kit/composition-objects/option-object#fields). A reply has more acts than that, so
the last entry opens its details, where each act has a button.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, timedelta
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter
from pydantic_core import to_json

from bot import blockkit
from bot.blockkit import (
    DETAILS,
    LEAD,
    LOOKS,
    MENU,
    Message,
    OnAlert,
    is_user,
    read_value,
    write_value,
)
from shared.api.events import Event
from shared.api.models import Inbox
from shared.commands import Invocation
from shared.commands.base import DOMAIN
from shared.commands.inboxes import Domain, Inboxes
from shared.commands.leads import Remove
from shared.commands.pause import Pause
from shared.commands.undo import UNDO, UndoChange
from shared.domain.alert import Alert, domain_of, span
from shared.domain.card import Action, Button, Card, Fact, Tone, Typed, when
from shared.domain.dns_facts import advice_of, change_of, headline
from shared.domain.event_kinds import DNS, kind_of
from shared.domain.health import Thresholds, verdict
from shared.domain.paused_domains import advice, pause_reason
from shared.domain.reply_states import ACK, AFTER, State
from shared.domain.wall_clock import moment
from shared.domain_health.report import CheckReport, DomainChange, DomainReport, decode
from shared.frozen import frozen
from shared.records import AuditEntry
from shared.settings import Settings
from shared.store import post_kinds
from shared.store.messages import Post
from shared.store.post_kinds import ALERT
from shared.text.formats import clip, clip_name, show_number, show_some, show_span
from shared.text.links import answer_link as mail_address
from shared.text.links import lead_link
from shared.text.quotations import without_quotation

LATE = "arrived late (no webhook)"
ORIGIN = ("Workspace", "Delivery")
"""Where an alert came from: its workspace where there are several, and that it was found later than it should have come."""
BRIEF = frozenset({*ORIGIN, "Sequence"})
"""The facts that a card has in one line, too."""
TITLE_CHARACTERS, NAME_CHARACTERS, LISTED_CHARACTERS = 150, 100, 120
SIGNATURE_CHARACTERS = 40
"""Less quoted mail or signature than that is shown."""
LABELS: Mapping[str, str] = {
    "mail": "Claim & reply",
    "claim": "Claim",
    "assign": "Assign …",
    "snooze": "Snooze until …",
    "wake": "Unsnooze",
    "remind": "Remind me in 2 h",
    "takeover": "Take over",
    "release": "Release",
    "dismiss": "Not interested …",
    "done": "Mark done",
    "reopen": "Reopen",
    ACK: "Acknowledge",
    LEAD: "View lead",
    DETAILS: "Details …",
}
"""The buttons of acts on alerts."""
ROW = 2
"""The acts of a state that have buttons in the row; the others are in the menu."""


def about(event: Event) -> str:
    """`Ada Lovelace at Acme`, as far as it is known."""
    name = clip(event.lead.name or event.domain or event.inbox or "Someone")
    return f"{name} at {clip_name(event.lead.company)}" if event.lead.company else name


def facts(alert: Alert, *labels: str) -> tuple[Fact, ...]:
    """The facts with these labels that are known of an alert."""
    event, back = alert.event, _day(alert.event.return_date or "")
    is_late = alert.found and not kind_of(event.kind).own
    known = {
        "Workspace": alert.workspace,
        "Delivery": LATE if is_late else "",
        "Role": event.lead.title,
        "Email": event.lead.email,
        "Sequence": clip(event.sequence or "", length=NAME_CHARACTERS),
        "Step": "" if event.step is None else str(event.step),
        "Inbox": event.inbox,
        "Back on": f"{back:%a %-d %b %Y}" if back else event.return_date,
        "Bounce": event.bounce_type,
        "Reason": event.reason,
    }
    values = {label: value for label in labels if (value := known[label])}
    return tuple(Fact(label, value, brief=label in BRIEF) for label, value in values.items())


def answer_link(event: Event) -> str:
    """Opens an answer to the reply, under its own subject where the delivery tells it."""
    subject = event.raw.get("subject")
    own = subject if isinstance(subject, str) else ""
    return mail_address(event.lead.email, event.reply or "", subject=own) if event.lead.email else ""


def reply_card(alert: Alert, *, in_list: bool = False) -> Card:
    """The card of a reply: its author, owner and words, where it came from, and what can be done."""
    event, tone, (row, menu) = alert.event, Tone.INFO, _acts(alert)
    more = act_button(DETAILS, alert.id, menu=True)
    if alert.state is State.UNCLAIMED and kind_of(event.kind).claimable:
        tone = Tone.WARN if alert.nudges else Tone.GOOD
    # Without a public address of the bot, the address has a link that answers.
    email, link = event.lead.email, "" if alert.mail_link else answer_link(event)
    # The mail that the lead answered would be most of the card on a phone; the details have it.
    address = Fact("Reply by email" if link else "Email", email or "", url=link)
    whole, words = (event.reply or "").strip(), without_quotation(event.reply or "")
    return Card(
        _title(alert, in_list=in_list),
        tone=tone,
        quote=whole if len(whole) <= len(words) + SIGNATURE_CHARACTERS else words,
        details=(
            *facts(alert, *ORIGIN, "Sequence"),
            *((address,) if email else ()),
            *snooze_end(alert),
        ),
        buttons=(*row, *menu[: MENU - 1], more),
        notifies=True,
    )


def details_card(alert: Alert, reader: str) -> Card:
    """The whole reply, everything that is known of it, and every act that its state allows its reader."""
    row, menu = _acts(alert, reader)
    buttons = [replace(button, menu=False) for button in (*row, *menu)]
    if alert.lead_link:
        buttons.append(crm_button(alert.lead_link))
    return Card(
        about(alert.event),
        text=(f"{alert.status[:1].upper()}{alert.status[1:]}",),
        quote=(alert.event.reply or "").strip(),
        facts=(
            *facts(alert, "Role", "Email", "Sequence", "Step", "Inbox", *ORIGIN),
            when("Received", alert.received),
            *snooze_end(alert),
        ),
        buttons=buttons,
    )


def _title(alert: Alert, *, in_list: bool) -> str:
    """The author, and the state of the reply: `Ada at Acme · claimed by @ann after 3 min`.

    A list says what its replies are in its own title, and of each only what is more than that.
    """
    state, end = alert.status, ""
    if alert.state is State.UNCLAIMED and not in_list:
        end = " is interested" if kind_of(alert.event.kind).claimable else " replied"
        state = state or ("", "still unclaimed", "still unclaimed, escalated")[min(alert.nudges, 2)]
    end += f" · {state}" if state else ""
    # The state is what a reader looks for: a long name is cut, and never its end.
    return f"{clip(about(alert.event), length=TITLE_CHARACTERS - len(end) - 2)}{end}"


def snooze_end(alert: Alert) -> tuple[Fact, ...]:
    if alert.snoozed_until is None or alert.state is State.DONE:
        return ()
    label = "Reminder" if alert.claimed_by else "Snoozed until"
    return (when(label, moment(alert.snoozed_until), brief=True),)


def _acts(alert: Alert, reader: str = "") -> tuple[list[Button], list[Button]]:
    """The buttons of a card, and what belongs in its menu or its details, by weight."""
    state, event, here = alert.state, alert.event, alert.workspace
    left_out = {"wake" if alert.snoozed_until is None else "remind", "" if alert.mail_link else "mail"}
    if alert.claimed_by == reader:
        left_out.add("takeover")
    offered = [
        _act(alert, verb, in_row=place < ROW)
        for place, verb in enumerate(AFTER[state])
        if verb not in left_out
    ]
    row = [button for button in offered if not button.menu]
    menu = [button for button in offered if button.menu]
    if event.sequence and state is not State.DONE:
        pause = Button("Pause sequence", Pause(target=(event.sequence,)), workspace=here, menu=True)
        menu.insert(MENU - 2, pause)  # in the menu itself, before what is rarer
    menu += [replace(button, menu=True) for button in _of_lead(alert)[::-1]]
    return row, menu


def _act(alert: Alert, verb: str, *, in_row: bool) -> Button:
    """The button of an act that the alert's state allows."""
    label, url, tone = LABELS[verb], "", Tone.INFO
    if verb == "mail":
        label, url = "Reply" if alert.claimed_by else label, alert.mail_link
    if verb == "wake" and alert.claimed_by:
        label = "Cancel reminder"
    # One button is the primary one: it opens the mail program, or is the first in the row where nothing does.
    if url or (in_row and not alert.mail_link and verb != "reopen"):
        tone = Tone.GOOD
    action = OnAlert(verb=verb, alert=alert.id, detail="2h" if verb == "remind" else "")
    return Button(label, action, url=url, tone=tone, menu=not in_row)


def _of_lead(alert: Alert) -> Sequence[Button]:
    """To remove the lead, which asks first, and to look at it; none where it has no email."""
    if not (email := alert.event.lead.email):
        return ()
    remove = Button("Remove lead …", Remove(who=email), workspace=alert.workspace)
    return (remove, act_button(LEAD, alert.id))


def crm_button(link: str) -> Button:
    return Button("Open in CRM", url=link)


def brief_card(alert: Alert) -> Card:
    """The card of an event that happened to a lead, with what can be done about it."""
    event, kind = alert.event, kind_of(alert.event.kind)
    step = () if event.step is None else (Fact("Step", f"step {event.step}"),)
    return Card(
        f"{kind.title or kind.label}: {about(event)}",
        tone=Tone(kind.tone),
        facts=facts(alert, "Back on", "Bounce", "Reason"),
        quote=event.reply or "",
        buttons=_of_lead(alert)[0 if kind.removable else 1 :],
        details=(*facts(alert, *ORIGIN, "Email", "Sequence"), *step, *facts(alert, "Inbox")),
        notifies=True,
    )


def _day(text: str) -> date | None:
    """The day of `2026-12-01` or of a moment that begins so; None for anything else."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def listed(card: Card) -> Card:
    """The card in a few lines: the beginning of its quote, the first thing to do, and a look at the rest."""
    buttons = tuple(button for button in card.buttons if not (button.url or button.menu))[:1]
    # The last look is the widest: a reply's details hold every act that a line of a list has no room for.
    others = [button for button in card.buttons if button not in buttons]
    for look in [one for one in others if isinstance(one.action, OnAlert) and one.action.verb in LOOKS][-1:]:
        buttons += (replace(look, label="Details" if look.menu else "View", menu=False),)
    where = tuple(fact for fact in card.details if fact.brief)
    quote = clip(card.quote, length=LISTED_CHARACTERS)
    return replace(card, text=card.text[:1], quote=quote, details=where, buttons=buttons)


def act_button(verb: str, alert: str, **how: Any) -> Button:
    return Button(LABELS[verb], OnAlert(verb=verb, alert=alert), **how)


def asking_card(title: str, text: str, alert: str, *, verb: str = "claim", tone: Tone = Tone.WARN) -> Card:
    """A message that asks for an act on an alert, and says why."""
    return Card(title, tone=tone, text=(text,), buttons=(act_button(verb, alert, tone=Tone.GOOD),))


# -- links: to the lead's page in a CRM, and by `Claim & reply` to the person's mail program

# Slack's reference of a button's `url` speaks of pages that a browser loads, and promises nothing of `mailto:`
# (https://docs.slack.dev/reference/block-kit/block-elements/button-element#fields). So the button leads to the bot,
# which redirects. The click comes to the bot as well, beside the visit.

PATH = "/reply/"
VALID_SECONDS = 30 * 86_400.0
MAC_BYTES = 16
_TOKEN = re.compile(r"(al_[0-9a-z]{1,40})\.([0-9]{1,12})\.([A-Za-z0-9_-]{22})")
_PURPOSE = b"outreach: the links of Claim & reply"
"""Derives the key, so that what is signed here is a signature of nothing else."""


@frozen
class CardSettings:
    """The settings that cards need, and the secrets that sign their links."""

    several: bool = False
    """There are several workspaces, so that a card names its own."""
    lead_page: str = ""
    """The template of a lead's page in the CRM."""
    public_url: str = ""
    """The bot's address from outside; empty: cards have no `Claim & reply`."""
    secrets: Sequence[str] = ()
    """The first signs; all of them are believed."""

    def on_card(self, alert: Alert) -> Alert:
        """The alert as its card shows it: with its workspace where there are several, and with links."""
        mail = ""
        if self.public_url and self.secrets and answer_link(alert.event):
            # Its thirty days begin again with each change of hands; it is the same as long as the card stays as it is.
            since = max(alert.received_at, alert.claimed_at or 0.0, alert.waiting_since or 0.0)
            signed = f"{alert.id}.{since:.0f}"
            mail = f"{self.public_url}{PATH}{signed}.{_mac(self.secrets[0], signed)}"
        workspace = alert.workspace if self.several else ""
        page = lead_link(self.lead_page, alert.event.lead.email)
        return replace(alert, workspace=workspace, lead_link=page, mail_link=mail)

    def read_token(self, token: str, *, now: float) -> str:
        """The alert that a token names; empty where it isn't ours or has expired."""
        found = _TOKEN.fullmatch(token)
        if not found:
            return ""
        signed = f"{found[1]}.{found[2]}"
        # Compared in constant time: the page is open to everybody. All secrets count, so that one can be changed.
        ours = any(hmac.compare_digest(_mac(secret, signed), found[3]) for secret in self.secrets)
        return found[1] if ours and now < int(found[2]) + VALID_SECONDS else ""


def _mac(secret: str, text: str) -> str:
    key = hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)
    mac = hmac.digest(key, text.encode(), hashlib.sha256)[:MAC_BYTES]
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def card_settings(settings: Settings) -> CardSettings:
    """The settings of cards: signed by the keys for secrets, or else by what the bot shares with Slack alone."""
    keys = (*settings.secret_keys, settings.slack.signing_secret, settings.slack.bot_token)
    return CardSettings(
        several=len(settings.workspaces) > 1,
        lead_page=settings.links.lead,
        public_url=settings.public_url or "",
        secrets=[key.get_secret_value() for key in keys if key],
    )


# -- the cards of a domain: paused, sending again, recovered, and its DNS

# Everything that isn't in the delivery comes from the alert's standing, which `bot.jobs.standings` writes.
# The service doesn't report a recovery, so it is derived from the domain's inboxes, now and before.

SENDING = "sending"
"""The stage of a domain that sends again and is not well yet."""
RECOVERED = "recovered"
"""The stage of a domain whose inboxes are all active and healthy."""
NAMED = 2
"""Sequences that the card names."""
REASON, LINE, RECORD, RECORD_FACT = 80, 300, 2_000, 600
"""Characters of the reason in the title, of a line, of a record to copy, and of one in a fact."""
UNKNOWN_STATUS = "of unknown status"
_STATUS = {"active": "active", "warming": "warming up", "resting": "resting"}


@frozen
class Standing:
    """The state of an alert's domain at the last look; what nobody has looked at has its default."""

    stage: str = ""
    inboxes: Sequence[Mapping[str, Any]] = ()
    """The health and status of each."""
    troubled: bool = False
    """It was seen not to be well, once."""
    rested: bool = False
    """It was seen at rest, once."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Its events in the week before the pause, and since, by kind."""
    sequences: Sequence[str] = ()
    """The sequences that sent from it."""
    active: Sequence[str] | None = None
    """Those of them that send; None: that is unknown."""
    guardrails: Sequence[tuple[str, str]] = ()
    """The rules that hold against it, each with what it found."""
    dns: DomainReport | str | None = None
    """Its problems; else `good` or `unknown`."""
    moved: bool = False
    """The card of the domain's pause shows it instead."""

    @property
    def problems(self) -> Sequence[CheckReport]:
        return _causes(self.dns.checks) if isinstance(self.dns, DomainReport) else ()


def standing_of(alert: Alert) -> Standing:
    """What another version may have written and this one can't read is as if nobody had looked."""
    return decode(Standing, alert.standing or "{}") or Standing()


def paused_card(alert: Alert) -> Card:
    """Red while it is paused or its DNS is broken, amber while it warms up, green when it has recovered."""
    name, standing = clip(domain_of(alert.event) or "A domain"), standing_of(alert)
    stage, problems = standing.stage, standing.problems
    why = clip(pause_reason(alert.event), length=REASON)
    title, tone, back = f"{name} is paused: {why}" if why else f"{name} is paused", Tone.BAD, ""
    is_well = alert.recovered_at is not None or stage == RECOVERED
    if sends := is_well or stage == SENDING:
        title, tone = _sending(name, is_well=is_well, is_broken=bool(problems))
    if alert.recovered_at is not None:
        back = f"It recovered after {span(alert.received_at, alert.recovered_at)}."
    elif stage == SENDING:
        back = "It is warming up: its daily limits start small and grow each day."
    bounced, left = (standing.counts.get(kind, 0) for kind in ("lead.bounced", "lead.unsubscribed"))
    # Advice for a domain that sends would be about what is over; what its DNS needs is said above in any case.
    next_step = "" if sends else f"Next: {advice(alert.event.reason or '', bounced=bounced, left=left)}"
    return Card(
        title,
        tone=tone,
        notifies=True,
        text=(_repairs(problems), back, _facts(alert, standing), next_step),
        code=_records_to_publish(problems),
        buttons=_buttons(alert, standing, sends=sends),
        details=facts(alert, *ORIGIN),
    )


def _sending(name: str, *, is_well: bool, is_broken: bool) -> tuple[str, Tone]:
    """The title for a domain that sends again: with broken DNS that is not good news."""
    state = f"{name} {'has recovered' if is_well else 'is sending again'}"
    if is_broken:
        return f"{state}, but its DNS is broken", Tone.BAD
    return state, Tone.GOOD if is_well else Tone.WARN


def _causes(problems: Sequence[CheckReport]) -> Sequence[CheckReport]:
    """The problems; for a domain that is gone only that: the others follow from it."""
    gone = [check for check in problems if check.code == "no-domain"]
    return gone[:1] or problems


def report_of(problems: Sequence[CheckReport]) -> DomainReport:
    """Problems as a standing has them."""
    return DomainReport(domain="", checks=tuple(problems))


def _repairs(problems: Sequence[CheckReport]) -> str:
    """A line for each problem with what to do; a record that is known whole stands below, to copy."""
    lines = []
    for problem in problems:
        to_do = clip(advice_of(replace(problem, publish="")), length=LINE)
        lines.append(f"{headline(problem)}. {to_do}".strip())
    return "\n".join(lines)


def _records_to_publish(problems: Sequence[CheckReport]) -> str:
    """The records as they should be, a line each, in the order of the problems."""
    return "\n".join(check.publish for check in problems if check.publish)[:RECORD]


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """`7 inboxes resting`, `2 inboxes resting, 1 active`: no more than is known; with the lowest score."""
    counts = Counter(_STATUS.get(row.get("status") or "", UNKNOWN_STATUS) for row in rows)
    parts = [f"{counts[word]} {word}" for word in (*_STATUS.values(), UNKNOWN_STATUS) if counts[word]]
    count, _, status = parts[0].partition(" ")
    scores = [row["health"] for row in rows if row.get("health") is not None]
    lowest = f"lowest health {min(scores):g}" if scores else "health unknown"
    return ", ".join((f"{show_number(int(count), 'inbox')} {status}", *parts[1:], lowest))


def _facts(alert: Alert, standing: Standing) -> str:
    """DNS, inboxes, sequences, what rules found and who takes care of it, in one line."""
    rules = "; ".join(f"{rule}: {note}" for rule, note in standing.guardrails)
    facts = (
        f"DNS {standing.dns}" if isinstance(standing.dns, str) else "",
        _summary(standing.inboxes) if standing.inboxes else clip(alert.event.inbox or ""),
        show_some([clip_name(name) for name in standing.sequences], NAMED),
        clip(rules, length=LINE),
        f"acknowledged by @{alert.acked_name}" if alert.acked_at is not None else "",
    )
    return " · ".join(filter(None, facts))


def _buttons(alert: Alert, standing: Standing, *, sends: bool) -> Sequence[Button]:
    """To take care of it, to pause what still sends, by the number that the question names, and to look."""
    domain, names, here = domain_of(alert.event), standing.active, alert.workspace
    buttons = []
    if alert.acked_at is None and alert.recovered_at is None:
        buttons.append(act_button(ACK, alert.id, tone=Tone.GOOD))
    if not domain:
        return buttons
    # Without a look at the account the button names no number; its question will.
    if not sends and names != []:
        label = f"Pause {show_number(len(names), 'sequence')}" if names else "Pause its sequences"
        every = Pause(target=(f"{DOMAIN}{domain}",))
        buttons.append(Button(label, every, workspace=here, tone=Tone.BAD))
    looks = {"Show domain": Domain(name=domain.lower()), "Show inboxes": Inboxes(filter=domain)}
    buttons += [Button(label, act, workspace=here, menu=True) for label, act in looks.items()]
    return buttons


def seen(inboxes: Sequence[Inbox], *, before: Standing, thresholds: Thresholds) -> Standing:
    """The state of a paused domain by its inboxes and its state at the last look."""
    tones = [verdict(inbox, thresholds=thresholds).tone for inbox in inboxes if inbox.status == "active"]
    is_well = tones == [Tone.GOOD] * len(inboxes)
    rests = any(inbox.status == "resting" for inbox in inboxes)
    # The report of a pause may come before its inboxes rest, or after they were well again: only what was seen in
    # trouble recovers, and only what was seen at rest sends again.
    troubled, rested = before.troubled or not is_well, before.rested or rests
    stage = ""
    if inboxes and is_well and troubled:
        stage = RECOVERED
    elif inboxes and rested and not rests:
        stage = SENDING
    rows = [{"health": inbox.health_score, "status": inbox.status} for inbox in inboxes]
    return Standing(inboxes=rows, troubled=troubled, rested=rested, stage=stage)


def recovery_card(alert: Alert, now: Standing, *, at: float) -> Card:
    """The message for thread and channel about a domain that is sending again or has recovered."""
    is_well, is_broken = now.stage == RECOVERED, bool(now.problems)
    title, tone = _sending(clip(alert.domain), is_well=is_well, is_broken=is_broken)
    return Card(title, tone=tone, text=(f"After {span(alert.received_at, at)}: {_summary(now.inboxes)}.",))


@frozen
class DnsEvent:
    """The event of changes of a domain's DNS, as a delivery."""

    event: str = DNS
    domain: str
    at: float
    broken: bool
    """One of the changes is a problem."""
    changes: Sequence[DomainChange]


def dns_card(alert: Alert) -> Card:
    """Red while anything is broken, green when all of it is good again.

    The delivery has what was first noticed; the standing has how it is now, once that is another.
    """
    domain, standing = clip(domain_of(alert.event) or "A domain"), standing_of(alert)
    if standing.moved:
        return Card(f"DNS of {domain}: see the card of its pause")
    told = decode(DnsEvent, alert.event.raw)
    changes, problems = told.changes if told else (), standing.problems
    if standing.dns is None:
        problems = _causes([change.after for change in changes if change.after.value == "problem"])
    title, tone, text = f"DNS of {domain} changed", Tone.INFO, "\n".join(map(change_of, changes))
    seen = problems or [change.after for change in changes]
    if alert.recovered_at is not None:
        seen, problems, text = [], (), f"It was broken for {span(alert.received_at, alert.recovered_at)}."
    if problems:
        title, tone = f"DNS of {domain} is broken", Tone.BAD
        text = f"Receivers may reject or junk its mail.\n{_repairs(problems)}"
    elif alert.recovered_at is not None or (changes and all(change.recovered for change in changes)):
        title, tone = f"DNS of {domain} is good again", Tone.GOOD
    return Card(
        title,
        tone=tone,
        notifies=True,
        text=(text,),
        facts=[
            Fact(f"{check.check.upper()} now", clip(" · ".join(check.records), length=RECORD_FACT))
            for check in seen
            if check.records
        ],
        code=_records_to_publish(problems),
        buttons=(Button("Show domain", Domain(name=domain.lower()), workspace=alert.workspace),),
        details=facts(alert, *ORIGIN),
    )


def dns_update(
    domain: str, changes: Sequence[DomainChange], report: DomainReport, *, after: timedelta
) -> Card:
    """The message in the thread of the card when the domain's DNS changes again."""
    if not report.problems:
        title, text = f"DNS of {clip(domain)} is good again", f"After {show_span(after)}."
        return Card(title, tone=Tone.GOOD, text=(text,))
    is_worse = any(change.after.value == "problem" for change in changes)
    still = ", ".join(check.check.upper() for check in report.problems)
    return Card(
        f"DNS of {clip(domain)} changed",
        tone=Tone.BAD if is_worse else Tone.WARN,
        text=(*map(change_of, changes), *([] if is_worse else [f"Still broken: {still}."])),
    )


# -- whole messages, from stored posts

# An alert's card depends only on the alert, so any process can draw it at any time, and an update draws the same way
# as the first post.

MOST_CALLED = 6
"""People that a message mentions: with them, the longest one is still short enough for Slack."""
SOON = timedelta(hours=18)
"""A time that is closer needs no day beside it."""
_CARDS: Mapping[str, Callable[[Alert], Card]] = {
    "reply": reply_card,
    "paused domain": paused_card,
    "dns": dns_card,
    "brief": brief_card,
}


def card(alert: Alert) -> Card:
    """The card of an alert, as the table of kinds of events names it."""
    return _CARDS[kind_of(alert.event.kind).card](alert)


def settled(post: Post) -> Card | None:
    """The present state of its alert, as on its card, for a message that asks for nothing about it any more."""
    alert, settled_by = post.alert, post_kinds.kind_of(post.kind).settled_by
    if alert is None or not settled_by:
        return None
    if settled_by == "acknowledgement":
        if alert.acked_at is not None:
            return Card(f"{alert.domain} · acknowledged by @{alert.acked_name}")
        return Card(f"{alert.domain} has recovered") if alert.recovered_at is not None else None
    if settled_by == "finish":
        is_over = alert.handled_at is not None or alert.claimed_by != post.mention
    else:
        is_over = alert.waiting_since is None or (settled_by == "turn" and _has_passed(post, alert))
    return Card(_title(alert, in_list=False)) if is_over else None


def _has_passed(post: Post, alert: Alert) -> bool:
    """True where a post calls a person whose turn it isn't; without a rota the settings name whom it calls."""
    return bool(alert.rota) and is_user(post.mention) and alert.owner != post.mention


def card_of(post: Post, settings: CardSettings, *, in_list: bool = False) -> Card:
    """The card that a post shows."""
    draws = post_kinds.kind_of(post.kind).draws
    if draws == "note":
        return settled(post) or read_note(post.note)
    # One whose body was pruned still shows what was kept.
    kept = post.alert or Alert(id=post.alert_id, workspace=post.workspace, received_at=post.created_at)
    alert = settings.on_card(kept)
    is_reply = kind_of(alert.event.kind).card == "reply"
    whole = reply_card(alert, in_list=True) if in_list and is_reply else card(alert)
    if draws == "updated":  # for thread and channel, when the card of a reply shows more than it did
        text, buttons = ("Updated on the card above.",), listed(whole).buttons[:1]
        return replace(listed(whole), text=text, details=(), buttons=buttons)
    return listed(whole) if in_list or post.condensed else whole


def message(posts: Sequence[Post], settings: CardSettings) -> Message:
    """One post as a whole card, or several as a list in which each keeps its own button."""
    first, in_list = posts[0], bool(posts[0].bundle) or len(posts) > 1
    draws = post_kinds.kind_of(first.kind).draws
    if change := first.change:
        if draws == "history":
            return change_history(change)
        workspace = first.workspace if settings.several else ""
        return change_message(change, read_note(first.note), workspace=workspace)
    if draws == "answer":
        return Message(**json.loads(first.note))
    drawn = [card_of(post, settings, in_list=in_list) for post in posts]
    if in_list:
        content = blockkit.render_list(_list_title([post.alert or Alert(id="") for post in posts]), drawn)
    elif first.condensed or drawn[0] == Card(drawn[0].title, notifies=drawn[0].notifies):
        content = blockkit.render_condensed(drawn[0])
    else:
        content = blockkit.render(drawn[0])
    return with_mention(content, " ".join(_mention(post, in_list=in_list) for post in posts))


def _list_title(alerts: Sequence[Alert]) -> str:
    """`12 interested replies, 9 unclaimed`: what a list has, once for all."""
    if not all(kind_of(alert.event.kind).claimable for alert in alerts):
        return show_number(len(alerts), "alert")
    unclaimed = sum(alert.state == "unclaimed" for alert in alerts)
    return f"{show_number(len(alerts), 'interested reply')}, {unclaimed or 'none'} unclaimed"


def _mention(post: Post, *, in_list: bool) -> str:
    """The people that the post calls, only while it needs them; in a list only those whose turn it still is."""
    alert = post.alert
    if post.kind != ALERT:
        return "" if settled(post) else post.mention
    if alert is None or alert.waiting_since is None or (in_list and _has_passed(post, alert)):
        return ""
    return post.mention


def with_mention(drawn: Message, mention: str) -> Message:
    """The message with a mention, or several with spaces between; they come from the settings and Slack, never from a lead."""
    called = list(dict.fromkeys(mention.split()))[:MOST_CALLED]
    if not called:
        return drawn
    forms = {"S": "<!subteam^{}>", "h": "<!{}>"}  # a group, or `here`; else it is a person
    call = " ".join(forms.get(who[0], "<@{}>").format(who) for who in called)
    context = {"type": "context", "elements": [{"type": "mrkdwn", "text": call}]}
    return Message(text=f"{call} {drawn.text}", blocks=[*drawn.blocks, context])


def payload(posts: Sequence[Post]) -> dict[str, Any]:
    """The metadata by which the message is found again, and its alerts are known to others."""
    # The key finds a post whose outcome is unknown, before it is tried again.
    named: dict[str, Any] = {"key": posts[0].key}
    carried = [(post_kinds.kind_of(post.kind).of_alert, post.alert_id) for post in posts]
    alerts = [alert for name, alert in carried if name == "alert_id"]
    named |= {name: alert for name, alert in carried[::-1] if name}
    if len(alerts) > 1:
        named["alert_ids"] = alerts
    return named


def _read_action(stored: dict[str, Any] | None) -> Action | None:
    """The action of a button."""
    if stored is None:
        return None
    action = read_value(stored["line"])
    return action.arguments if isinstance(action, Invocation) else action


@frozen
class _Button(Button):
    action: Annotated[Action | None, PlainValidator(_read_action)] = None


@frozen
class _Card(Card):
    buttons: tuple[_Button, ...] = ()


_CARD = TypeAdapter(_Card)


def write_note(card: Card) -> str:
    """The card as JSON, its buttons' actions as their values."""
    # As the value of a button in Slack, which every later version reads.
    buttons = (
        replace(button, action=Typed(write_value(button.action)) if button.action else None)
        for button in card.buttons
    )
    return to_json(replace(card, buttons=tuple(buttons))).decode()


def read_note(note: str) -> Card:
    """The Card of `write_note`."""
    return _CARD.validate_json(note)


def write_answer(message: Message) -> str:
    return json.dumps(message.body)


def restated(note: str) -> Card | None:
    """The Card of a message about a setting that was changed again; None: it stays as it was."""
    title = json.loads(note).get("title")
    return Card(title) if title else None


# -- the message of a pause or resumption: one line that says how its sequences are now

# It is drawn from the change in the audit, which knows what became of each sequence since, and so says the same after an
# Undo, the end of a timed pause, and whatever another person or program did.


def change_message(entry: AuditEntry, card: Card, *, workspace: str = "") -> Message:
    """The line, with its Undo while that takes something back; `card` has what else was said, and other buttons.

    `workspace` is the one that the buttons mean, where there are several.
    """
    is_rule, stands = entry.actor.face == "bot", not (entry.undone_by or entry.overtaken_by)
    buttons = [button for button in card.buttons if not isinstance(button.action, UndoChange)]
    said = list(card.text)
    if stands:
        buttons.insert(0, Button(UNDO, UndoChange(change=entry.number), workspace=workspace))
        said += [f"{fact.label}: {fact.value}" for fact in card.facts if fact.at is None]
    elif is_rule:
        said.insert(0, f"{_rule(entry)} paused it.")
    if is_rule and entry.undone_by:
        said.append("The rule is snoozed for 24 h.")
    if stands or is_rule:  # else it tells of an end that may be another by now
        said.append(card.footer)
    return blockkit.render_line(_change_title(entry), " · ".join(filter(None, said)), buttons=buttons)


def _rule(entry: AuditEntry) -> str:
    """`Guardrail bounces-3`."""
    return entry.actor.name[:1].upper() + entry.actor.name[1:]


def _change_title(entry: AuditEntry) -> str:
    states = {name: entry.state_of(name) for name in entry.undoable}
    paused = {name: state for name, state in states.items() if state.status == "paused"}
    some = paused or states
    labels = [entry.undoable[name].label for name in some]
    # Names come from outside, and Slack reads this line: none of them styles it or mentions anybody.
    what = blockkit.escape_marks(
        clip(labels[0]) if len(labels) == 1 else show_number(len(labels), "sequence")
    )
    makers = {state.by for state in some.values()}
    by = blockkit.escape_marks(makers.pop()) if len(makers) == 1 else ""
    if entry.undone_by and all(before.later is None for before in entry.undoable.values()):
        by = by and f"undone by {by}"
    by = by and f" · {by}"
    if not paused:
        return f"▶ {what} {'is' if len(states) == 1 else 'are'} sending again{by}"
    until = _until(entry, {state.ends_at for state in paused.values()})
    if len(paused) < len(states):
        what = f"{len(paused)} of {show_number(len(states), 'sequence')}"
    elif entry.actor.face == "bot" and {state.by for state in paused.values()} == {entry.actor.name}:
        return f"⏸ {blockkit.escape_marks(_rule(entry))} paused {what}{until}"
    return f"⏸ {what} paused{until}{by}"


def _until(entry: AuditEntry, ends: Collection[float | None]) -> str:
    """` until 16:31` in the reader's time zone; empty where they have no end, or several."""
    end = moment(next(iter(ends))) if len(ends) == 1 else None
    return f" until {blockkit.date(end, with_day=end - entry.at > SOON)}" if end else ""


def change_history(entry: AuditEntry) -> Message:
    """The message in the thread of an earlier change: who changed its sequences again, and why."""
    who = blockkit.escape_marks(entry.actor.shown)
    who = f"{who[:1].upper()}{who[1:]}"
    did = f"{who} resumed it."
    if entry.undoes:
        did = f"{who} undid this."
    elif entry.effect == "paused":
        until = _until(entry, {before.new_end for before in entry.undoable.values()})
        did = f"{who} paused it{until}."
    elif entry.actor.face == "bot":
        did = "The pause ended."
    return blockkit.render_line(did, f"Reason: {clip(entry.reason)}" if entry.reason else "")
