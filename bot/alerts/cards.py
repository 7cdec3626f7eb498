"""The cards of replies and of what happened to leads, and whose turn a reply is, as functions of the alert. Pure.

A menu takes five entries, of 75 characters and with a value of 150 at most
(https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element/#fields,
https://docs.slack.dev/reference/block-kit/composition-objects/option-object#fields). A reply has more acts than that, so
the last entry opens its details, where each act has a button.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from bot.blockkit.actions import ACK, DETAILS, LEAD, LOOKS, OnAlert
from bot.blockkit.card_blocks import MENU
from shared.api.event_kinds import kind_of
from shared.api.events import Event
from shared.commands.leads import Remove
from shared.commands.pause import Pause, Resume
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reply_states import AFTER, State
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.settings import Settings
from shared.text.formats import clip, show_exact_span
from shared.text.links import answer_link as mail_address
from shared.text.links import lead_link
from shared.text.quotations import without_quotation

LATE = "arrived late (no webhook)"
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
}
"""The buttons of acts on alerts."""
_IN_ROW: Mapping[State, frozenset[str]] = {
    State.UNCLAIMED: frozenset({"mail", "claim"}),
    State.SNOOZED: frozenset({"mail", "claim"}),
    State.CLAIMED: frozenset({"mail", "done"}),
    State.DONE: frozenset({"reopen"}),
}


def about(event: Event) -> str:
    """`Ada Lovelace at Acme`, as far as it is known."""
    name = clip(event.lead.name or event.domain or event.inbox or "Someone")
    return f"{name} at {clip(event.lead.company, length=40)}" if event.lead.company else name


def facts_of(*pairs: tuple[str, str | None], brief: bool = False) -> tuple[Fact, ...]:
    """The facts whose value is known."""
    return tuple(Fact(label=label, value=value, brief=brief) for label, value in pairs if value)


def show_time(at: datetime) -> str:
    return f"{at:%-d %b %H:%M} UTC"


def when(label: str, at: datetime, *, brief: bool = False) -> Fact:
    return Fact(label=label, value=show_time(at), at=at, brief=brief)


def span(since: float, until: float) -> str:
    """The time between two Unix times, as text."""
    return show_exact_span(timedelta(seconds=until - since))


def answer_link(event: Event) -> str:
    """Opens an answer to the reply, under its own subject where the delivery tells it."""
    subject = event.raw.get("subject")
    own = subject if isinstance(subject, str) else ""
    return mail_address(event.lead.email, event.reply or "", subject=own) if event.lead.email else ""


def footer(alert: Alert) -> str:
    """The workspace where there are several, and whether it was found later than it should have come."""
    is_late = alert.found and not kind_of(alert.event.kind).own
    return " · ".join(filter(None, (alert.workspace, LATE if is_late else "")))


def reply_card(alert: Alert, *, in_list: bool = False) -> Card:
    """The card of a reply: its author, owner and words, where it came from, and what can be done."""
    event, tone, (row, menu) = alert.event, Tone.INFO, _acts(alert)
    more = Button(label="Details …", action=OnAlert(verb=DETAILS, alert=alert.id), menu=True)
    if alert.state is State.UNCLAIMED and kind_of(event.kind).claimable:
        tone = Tone.WARN if alert.nudges else Tone.GOOD
    # Without a public address of the bot, the address has a link that answers.
    email, link = event.lead.email, "" if alert.mail_link else answer_link(event)
    # The mail that the lead answered would be most of the card on a phone; the details have it.
    address = Fact(label="Reply by email" if link else "Email", value=email or "", url=link)
    whole, words = (event.reply or "").strip(), without_quotation(event.reply or "")
    return Card(
        title=_title(alert, in_list=in_list),
        tone=tone,
        quote=whole if len(whole) <= len(words) + SIGNATURE_CHARACTERS else words,
        details=(
            *facts_of(("Workspace", alert.workspace)),
            *facts_of(("Sequence", _sequence_name(alert)), brief=True),
            *((address,) if email else ()),
            *snooze_end(alert),
            *facts_of(("Delivery", LATE if alert.found else "")),
        ),
        buttons=(*row, *menu[: MENU - 1], more),
        notifies=True,
    )


def details_card(alert: Alert) -> Card:
    """The whole reply, everything that is known of it, and every act that its state allows."""
    event, (row, menu) = alert.event, _acts(alert)
    page = (crm_button(alert.lead_link),) if alert.lead_link else ()
    step = "" if event.step is None else str(event.step)
    return Card(
        title=about(event),
        text=(stands(alert), LATE.capitalize() if alert.found else ""),
        quote=(event.reply or "").strip(),
        facts=(
            *facts_of(("Role", event.lead.title), ("Email", event.lead.email)),
            *facts_of(("Sequence", _sequence_name(alert)), ("Step", step), ("Inbox", event.inbox)),
            when("Received", alert.received),
            *snooze_end(alert),
        ),
        buttons=(*row, *(replace(button, menu=False) for button in menu), *page),
    )


def _title(alert: Alert, *, in_list: bool) -> str:
    """The author, and the state of the reply: `Ada at Acme · claimed by @ann after 3 min`.

    A list says what its replies are in its own title, and of each only what is more than that.
    """
    state, end = status(alert), ""
    if alert.state is State.UNCLAIMED and not in_list:
        end = " is interested" if kind_of(alert.event.kind).claimable else " replied"
        state = state or ("", "still unclaimed", "still unclaimed, escalated")[min(alert.nudges, 2)]
    end += f" · {state}" if state else ""
    # The state is what a reader looks for: a long name is cut, and never its end.
    return f"{clip(about(alert.event), length=TITLE_CHARACTERS - len(end) - 2)}{end}"


def status(alert: Alert) -> str:
    """The owner of a reply and the time it took, or whose turn it is; empty where it is unclaimed."""
    if alert.handled_at is not None:
        if alert.closed_reason:
            return f"not interested ({clip(alert.closed_reason)}), says @{alert.handled_name}"
        return f"done by @{alert.handled_name} after {span(alert.received_at, alert.handled_at)}"
    if alert.claimed_at is not None:
        by = f"claimed by @{alert.claimed_name}"
        if alert.assigned_name:
            by = f"assigned to @{alert.claimed_name} by @{alert.assigned_name}"
        return f"{by} after {span(alert.received_at, alert.claimed_at)}"
    if alert.snoozed_until is not None:
        return f"snoozed by @{alert.snoozed_name}"
    if not alert.rota or alert.waiting_since is None:
        return ""
    nobody = "nobody in the rota claimed it" if alert.passed else "everyone in the rota is away"
    return f"@{alert.owner_name or alert.owner}'s turn" if alert.owner else nobody


def stands(alert: Alert) -> str:
    """The status as the beginning of a sentence."""
    text = status(alert)
    return f"{text[:1].upper()}{text[1:]}"


def _sequence_name(alert: Alert) -> str:
    name = clip(alert.event.sequence or "", length=NAME_CHARACTERS)
    return f"{name} (paused)" if name and _is_paused(alert) else name


def _is_paused(alert: Alert) -> bool:
    """True where its sequence is paused, as last read; a done reply isn't looked at any more."""
    return alert.state is not State.DONE and alert.subject.get("sequence") == "paused"


