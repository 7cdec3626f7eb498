"""Installing the bot by OAuth: the way through, and what is refused on it."""

from __future__ import annotations

import asyncio
import html
import io
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
import structlog

from bot.http.oauth_pages import COOKIE
from bot.slack.manifest import manifest
from bot.store.db.slack_schema import slack_oauth_states
from tests.bot.slack.oauth import FIRST, SECOND, Browser, Installed, oauth_bot, oauth_harness


@pytest.fixture
async def installed(tmp_path: Path) -> AsyncIterator[Installed]:
    async with oauth_harness(tmp_path) as bot, oauth_bot(bot) as running:
        yield running


async def names(installed: Installed) -> list[str]:
    return [team.id for team in await installed.teams.all()]


async def test_a_workspace_installs_the_bot_and_may_see_nothing_yet(installed: Installed) -> None:
    done = await installed.browser.install()
    assert done.status == 200
    assert "Northwind Partners" in done.text
    assert f"outreach slack-workspaces grant {SECOND} @workspace" in done.text
    (team,) = await installed.teams.all()
    assert (team.id, team.name, team.workspaces) == (SECOND, "Northwind Partners", frozenset())
    assert team.token == installed.bot.slack.second.first.token
    assert team.bot_user_id


async def test_the_state_goes_into_a_cookie_that_only_this_host_gets_over_https(installed: Installed) -> None:
    page = await installed.browser.visit("/slack/install")
    assert page.cookie.startswith(f"{COOKIE}={page.state}; ")
    assert {"Secure", "HttpOnly", "Path=/", "Max-Age=600", "SameSite=Lax"} <= set(page.cookie.split("; "))
    assert "Domain" not in page.cookie
    assert COOKIE.startswith("__Host-")
    assert len(page.state) >= 32
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"


async def test_the_address_at_slack_holds_nothing_from_the_visitor(installed: Installed) -> None:
    hostile = "team=T1%26scope%3Dadmin%26redirect_uri%3Dhttps%3A%2F%2Fevil.example&redirect_uri=https://evil.example"
    page = await installed.browser.visit(f"/slack/install?{hostile}&state=chosen&scope=admin&client_id=1")
    query = parse_qs(urlsplit(page.location).query)
    assert "evil" not in page.location
    assert query["state"] == [page.state]
    assert query["client_id"] == [installed.bot.environ["SLACK_CLIENT_ID"]]
    assert "admin" not in query["scope"][0]
    assert set(query) == {"state", "client_id", "scope"}


