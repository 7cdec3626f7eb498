"""The card of a reply, as functions of its alert: who wrote and who has it, the words, one line, the buttons. Pure.

A menu takes five entries, of 75 characters and with a value of 150 at most
(https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element/#fields,
https://docs.slack.dev/reference/block-kit/composition-objects/option-object#fields). A reply has more acts than that, so
the last entry opens its details, where each act has a button.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.alerts import rota
from bot.alerts.wording import LATE, about, answer_link, facts_of, introduced, show_time, when
from bot.blockkit.actions import DETAILS, LEAD, OnAlert
from bot.blockkit.elements import MENU, OPTION_VALUE, value_of
from shared.api.event_kinds import kind_of
from shared.commands.leads import Remove
from shared.commands.pause import Pause, Resume
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reply_states import AFTER, State
from shared.text.formats import clip, show_exact_span
from shared.text.quotations import without_quotation

QUOTED_CHARACTERS, TITLE_CHARACTERS, NAME_CHARACTERS = 1_500, 150, 100
SIGNATURE_CHARACTERS = 40
"""Less quoted mail or signature than that is shown."""
NAMED_ACTS, LABEL_CHARACTERS = 2, 60
"""The number of acts that the menu's last entry names, and the most characters of its label."""
_LABELS = {
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
}
_IN_ROW: Mapping[State, frozenset[str]] = {
    State.UNCLAIMED: frozenset({"mail", "claim"}),
    State.SNOOZED: frozenset({"mail", "claim"}),
    State.CLAIMED: frozenset({"mail", "done"}),
    State.DONE: frozenset({"reopen"}),
}
_OF_PLAIN_REPLY = {"mail", "claim", "assign"}
"""The acts on an unclaimed reply that isn't known to be interested: it has no deadline."""


def card(alert: Alert) -> Card:
    """The card of a reply: its author, owner and words, where it came from, and what can be done."""
    event, tone = alert.event, Tone.INFO
    if alert.state is State.UNCLAIMED and kind_of(event.kind).claimable:
        tone = Tone.WARN if alert.nudges else Tone.GOOD
    # Without a public address of the bot, the address has a link that answers.
    email, link = event.lead.email, "" if alert.mail_link else answer_link(event)
    address = Fact(label="Reply by email" if link else "Email", value=email or "", url=link)
    return Card(
        title=title(alert),
        tone=tone,
        quote=excerpt(event.reply or "")[0],
        details=(
            *facts_of(("Workspace", alert.workspace or None)),
            *facts_of(("Sequence", _sequence_name(alert)), brief=True),
            *((address,) if email else ()),
            *_snooze_end(alert),
            *facts_of(("Delivery", LATE if alert.found else None)),
        ),
        buttons=buttons(alert),
        notifies=True,
    )


def details(alert: Alert) -> Card:
    """The whole reply, everything that is known of it, and every act that its state allows."""
    event, (row, menu) = alert.event, _acts(alert)
    page = (crm_button(alert.lead_link),) if alert.lead_link else ()
    return Card(
        title=clip(introduced(event), length=TITLE_CHARACTERS),
        text=tuple(
            f"{text[0].upper()}{text[1:]}" for text in (_status(alert), LATE if alert.found else "") if text
        ),
        quote=(event.reply or "").strip(),
        facts=(
            *facts_of(("Email", event.lead.email), ("Sequence", _sequence_name(alert))),
            *facts_of(("Step", None if event.step is None else str(event.step)), ("Inbox", event.inbox)),
            when("Received", alert.received),
            *_snooze_end(alert),
        ),
        buttons=(*row, *(replace(button, menu=False) for button in menu), *page),
    )


def title(alert: Alert) -> str:
    """The author, and the state of the reply: `Ada at Acme · claimed by @ann after 3 min`."""
    claimable = kind_of(alert.event.kind).claimable
    verb = "is interested" if claimable else "replied"
    status = _status(alert)
    end = f" · {status}" if status else ""
    if alert.state is State.UNCLAIMED:
        end = f" {verb}{end}"
    # The state is what a reader looks for: a long name is cut, and never its end.
    return f"{clip(about(alert.event), length=TITLE_CHARACTERS - len(end) - 2)}{end}"


def _status(alert: Alert) -> str:
    """The owner and the time it took; empty where it is unclaimed and nobody was reminded of it."""
    if alert.handled and alert.closed_reason:
        return f"not interested ({clip(alert.closed_reason)}), says @{alert.handled.name}"
    if alert.handled:
        taken = show_exact_span(alert.handled.at - alert.received)
        return f"done by @{alert.handled.name} after {taken}"
    if alert.claim:
        by = f"assigned to @{alert.claim.name} by @{alert.assigned_name}"
        did = by if alert.assigned_name else f"claimed by @{alert.claim.name}"
        return f"{did} after {show_exact_span(alert.claim.at - alert.received)}"
    if alert.snooze:
        return f"snoozed by @{alert.snooze.name}"
    waits, turn = (
        ("", "still unclaimed", "still unclaimed, escalated")[min(alert.nudges, 2)],
        rota.status_line(alert),
    )
    return ", ".join(filter(None, (waits if alert.nudges > 1 or not turn else "", turn)))