def snooze_end(alert: Alert) -> tuple[Fact, ...]:
    if alert.snoozed_until is None or alert.state is State.DONE:
        return ()
    label = "Reminder" if alert.claimed_by else "Snoozed until"
    return (when(label, moment(alert.snoozed_until), brief=True),)


def _acts(alert: Alert) -> tuple[list[Button], list[Button]]:
    """The buttons of a card, and what belongs in its menu or its details, by weight."""
    state, event, here = alert.state, alert.event, alert.workspace
    left_out = {"wake" if alert.snoozed_until is None else "remind", "" if alert.mail_link else "mail"}
    offered = [_act(alert, verb) for verb in AFTER[state] if verb not in left_out]
    row = [button for button in offered if not button.menu]
    menu = [button for button in offered if button.menu]
    if event.sequence and state is not State.DONE:
        act = (Resume if _is_paused(alert) else Pause)(target=(event.sequence,))
        pause = Button(label=f"{act.verb.capitalize()} sequence", action=act, workspace=here, menu=True)
        menu.insert(MENU - 2, pause)  # in the menu itself, before what is rarer
    if email := event.lead.email:
        menu += [
            Button(label="View lead", action=OnAlert(verb=LEAD, alert=alert.id), menu=True),
            replace(_removal(alert, email), tone=Tone.INFO, menu=True),
        ]
    return row, menu


