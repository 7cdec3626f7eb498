"""Actions on an alert: claim, take over, release, snooze, mark done, close with a reason, reopen.

Buttons have these lines (`snooze al_… tomorrow`). They aren't in the table of commands, because they name an alert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial

from bot.alerts import rendering
from bot.alerts.interested import crm_button, take_over
from bot.alerts.wording import about, answer_link
from bot.blockkit.actions import OnAlert
from bot.slack import permissions
from bot.slack.permissions import Person
from shared.api.event_kinds import kind_of
from shared.commands import Invocation, Role, invocation
from shared.commands.base import clip
from shared.commands.leads import Lead
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.wall_clock import find_zone, instant, moment
from shared.records.audit import Actor, AuditEntry
from shared.store import Store
from shared.store.alerts.claims import Trace
from shared.store.queue.alert_row import AlertChange, AlertRow
from shared.text.formats import show_time
from shared.text.links import lead_link
from shared.text.slack_ids import is_user
from shared.text.tokenize import parse_duration

REASONS = ("not a fit", "wrong person", "no budget", "bad timing", "already a customer")
REASON = 200
"""Characters of a reason that are kept."""
MORNING, AFTERNOON = time(9), time(14)
_NOTED = {"takeover"}
"""What the card doesn't keep, so that a note in its thread does."""
LONGEST = timedelta(days=90)
USUAL_REMINDER = "2h"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of an action; `shown`: the alert's card already shows it."""

    card: Card
    shown: bool = False
    noted: bool = False
    """A note in the thread of the alert's card says who did it."""


class AlertActions:
    """`perform` an action for a person; `zone` is for times of day, `link` is the URL of a lead's page."""

    def __init__(
        self, store: Store, *, changed: Callable[[], None], zone: tzinfo = UTC, link: str = ""
    ) -> None:
        self._store, self._changed, self._zone, self._link = store, changed, zone, link

    async def perform(self, asked: OnAlert, person: Person, actor: Actor) -> ActionResult:
        """The result, visible only to this person."""
        verb, alert, when = asked.verb, asked.alert, asked.detail
        if permissions.role_of(person) is Role.READER:
            return ActionResult(card=permissions.refusal(person, f"“{verb}”"))
        now, zone = moment(self._store.database.clock()), find_zone(person.zone) or self._zone
        if not when and verb in {"snooze", "dismiss"}:
            choices = snooze_choices(alert, now=now, zone=zone) if verb == "snooze" else reason_choices(alert)
            return ActionResult(card=choices)
        given = when.removeprefix("in ") or USUAL_REMINDER if verb == "remind" else when
        until = snoozed_until(given, now=now, zone=zone) if verb in {"snooze", "remind"} else now
        if until is None:
            return ActionResult(card=_UNCLEAR)
        reason = clip(" ".join(when.split()), length=REASON) if verb == "dismiss" else ""
        change = await self._change(verb, alert, actor, until=until, reason=reason)
        if change is None:
            return ActionResult(card=GONE)
        if not change.changed:
            return ActionResult(card=unchanged_card(change.alert, person, now=now, zone=zone))
        await self._record(replace(asked, then=None).line, change.alert, actor)
        card = changed_card(verb, change.alert, actor, until=until.astimezone(zone), now=now, link=self._link)
        return ActionResult(card=card, shown=True, noted=verb in _NOTED)

    async def _change(
        self, verb: str, alert: str, actor: Actor, *, until: datetime, reason: str
    ) -> AlertChange | None:
        alerts = self._store.alerts
        if verb == "remind":
            return await alerts.remind(alert, actor, until=until.timestamp())
        if verb == "snooze":
            return await alerts.snooze(alert, actor, until=until.timestamp())
        if verb in {"done", "handled", "dismiss"}:
            return await alerts.handle(alert, actor, reason=reason)
        change = {
            "claim": lambda: alerts.claim(alert, actor),
            "takeover": lambda: alerts.take_over(alert, actor, trace=partial(taken_over, actor=actor)),
            "release": lambda: alerts.release(alert, trace=partial(released, actor=actor)),
            "wake": lambda: alerts.wake(alert),
            "reopen": lambda: alerts.reopen(alert),
        }
        return await change[verb]()

    async def _record(self, line: str, alert: AlertRow, actor: Actor) -> None:
        self._changed()
        entry = AuditEntry(
            at=datetime.now(UTC), actor=actor, workspace=alert.workspace, command=line, result=lead_of(alert)
        )
        await self._store.records.record(entry)