def _is_paused(alert: Alert) -> bool:
    """True where its sequence is paused, as last read."""
    return bool(alert.subject.get("sequence") == "paused")


def _sequence_name(alert: Alert) -> str | None:
    name = alert.event.sequence
    paused = _is_paused(alert) and alert.state is not State.DONE  # a done reply isn't looked at any more
    return f"{clip(name, length=NAME_CHARACTERS)} (paused)" if name and paused else name


def _snooze_end(alert: Alert) -> tuple[Fact, ...]:
    if alert.snooze is None or alert.state is State.DONE:
        return ()
    label = "Reminder" if alert.claim else "Snoozed until"
    return (Fact(label=label, value=show_time(alert.snooze.at), at=alert.snooze.at, brief=True),)


def excerpt(reply: str) -> tuple[str, bool]:
    """The reply without quoted mail and signature, cut between words; and True where there is more of it."""
    whole, text = reply.strip(), without_quotation(reply)
    if len(whole) <= min(QUOTED_CHARACTERS, len(text) + SIGNATURE_CHARACTERS):
        return whole, False
    if len(text) > QUOTED_CHARACTERS:
        shown = text[: QUOTED_CHARACTERS - 1]
        text = f"{shown[: shown.rfind(' ')] if ' ' in shown[-80:] else shown}…"
    return text, True


def buttons(alert: Alert) -> tuple[Button, ...]:
    """The first acts of the alert's state, and the menu with the next ones and the details."""
    row, menu = _acts(alert)
    label = "Details …"
    if len(menu) >= MENU:
        rest = [button.label.removesuffix(" …").lower() for button in menu[MENU - 1 :]]
        label = clip(", ".join(["Details", *rest[:NAMED_ACTS]]), length=LABEL_CHARACTERS) + " …"
    details = Button(label=label, action=OnAlert(verb=DETAILS, alert=alert.id), menu=True)
    return (*row, *menu[: MENU - 1], details)


def _acts(alert: Alert) -> tuple[list[Button], list[Button]]:
    """The buttons of a card, and what belongs in its menu or its details, by weight."""
    state, event, here = alert.state, alert.event, alert.workspace
    kind = kind_of(event.kind)
    plain = state is State.UNCLAIMED and not kind.claimable
    left_out = {"remind" if alert.snooze else "wake"} | ({"mail"} if not alert.mail_link else set())
    offered = {
        verb: _act(alert, verb)
        for verb in AFTER[state]
        if verb not in left_out and (verb in _OF_PLAIN_REPLY or not plain)
    }
    row = [button for button in offered.values() if not button.menu]
    done = offered.pop("done", None)
    menu = [button for button in offered.values() if button.menu]
    if event.sequence and not plain and state is not State.DONE:
        act = (Resume if _is_paused(alert) else Pause)(target=(event.sequence,))
        label = f"{act.verb.capitalize()} sequence"
        menu.append(Button(label=label, action=act, workspace=here, menu=True))
    if done and done.menu:  # of what nobody has claimed it is rare
        menu.append(done)
    if event.lead.email:
        remove = Remove(who=event.lead.email, status=kind.lead_status)
        last = [
            Button(label="Remove lead …", action=remove, workspace=here, menu=True),
            Button(label="View lead", action=OnAlert(verb=LEAD, alert=alert.id), menu=True),
        ]
        menu += last[::-1] if plain or state is State.DONE else last
    # What is too long for an entry of a menu has its place in the details.
    return row, sorted(menu, key=lambda button: len(value_of(button, most=OPTION_VALUE)) > OPTION_VALUE)


def _act(alert: Alert, verb: str) -> Button:
    """The button of an act that the alert's state allows."""
    in_row, label, url, tone = verb in _IN_ROW[alert.state], _LABELS[verb], "", Tone.INFO
    if verb == "mail":
        label, url = "Reply" if alert.claim else label, alert.mail_link
    if verb == "wake" and alert.claim:
        label = "Cancel reminder"
    if url or (in_row and not alert.mail_link and verb != "reopen"):
        tone = Tone.GOOD
    action = OnAlert(verb=verb, alert=alert.id, detail="2h" if verb == "remind" else "")
    return Button(label=label, action=action, url=url, tone=tone, menu=not in_row)


def crm_button(link: str) -> Button:
    return Button(label="Open in CRM", url=link)
