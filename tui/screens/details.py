"""The pages of a domain, an inbox and a sequence: facts, health over time, and their parts; and those of all of a kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import timedelta

from textual import on
from textual.containers import Container, Vertical, VerticalScroll
from textual.widget import Widget

from shared.domain.card import Card, Tone
from tui.model.columns import INBOXES, SEQUENCES, STATS_BY
from tui.model.course import Course
from tui.model.facts import Read, domain_card, inbox_card, sequence_card, service_facts
from tui.model.frame import Frame
from tui.model.lines import Freshness, PageRef, SequenceLine
from tui.model.rich_card import facts_grid, render
from tui.model.workspaces import WORKSPACES
from tui.screens.base import Page, panel_of
from tui.theme.words import Words
from tui.widgets.table import ListTable, Panel
from tui.widgets.text import CardText, CourseText, TextLine

SPAN = timedelta(days=14)
GONE = Card(title="This no longer exists", tone=Tone.UNKNOWN, text=("The service no longer lists it.",))
NO_HEALTH = "No health is recorded here."


class DetailPage(Page):
    """The facts of one thing; what is read for it alone comes from the app a moment later."""

    has_course = True

    def __init__(self, about: PageRef) -> None:
        super().__init__()
        self.about = about
        self.name_in_path = about.key
        self.card = CardText(id="facts")
        self.title_line = TextLine(id="course-title")
        self.course = CourseText(id="course")

    def parts(self) -> Iterable[Widget]:
        with Container(id="detail-top"):
            with VerticalScroll(id="facts-scroll", can_focus=False):
                yield self.card
            if self.has_course:
                with Vertical(id="course-place"):
                    yield self.title_line
                    yield self.course
        with Container(id="detail-lists"):
            yield from self.panels()

    @abstractmethod
    def panels(self) -> Iterable[Panel]:
        """Give the lists below the facts."""

    @abstractmethod
    def card_of(self, frame: Frame, read: Read) -> Card | None:
        """Give the facts; None where the thing is gone."""

    def show(self, frame: Frame) -> None:
        read = self.app.read_of(self.about)
        card = self.card_of(frame, read) or GONE
        if frame.service:
            self.card.set(
                (frame.service, card), facts_grid((*service_facts(frame.service, frame=frame), *card.facts))
            )
        else:
            self.card.set(card, render(card))

    def show_course(self, course: Course | None) -> None:
        self.title_line.set(Words.of(f" HEALTH{' (lowest)' if self.about.kind == 'domain' else ''}"))
        self.course.set(course, empty=NO_HEALTH)

    @on(CourseText.Wanted)
    def _wanted(self) -> None:
        # The pages below are resized too; their readings would take the place of this one's.
        if self.app.page is self:
            self.app.read_for(self)


class DomainPage(DetailPage):
    """The page of a domain: why it stands so, the sequences that feed it, and its inboxes; `p` pauses those sequences."""

    can_pause = True

    def panels(self) -> Iterable[Panel]:
        self.feeding = Panel(
            "feeding", title="Sequences", columns=SEQUENCES, empty="No sequence is known to send from here."
        )
        self.inboxes = Panel("inboxes", title="Inboxes", columns=INBOXES, empty="It has no inboxes.")
        return (self.inboxes, self.feeding)

    def card_of(self, frame: Frame, read: Read) -> Card | None:
        line = frame.domain(self.about.key)
        return domain_card(frame, line, read) if line else None

    def show(self, frame: Frame) -> None:
        super().show(frame)
        read = self.app.read_of(self.about)
        past = read.past or frame.board.domain_facts.pasts.get(self.about.key)
        lines = frame.sequences_named(past.sequences if past else ())
        self.feeding.show(lines, **panel_of("sequences", frame))
        self.inboxes.show(frame.inboxes_of(self.about.key), **panel_of("inboxes", frame))

    @property
    def domain(self) -> str:
        return self.about.key

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        kind = "inbox" if event.table is self.inboxes.table else "sequence"
        self.app.go(PageRef(kind=kind, key=event.line.key))


class InboxPage(DetailPage):
    """An inbox beside the others of its domain."""

    def panels(self) -> Iterable[Panel]:
        self.others = Panel("others", title="Same domain", columns=INBOXES, empty="It is the only one.")
        return (self.others,)

    @property
    def domain(self) -> str:
        return self.about.key.rpartition("@")[2]

    def card_of(self, frame: Frame, read: Read) -> Card | None:
        return inbox_card(frame, self.about.key, read)

    def show(self, frame: Frame) -> None:
        super().show(frame)
        lines = [line for line in frame.inboxes_of(self.domain) if line.key != self.about.key]
        self.others.show(lines, **panel_of("inboxes", frame))

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        self.app.go(PageRef(kind="inbox", key=event.line.key), is_beside=True)


class SequencePage(DetailPage):
    """A sequence, and the counts of steps and variants, which the service has for the whole workspace only."""

    can_pause = True
    has_course = False

    def panels(self) -> Iterable[Panel]:
        self.steps = Panel("steps", title="Steps", columns=STATS_BY["step"], empty="No counts yet.")
        self.variants = Panel(
            "variants", title="Variants", columns=STATS_BY["variant"], empty="No counts yet."
        )
        return (self.steps, self.variants)

    def card_of(self, frame: Frame, read: Read) -> Card | None:
        line = frame.sequence(self.about.key)
        if line is None:
            return None
        self.name_in_path = line.label
        return sequence_card(frame, line)

    def show(self, frame: Frame) -> None:
        super().show(frame)
        line = frame.sequence(self.about.key)
        # The counts are of the workspace: steps after the last of this sequence are of others.
        most = line.sequence.steps if line else None
        steps = [
            line
            for line in frame.board.stats_by("step")
            if most is None or not line.key.isdigit() or int(line.key) <= most
        ]
        aside = "of the workspace"
        self.steps.show(steps, aside=aside, **panel_of("step", frame))
        self.variants.show(frame.board.stats_by("variant"), aside=aside, **panel_of("variant", frame))

    @property
    def pausable(self) -> Sequence[SequenceLine]:
        line = self.frame.sequence(self.about.key) if self.frame else None
        return (line,) if line else ()


PAGES: dict[str, type[DetailPage]] = {"domain": DomainPage, "inbox": InboxPage, "sequence": SequencePage}
"""The pages by the kind of their subject."""


class SequencesPage(Page):
    """All sequences with their counts of 30 days; Enter opens one, `p` pauses or resumes it."""

    can_pause = True
    name_in_path = "Sequences"

    def parts(self) -> Iterable[Widget]:
        self.sequences = Panel("sequences", title="Sequences", columns=SEQUENCES, empty="No sequences yet.")
        yield self.sequences

    def show(self, frame: Frame) -> None:
        lines = frame.board.sequences
        count = sum(line.sequence.status == "paused" for line in lines)
        aside = f"30 days · {count} paused" if count else "30 days"
        self.sequences.show(lines, aside=aside, **panel_of("sequences", frame))

    @property
    def pausable(self) -> Sequence[SequenceLine]:
        line = self.sequences.table.line
        return (line,) if isinstance(line, SequenceLine) else ()

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        self.app.go(PageRef(kind="sequence", key=event.line.key))


class WorkspacesPage(Page):
    """Each workspace with its verdict, figures and age; Enter opens its board."""

    name_in_path = "Workspaces"
    is_always_live = True

    def parts(self) -> Iterable[Widget]:
        self.workspaces = Panel("workspaces", title="Workspaces", columns=WORKSPACES, empty="None.")
        yield self.workspaces

    def show(self, frame: Frame) -> None:
        self.workspaces.show(self.app.workspace_lines(), freshness=Freshness.FRESH)

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        self.app.enter(event.line.key)