GONE = Card(
    title="This alert is no longer stored",
    tone=Tone.WARN,
    text=(
        "Records of alerts are deleted after a time, or lost with a database.",
        "`replies` lists the unclaimed replies.",
    ),
)
_UNCLEAR = Card(
    title="Snooze until when?",
    tone=Tone.WARN,
    text=("Choose a time in the next 90 days. Nothing was changed.",),
)


def released(before: AlertRow, *, actor: Actor) -> Trace:
    """The thread's note about a release; it mentions the person who had it if another one released it."""
    other = before.claimed_by not in {actor.id, actor.name}
    text = f"@{before.claimed_name} had claimed it. " if other else ""
    again = "It is unclaimed again." if kind_of(before.kind).claimable else ""
    words = f"{text}{again}".strip()
    card = Card(title=f"@{actor.name} released {lead_of(before)}", text=(words,) if words else ())
    return Trace(note=rendering.write_note(card), mention=_mention(before) if other else "")


def taken_over(before: AlertRow, *, actor: Actor) -> Trace:
    title = f"@{actor.name} took over {lead_of(before)} from @{before.claimed_name}"
    card = Card(title=title)
    return Trace(note=rendering.write_note(card), mention=_mention(before))


def _mention(alert: AlertRow) -> str:
    return alert.claimed_by if is_user(alert.claimed_by) else ""


def lead_of(alert: AlertRow) -> str:
    """`Ada Lovelace at Acme`: the author of the reply, if still stored."""
    return "the reply" if alert.is_pruned else about(alert.event)


def find_lead(alert: AlertRow, *, several: bool) -> Invocation | None:
    """The command that shows the reply's lead; None if unknown."""
    email = alert.event.lead.email
    if not email:
        return None
    action = Lead(who=email, status=kind_of(alert.event.kind).lead_status)
    return invocation(action, workspace=alert.workspace if several else None)


def whole_reply(alert: AlertRow) -> Card:
    """The whole reply, with the quoted email."""
    return Card(title=f"Reply from {lead_of(alert)}", quote=(alert.event.reply or "").strip())


def changed_card(
    verb: str, alert: AlertRow, actor: Actor, *, until: datetime, now: datetime, link: str = ""
) -> Card:
    """The result, where a person acted elsewhere than on the alert's card: in a thread, for all to read."""
    who, person = lead_of(alert), f"@{actor.name}"
    given = {
        "claim": f"{person} claimed {who}",
        "takeover": f"{person} took over {who}",
        "release": f"{person} released {who}",
        "snooze": f"{person} snoozed {who} until {show_time(until, now=now, zone=until.tzinfo or UTC)}",
        "remind": f"{person} will be reminded of {who} {show_time(until, now=now, zone=until.tzinfo or UTC)}",
        "wake": f"{person} ended the snooze of {who}",
        "done": f"{person} marked {who} done",
        "handled": f"{person} marked {who} done",
        "dismiss": f"{person} closed {who} as not interested",
        "reopen": f"{person} reopened {who}",
    }
    if verb not in {"claim", "takeover"}:
        return Card(title=given[verb], tone=Tone.GOOD if verb in {"done", "handled"} else Tone.INFO)
    email = alert.event.lead.email
    page = lead_link(link, email)
    return Card(
        title=given[verb],
        tone=Tone.GOOD,
        facts=(Fact(label="Reply to", value=email, url=answer_link(alert.event)),) if email else (),
        buttons=(
            Button(label="Mark done", action=OnAlert(verb="done", alert=alert.id), tone=Tone.GOOD),
            *((crm_button(page),) if page else ()),
        ),
    )


