"""The card of a spike: many bounces or opt-outs of one domain or sequence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.alerts.wording import facts_of, show_counts, when
from bot.store.alerts.spikes import Subject
from shared.api.event_kinds import EVENTS, SPIKING
from shared.commands.arguments import DOMAIN, Inboxes
from shared.commands.pauses import Pause
from shared.commands.periods import Period, Stats
from shared.domain.alert_settings import SpikeRule
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.evidence import Rate
from shared.domain.wall_clock import moment
from shared.text.formats import plural, show_exact_span, show_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How many events of a kind came lately, and their share of the sends since yesterday."""

    kind: str
    count: int
    share: Rate | None
    spikes: bool = True
    """Whether there are too many; else they are shown because the others are."""

    @property
    def counted(self) -> str:
        return show_number(self.count, EVENTS[self.kind].noun)


def spike_card(
    subject: Subject,
    figures: Sequence[Figure],
    *,
    rule: SpikeRule,
    since: float,
    workspace: str = "",
    sequences: Sequence[tuple[str, int]] = (),
) -> Card:
    """The card of a spike under way; `sequences` are those of a domain, with the events of each."""
    many = [one.kind for one in figures if one.spikes]
    window = show_exact_span(rule.window)
    return Card(
        title=f"{_spike(many)}: {subject.label}",
        tone=Tone.WARN,
        text=tuple(EVENTS[kind].spike_advice for kind in many),
        facts=(
            Fact(
                label=f"In the last {'hour' if window == '1 h' else window}",
                value=", ".join(one.counted for one in figures),
            ),
            Fact(label="Share of sends since yesterday", value=_shares(figures)),
            *facts_of(("Sequences", show_counts(sequences))),
            when("Since", moment(since)),
        ),
        buttons=_buttons(subject),
        footer=" · ".join(filter(None, (workspace, "Updates automatically"))),
    )


def merged_card(subject: Subject, kinds: Sequence[str], *, onto: str) -> Card:
    """What is left of a card when another one shows the same events."""
    return Card(title=f"{_nouns(kinds).capitalize()} of {subject.label} are counted on the card of {onto}")


def over_card(subject: Subject, kinds: Sequence[str], *, since: float, now: float) -> Card:
    """The card of a spike that has passed."""
    return Card(
        title=f"{_spike(kinds)} ended: {subject.label}",
        text=(f"Lasted {show_exact_span(timedelta(seconds=now - since))}.",),
        facts=(when("Since", moment(since)),),
    )


def _spike(kinds: Sequence[str]) -> str:
    """“Bounce spike”, “Bounce and opt-out spike”."""
    return f"{' and '.join(EVENTS[kind].noun for kind in SPIKING if kind in kinds)} spike".capitalize()


def _nouns(kinds: Sequence[str]) -> str:
    return " and ".join(plural(EVENTS[kind].noun) for kind in SPIKING if kind in kinds)


def _shares(figures: Sequence[Figure]) -> str:
    if all(one.share is None for one in figures):
        return "unknown: the number of sends isn't known"
    if len(figures) == 1:
        return _share(figures[0])
    return ", ".join(f"{plural(EVENTS[one.kind].noun)} {_share(one)}" for one in figures)


def _share(figure: Figure) -> str:
    return figure.share.with_counts if figure.share else "unknown"


def _buttons(subject: Subject) -> tuple[Button, ...]:
    if subject.scope == "domain":
        return (
            Button(label="Pause all …", action=Pause(target=(f"{DOMAIN}{subject.name}",)), tone=Tone.BAD),
            Button(label="Show inboxes", action=Inboxes(filter=subject.name)),
            Button(label="Stats by inbox", action=Stats(by="inbox", period=Period(days=1))),
        )
    paused = Button(label="Pause sequence", action=Pause(target=(subject.name,)))
    return paused, Button(label="Stats by step", action=Stats(by="step", period=Period(days=1)))
