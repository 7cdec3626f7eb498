"""Guardrails on the dashboard: their card, and alarms about those that have fired."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.snapshot import Snapshot
from shared.domain.wall_clock import DAY
from shared.records.domains import DomainPast
from shared.records.guardrails import CountSample, Happening, Incident
from tests.shared.doubles import NOW as OFFICE_NOW
from tests.shared.doubles import CommandHarness, open_harness
from tests.tui.accounts import NOW, Clock, FakeFeed, account, failing, tick_of
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState
from tui.model.news.alarms import Alarm
from tui.screens.alarms import AlarmLine, AlarmsScreen
from tui.screens.dialogs import CardDialog


def incident(*, minutes_ago: float, rule: str = "domain-bounces-5") -> Incident:
    began = NOW - timedelta(minutes=minutes_ago)
    return Incident(
        id=1,
        workspace="acme",
        rule=rule,
        sentence="suggest pausing domain when bounces > 5% of at least 200 sends in 24h",
        action="suggest",
        subject="useacme.example",
        label="useacme.example",
        began_at=began.timestamp(),
        held_at=began.timestamp(),
        note="9.3% bounces (31 of 332 sends) in 24h",
    )


def bounced(harness: CommandHarness, *, bounces: int, sends: int = 300) -> None:
    """Today's sends and bounces of one sequence."""
    assert harness.records
    guard = harness.records.guardrails
    day = int(OFFICE_NOW.timestamp() // DAY)
    for hours, count in ((3, 0), (2, sends)):
        at = OFFICE_NOW.timestamp() - hours * 3600
        guard.counted.append(
            CountSample(scope="sequence", key="Q3 Founders", day=day, at=at, sends=count, replies=count // 50)
        )
    at = OFFICE_NOW.timestamp() - 3600
    guard.came += [Happening(at=at + n, kind="lead.bounced", sequence="Q3 Founders") for n in range(bounces)]


def dashboard(harness: CommandHarness, *, read_only: bool = False) -> DashboardApp:
    clock = Clock()
    pending_changes = PendingChanges(harness.run, now=clock, read_only=read_only)
    return DashboardApp(
        [WorkspaceState(workspace="acme", feed=FakeFeed(), pending_changes=pending_changes)], now=clock
    )


SIZES = [(80, 24), (160, 50), (250, 70)]


def words_of(app: DashboardApp) -> str:
    """What the screen shows, as words: a line that goes on below reads on."""
    strips = app.screen._compositor.render_strips()
    return " ".join(" ".join(strip.text for strip in strips).split())


def kind_of(alarm: Alarm) -> str:
    if alarm.kind == "guardrail":
        return "guardrail"
    return "domain" if alarm.where == "useacme.example" else alarm.where or "service"


REJECTION = "The service rejects the API key (401)"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("kind", ["domain", "service", "guardrail"])
async def test_a_remedy_is_never_cut(kind: str, size: tuple[int, int]) -> None:
    app = dashboard(open_harness())
    snapshot = {
        "domain": account(),
        "service": failing(account(), since=NOW, error=REJECTION),
        "guardrail": replace(account(), firings=(incident(minutes_ago=1),)),
    }[kind]
    async with app.run_test(size=size) as pilot:
        feed = app.workspaces.current.feed
        assert isinstance(feed, FakeFeed)
        names = [one.label for one in account().sequences.value or ()]
        feed.pasts["useacme.example"] = DomainPast(
            reason="bounce rate of 7.1% over the limit of the provider",
            bounced=31,
            opted_out=2,
            known_from=NOW - timedelta(days=60),
            sequences=tuple(names),
        )
        app.post_message(DashboardApp.Ticked(tick_of(snapshot)))
        await pilot.pause()
        await pilot.press("A")
        await pilot.pause(0.2)
        assert isinstance(app.screen, AlarmsScreen)
        grid, pane = app.screen.panel.grid, app.screen.remedy
        for _ in grid.shown:
            if isinstance(grid.line, AlarmLine) and kind_of(grid.line.alarm) == kind:
                break
            await pilot.press("down")
        assert isinstance(grid.line, AlarmLine)
        assert kind_of(grid.line.alarm) == kind
        await pilot.pause(0.2)
        assert pane.remedy
        assert pane.remedy.steps
        assert pane.max_scroll_y == 0, "nothing of it has to be scrolled to"
        seen = words_of(app)
        for text in (*(value for _, value, _ in pane.remedy.facts), *(one.text for one in pane.remedy.steps)):
            assert text in seen


async def test_the_palette_shows_every_rule_with_its_distance_to_the_threshold() -> None:
    harness = open_harness()
    bounced(harness, bounces=30)
    app = dashboard(harness, read_only=True)
    async with app.run_test(size=(160, 40)) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(account())))
        await pilot.press(":", *"guard", "enter")
        await pilot.pause(0.2)
        assert isinstance(app.screen, CardDialog)
        assert "bounces-5" in words_of(app)


async def test_the_key_of_an_alarm_shows_the_guardrails() -> None:
    app = dashboard(open_harness())
    async with app.run_test(size=(160, 40)) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(fired(incident(minutes_ago=1)))))
        await pilot.pause()
        await pilot.press("A")
        await pilot.pause(0.1)
        assert isinstance(app.screen, AlarmsScreen)
        grid = app.screen.panel.grid
        for _ in grid.shown:
            if isinstance(grid.line, AlarmLine) and kind_of(grid.line.alarm) == "guardrail":
                break
            await pilot.press("down")
        await pilot.press("G")
        await pilot.pause(0.2)
        assert isinstance(app.screen, CardDialog)
        assert "bounces-5" in words_of(app)


def fired(*incidents: Incident) -> Snapshot:
    return replace(account(), firings=incidents)


async def test_an_alarm_says_which_rule_fired_and_rings_once() -> None:
    rung: list[str] = []
    app = DashboardApp([WorkspaceState(workspace="acme", feed=FakeFeed())], now=Clock(), on_alarm=rung.extend)
    async with app.run_test(size=(160, 40)) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(account())))
        await pilot.pause()
        rung.clear()
        app.post_message(DashboardApp.Ticked(tick_of(fired(incident(minutes_ago=1)))))
        await pilot.pause()
        (text,) = rung
        assert "useacme.example guardrail domain-bounces-5: 9.3% bounces (31 of 332 sends) in 24h" in text
        await pilot.press("A")
        await pilot.pause()
        assert isinstance(app.screen, AlarmsScreen)
        assert any("domain-bounces-5" in line.words for line in app.screen.panel.grid.shown)


async def test_a_guardrail_that_fired_long_before_is_shown_but_does_not_ring() -> None:
    rung: list[str] = []
    app = DashboardApp([WorkspaceState(workspace="acme", feed=FakeFeed())], now=Clock(), on_alarm=rung.extend)
    async with app.run_test(size=(160, 40)) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(account())))
        await pilot.pause()
        rung.clear()
        app.post_message(DashboardApp.Ticked(tick_of(fired(incident(minutes_ago=90)))))
        await pilot.pause()
        assert not rung
        assert any("domain-bounces-5" in alarm.text for alarm in app.workspaces.current.alarms)