async def test_a_used_address_installs_nothing_a_second_time(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    assert (await installed.browser.visit(back)).status == 200
    again = await installed.browser.visit(back)
    assert again.status == 401
    assert "opened twice" in again.text


async def test_of_many_requests_with_one_state_only_one_is_carried_out(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    pages = await asyncio.gather(*(installed.browser.visit(back) for _ in range(8)))
    assert sorted(page.status for page in pages) == [200, *[401] * 7]


async def test_another_browser_cannot_finish_an_installation(installed: Installed) -> None:
    """A victim opens an address with the attacker's code and state: their browser lacks the cookie."""
    back = await installed.browser.decide(await installed.browser.begin())
    victim = Browser(bot=installed.bot)
    assert (await victim.visit(back)).status == 400
    victim.state = "their own state"
    page = await victim.visit(back)
    assert page.status == 400
    assert "didn't start the installation" in html.unescape(page.text)
    assert await names(installed) == []


@pytest.mark.parametrize("state", ["", "forged", "x" * 300, "%00", "%ff%fe", "deleted"])
async def test_a_forged_state_is_refused_even_with_its_own_cookie(installed: Installed, state: str) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    code = parse_qs(urlsplit(back).query)["code"][0]
    forger = Browser(bot=installed.bot, state=state.replace("%", ""))
    page = await forger.visit(f"/slack/oauth_redirect?code={code}&state={state}")
    assert page.status in {400, 401}
    assert await names(installed) == []


async def test_a_state_ends_after_ten_minutes(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed.bot.running is not None
    back = await installed.browser.decide(await installed.browser.begin())
    database = installed.bot.running.store.database
    now = database.clock()
    monkeypatch.setattr(database, "clock", lambda: now + 601)
    page = await installed.browser.visit(back)
    assert page.status == 401
    assert "ten minutes" in page.text


async def test_a_cancelled_installation_has_a_readable_page(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin(), decision="cancel")
    page = await installed.browser.visit(back)
    assert page.status == 200
    assert "cancelled in Slack" in page.text


async def allow_in_manifest(installed: Installed, **settings: bool) -> None:
    """Change the app's settings at Slack."""
    given = manifest(f"{installed.bot.url}/slack/events")
    await installed.bot.control("manifest", **{**given, "settings": {**given["settings"], **settings}})


async def test_an_installation_for_a_whole_organization_is_refused_with_what_to_do(
    installed: Installed,
) -> None:
    await allow_in_manifest(installed, org_deploy_enabled=True)
    page = await installed.browser.install("organization")
    assert page.status == 400
    assert "choose a single workspace" in html.unescape(page.text)
    assert await names(installed) == []


async def test_an_app_whose_tokens_expire_is_refused_with_what_to_do(installed: Installed) -> None:
    await allow_in_manifest(installed, token_rotation_enabled=True)
    page = await installed.browser.install()
    assert page.status == 400
    assert "Create a new app from manifest.yml" in html.unescape(page.text)
    assert await names(installed) == []


async def test_no_page_repeats_what_the_address_says(installed: Installed) -> None:
    hostile = "%3Cscript%3Ealert(1)%3C/script%3E"
    for query in (f"error={hostile}", f"code={hostile}&state={hostile}", f"error={'a' * 3_000}"):
        page = await installed.browser.visit(f"/slack/oauth_redirect?{query}")
        assert "alert" not in page.text
        assert len(page.text) < 1_000
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]


async def test_an_overlong_address_is_refused_at_once(installed: Installed) -> None:
    assert (await installed.browser.visit(f"/slack/oauth_redirect?state={'a' * 5_000}")).status == 400


async def test_other_methods_are_refused(installed: Installed) -> None:
    for path in ("/slack/install", "/slack/oauth_redirect"):
        async with installed.bot.http.post(f"{installed.bot.url}{path}") as answer:
            assert answer.status == 405


async def test_a_wrong_client_secret_is_a_page_and_a_line_in_the_log(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    object.__setattr__(installed.bot.slack.credentials, "client_secret", "changed at Slack")
    with structlog.testing.capture_logs() as lines:
        page = await installed.browser.visit(back)
    assert page.status == 401
    assert "the reason is in the bot's log" in html.unescape(page.text)
    assert [line["error"] for line in lines if line["event"] == "installation failed"] == [
        "Slack returned bad_client_secret"
    ]


async def test_a_slack_that_is_down_is_a_page_too(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    await installed.bot.control("faults", method="oauth.v2.access", kind="cut")
    assert (await installed.browser.visit(back)).status == 401
    assert await names(installed) == []


async def test_visitors_who_begin_and_fail_leave_nothing_behind(installed: Installed) -> None:
    """Else anyone could keep others from installing: by opening the page often."""
    assert installed.bot.running is not None
    database = installed.bot.running.store.database
    for _ in range(20):
        visitor = Browser(bot=installed.bot)
        await visitor.begin()
        page = await visitor.visit(f"/slack/oauth_redirect?code=made-up&state={visitor.state}")
        assert page.status == 401
    assert (
        await database.read(lambda tx: tx.scalar(sa.select(sa.func.count()).select_from(slack_oauth_states)))
        == 0
    )
    assert (await installed.browser.install()).status == 200


async def test_a_state_with_a_later_end_is_forged(installed: Installed) -> None:
    back = await installed.browser.decide(await installed.browser.begin())
    end, _, rest = installed.browser.state.partition(".")
    later = f"{int(end) + 600}.{rest}"
    forger = Browser(bot=installed.bot, state=later)
    assert (await forger.visit(back.replace(installed.browser.state, later))).status == 401
    assert await names(installed) == []


async def test_no_token_code_or_state_is_logged(
    installed: Installed, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines:
        back = await installed.browser.decide(await installed.browser.begin())
        await installed.browser.visit(back)
        await installed.browser.visit(back)
    output = io.StringIO()
    print(lines, caplog.text, *capsys.readouterr(), file=output)
    query = parse_qs(urlsplit(back).query)
    secret = installed.bot.environ["SLACK_CLIENT_SECRET"]
    for word in (query["code"][0], query["state"][0], secret, installed.bot.slack.second.first.token):
        assert word not in output.getvalue()
    assert any(line["event"] == "installed" for line in lines)


async def test_both_workspaces_install_and_each_again(installed: Installed) -> None:
    await installed.browser.install(FIRST)
    await installed.browser.install(SECOND)
    await installed.browser.install(SECOND)
    assert sorted(await names(installed)) == sorted([FIRST, SECOND])


async def test_without_a_client_id_there_are_no_pages(tmp_path: Path) -> None:
    from tests.bot.harness import bot_inside, open_harness

    async with open_harness(tmp_path) as bot, bot_inside(bot):
        assert (await bot.get("/slack/install"))[0] == 404
        assert (await bot.get("/slack/oauth_redirect"))[0] == 404