def _act(alert: Alert, verb: str) -> Button:
    """The button of an act that the alert's state allows."""
    in_row, label, url, tone = verb in _IN_ROW[alert.state], LABELS[verb], "", Tone.INFO
    if verb == "mail":
        label, url = "Reply" if alert.claimed_by else label, alert.mail_link
    if verb == "wake" and alert.claimed_by:
        label = "Cancel reminder"
    # One button is the primary one: it opens the mail program, or is the first in the row where nothing does.
    if url or (in_row and not alert.mail_link and verb != "reopen"):
        tone = Tone.GOOD
    action = OnAlert(verb=verb, alert=alert.id, detail="2h" if verb == "remind" else "")
    return Button(label=label, action=action, url=url, tone=tone, menu=not in_row)


def _removal(alert: Alert, email: str) -> Button:
    """It asks first."""
    remove = Remove(who=email)
    return Button(label="Remove lead …", action=remove, workspace=alert.workspace, tone=Tone.BAD)


def crm_button(link: str) -> Button:
    return Button(label="Open in CRM", url=link)


def brief_card(alert: Alert) -> Card:
    """The card of an event that happened to a lead, with what can be done about it."""
    event, kind, back = alert.event, kind_of(alert.event.kind), _day(alert.event.return_date or "")
    email, buttons, reminder = event.lead.email, list[Button](), list[Fact]()
    if kind.offers == "removal" and email:
        buttons.append(_removal(alert, email))
    if kind.offers == "reminder" and alert.snoozed_until is not None:
        reminder.append(when("Reminder", moment(alert.snoozed_until)))
        buttons.append(Button(label="Cancel reminder", action=OnAlert(verb="wake", alert=alert.id)))
    elif kind.offers == "reminder":
        if back and back > alert.received.date():
            on_return = OnAlert(verb="snooze", alert=alert.id, detail=str(back))
            buttons.append(Button(label=f"Remind on {back.day} {back:%b}", action=on_return))
        buttons.append(Button(label="Remind me …", action=OnAlert(verb="snooze", alert=alert.id)))
    if kind.offers and email:
        buttons.append(Button(label="View lead", action=OnAlert(verb=LEAD, alert=alert.id)))
    return Card(
        title=f"{kind.title or kind.label}: {about(event)}",
        tone=Tone(kind.tone),
        facts=(
            *facts_of(("Back on", f"{back:%a %-d %b %Y}" if back else event.return_date), brief=True),
            *facts_of(("Bounce", event.bounce_type)),
            *facts_of(("Reason", event.reason), brief=True),
            *reminder,
        ),
        quote=event.reply or "",
        buttons=tuple(buttons),
        details=(
            *facts_of(("Email", event.lead.email)),
            *facts_of(("Sequence", event.sequence), brief=True),
            *facts_of(("Step", f"step {event.step}" if event.step else None), ("Inbox", event.inbox)),
            when("Received", alert.received),
        ),
        footer=footer(alert),
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
    for button in card.buttons[::-1]:
        is_look = isinstance(button.action, OnAlert) and button.action.verb in LOOKS
        if is_look and button not in buttons:
            buttons += (replace(button, label="Details" if button.menu else "View", menu=False),)
            break
    where = tuple(fact for fact in card.details if fact.brief)
    quote = clip(card.quote, length=LISTED_CHARACTERS)
    return replace(card, text=card.text[:1], quote=quote, details=where, buttons=buttons)


def turn_card(title: str, text: str, alert: str) -> Card:
    """Whose turn a reply is, and why."""
    claim = Button(label="Claim", action=OnAlert(verb="claim", alert=alert), tone=Tone.GOOD)
    return Card(title=title, tone=Tone.WARN, text=(text,), buttons=(claim,))


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


PLAIN_CARDS = CardSettings()
"""Cards of a single workspace, without links."""


def _mac(secret: str, text: str) -> str:
    key = hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)
    mac = hmac.digest(key, text.encode(), hashlib.sha256)[:MAC_BYTES]
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def card_settings(settings: Settings) -> CardSettings:
    """The settings of cards: signed by the keys for secrets, or else by what the bot shares with Slack alone."""
    slack = (settings.slack.signing_secret, settings.slack.bot_token)
    kept = [one.get_secret_value() for one in (*settings.secret_keys, *slack) if one is not None]
    return CardSettings(
        several=len(settings.workspaces) > 1,
        lead_page=settings.links.lead,
        public_url=settings.public_url or "",
        secrets=tuple(filter(None, kept)),
    )
