"""`view` and `columns`: what only the dashboard understands, since it is about its own lists."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.text.sanitize import visible
from shared.text.tokenize import quote
from tui.app.presenter import Ui
from tui.feed.views_file import ViewsFile
from tui.model.input.palette_offers import COLUMNS, VIEW, Offer
from tui.model.lists.views import MOST, View, Views, ViewsBroken, columns_of, name_problem, named_columns

USAGE = "`view NAME` shows one, `view save NAME` saves what this panel shows, `view delete NAME` deletes one."
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCommands:
    """Answers a line with a card, or None where the screen shows what was done."""

    ui: Ui
    file: ViewsFile | None

    def run(self, line: str) -> Card | None:
        verb, _, rest = line.strip().partition(" ")
        given = rest.strip()
        if verb.casefold() == COLUMNS:
            return self._columns(given)
        act, _, name = given.partition(" ")
        name = name.strip().strip('"')
        if act.casefold() == "save":
            return self._save(name)
        if act.casefold() == "delete":
            return self._delete(name)
        return self._show(given.strip('"')) if given else self._list()

    def offers(self) -> tuple[Offer, ...]:
        """What the palette has of it."""
        try:
            own = self._own(self.file.read()[0]) if self.file else {}
        except ViewsBroken:
            own = {}
        saved = (Offer(line=f"{VIEW} {quote(name)}", about=visible(view.words)) for name, view in own.items())
        return (
            *saved,
            Offer(line=VIEW, about="Views of this workspace: panel, columns, filter and order by name"),
            Offer(
                line=f"{VIEW} save NAME",
                about="Save what this panel shows as a view",
                beginning=f"{VIEW} save ",
            ),
            Offer(line=COLUMNS, about="Choose and order the columns of this panel: columns Inbox, Health"),
        )

    def _own(self, views: Views) -> dict[str, View]:
        return dict(views.get(self.ui.workspaces.current.workspace, {}))

    def _list(self) -> Card:
        if self.file is None:
            return _NO_FILE
        try:
            views, problems = self.file.read()
        except ViewsBroken as error:
            return self._broken(error)
        own = self._own(views)
        rows = tuple(Row(cells=(name, view.words)) for name, view in own.items())
        return Card(
            title=f"Views of {self.ui.workspaces.current.workspace}" if own else "No views yet",
            tone=Tone.WARN if problems else Tone.INFO,
            text=(USAGE, *(f"{self.file.path.name} {one}" for one in problems)),
            table=Table(columns=columns("View", "Shows"), rows=rows) if rows else None,
            facts=(Fact(label="File", value=str(self.file.path)),),
        )

    def _show(self, name: str) -> Card | None:
        if self.file is None:
            return _NO_FILE
        try:
            views, problems = self.file.read()
        except ViewsBroken as error:
            return self._broken(error)
        own = self._own(views)
        known = {one.casefold(): one for one in own}
        found = known.get(name.casefold())
        if found is None:
            near = [one for key, one in known.items() if key.startswith(name.casefold())]
            found = near[0] if len(near) == 1 else None
        if found is None:
            names = f"Views: {', '.join(own)}." if own else USAGE
            wrong = (f"{self.file.path.name} {one}" for one in problems)
            return Card(title=f"No view is named “{visible(name)}”", tone=Tone.WARN, text=(names, *wrong))
        self._apply(found, own[found])
        if problems:
            self.ui.app.notify(
                visible(f"{self.file.path.name} {problems[0]}"), severity="warning", timeout=12, markup=False
            )
        return None

    def _apply(self, name: str, view: View) -> None:
        board = self.ui.board
        while self.ui.app.screen is not board and len(self.ui.app.screen_stack) > 1:
            self.ui.app.pop_screen()
        board.action_panel(view.panel)
        board.grid.choose(view.columns, name=name)
        board.grid.set_arrangement(view.arrangement)

    def _save(self, name: str) -> Card | None:
        if self.file is None:
            return _NO_FILE
        if problem := name_problem(name):
            return Card(title="Not saved", tone=Tone.WARN, text=(problem, USAGE))
        board = self.ui.board
        view = View.of(board.active, columns=board.grid.chosen_columns, arrangement=board.grid.arrangement)
        workspace = self.ui.workspaces.current.workspace
        try:
            own = self._own(self.file.read()[0])
            if len(own) >= MOST and name not in own:
                return Card(
                    title="Not saved", tone=Tone.WARN, text=(f"A workspace has {MOST} views at most.",)
                )
            self.file.save(workspace, name, view)
        except ViewsBroken as error:
            return self._broken(error)
        board.grid.choose(view.columns, name=name)
        self.ui.app.notify(f"Saved view {name}: {visible(view.words)}", timeout=6, markup=False)
        return None

    def _delete(self, name: str) -> Card | None:
        if self.file is None:
            return _NO_FILE
        workspace = self.ui.workspaces.current.workspace
        try:
            if name not in self._own(self.file.read()[0]):
                return Card(title=f"No view is named “{visible(name)}”", tone=Tone.WARN, text=(USAGE,))
            self.file.save(workspace, name, None)
        except ViewsBroken as error:
            return self._broken(error)
        self.ui.app.notify(f"Deleted view {name}", timeout=4, markup=False)
        return None

    def _columns(self, given: str) -> Card | None:
        """Choose and order the columns of the active panel; without any, list them."""
        board = self.ui.board
        known = dict.fromkeys(column.title for column in columns_of(board.active))
        if not given:
            shown = ", ".join(column.title for column in board.grid.columns if column.title)
            return Card(
                title=f"Columns of {board.active}",
                text=("`columns Inbox, Health` chooses and orders them, `columns all` shows all again.",),
                facts=(Fact(label="Shown", value=shown), Fact(label="All", value=", ".join(known))),
            )
        if given.casefold() == ALL:
            board.grid.choose(())
            return None
        ids, problems = named_columns(board.active, given.split(","))
        if problems:
            return Card(
                title="Columns not changed", tone=Tone.WARN, text=(*problems, f"Columns: {', '.join(known)}.")
            )
        board.grid.choose(ids)
        return None

    def _broken(self, error: ViewsBroken) -> Card:
        assert self.file
        text = f"{self.file.path}: {error}"
        return Card(
            title="The file of views can't be used", tone=Tone.WARN, text=(text, "Nothing was changed.")
        )


_NO_FILE = Card(
    title="Views are kept by dashboards in a terminal",
    tone=Tone.WARN,
    text=("`columns` and filters work here, too.",),
)