def unchanged_card(alert: AlertRow, person: Person, *, now: datetime, zone: tzinfo) -> Card:
    """The answer to a click that changed nothing: who was faster."""

    def clock(at: float) -> str:
        return show_time(moment(at), now=now, zone=zone)

    if alert.handled_at is not None:
        verb = "closed this as not interested" if alert.closed_reason else "marked this done"
        return Card(title=f"@{alert.handled_name} {verb} at {clock(alert.handled_at)}")
    if alert.claimed_by and alert.claimed_at is not None:
        did = (
            f"@{alert.assigned_name} assigned this to @{alert.claimed_name}"
            if alert.assigned_name
            else f"@{alert.claimed_name} claimed this"
        )
        title = f"{did} at {clock(alert.claimed_at)}"
        own = alert.claimed_by == person.id
        return Card(title=title, buttons=() if own else (take_over(alert.id, alert.claimed_name),))
    return Card(title="Unclaimed", text=("Someone else just changed this. Click Claim to take it.",))


def snoozed_until(given: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The time meant by `1h`, `morning`, `afternoon`, `tomorrow`, `monday` or Unix seconds; None if it isn't in the future."""
    # Durations are added in UTC, without clock changes.
    now, today = now.astimezone(UTC), now.astimezone(zone).date()
    presets = {
        "morning": instant(today, MORNING, zone),
        "afternoon": instant(today, AFTERNOON, zone),
        "tomorrow": instant(today + timedelta(days=1), MORNING, zone),
        "monday": instant(today + timedelta(days=7 - today.weekday()), MORNING, zone),
    }
    until = presets.get(given) or _morning_of(given, zone)
    if until is None and (length := parse_duration(given)):
        until = now + length
    if until is None and given.isdecimal() and len(given) < 12:
        until = moment(int(given))
    return until if until is not None and now < until <= now + LONGEST else None


def _morning_of(given: str, zone: tzinfo) -> datetime | None:
    """Nine in the morning of a day such as `2026-12-01`."""
    try:
        return instant(date.fromisoformat(given), MORNING, zone) if "-" in given else None
    except (ValueError, OverflowError):  # the last day of the calendar ends beyond it
        return None


def snooze_choices(alert: str, *, now: datetime, zone: tzinfo) -> Card:
    """Choices for a snooze: presets in the future, and a custom date."""
    labels = (
        ("1h", "1 hour"),
        ("3h", "3 hours"),
        ("morning", "This morning, 9:00"),
        ("afternoon", "This afternoon, 14:00"),
        ("tomorrow", "Tomorrow, 9:00"),
        ("monday", "Monday, 9:00"),
    )
    moments: dict[datetime, Button] = {}
    for word, label in labels:
        if until := snoozed_until(word, now=now, zone=zone):  # on a Sunday, tomorrow is Monday
            moments.setdefault(
                until, Button(label=label, action=OnAlert(verb="snooze", alert=alert, detail=word))
            )
    return Card(
        title="Snooze until …",
        text=("It returns to its thread as unclaimed at that time.",),
        buttons=(
            *moments.values(),
            Button(label="Another time", action=OnAlert(verb="snooze", alert=alert), picks_time=True),
        ),
        footer=f"Times are in {zone}.",
    )


def reason_choices(alert: str) -> Card:
    """The usual reasons for not interested, and how to give another."""
    return Card(
        title="Why not interested?",
        text=("This closes the reply and shows the reason on its card. Reopen undoes it.",),
        buttons=tuple(
            Button(label=one.capitalize(), action=OnAlert(verb="dismiss", alert=alert, detail=one))
            for one in REASONS
        ),
        footer="For another reason, reply in the card's thread: @outreach not interested REASON",
    )
