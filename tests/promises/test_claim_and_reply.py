"""Claim & reply: one tap claims and opens the person's mail program; a visit alone changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest

from tests.kit import Message, Shell, Team, interested

BUTTON = "Claim & reply"


async def posted(team: Team, name: str = "Ada", **changes: object) -> Message:
    await team.deliver(interested(name, **changes))
    return await team.card(name)


def path_of(card: Message) -> str:
    """Return the path of the card's button on the bot's public address."""
    (link,) = re.findall(r'https?://[^"]+(/reply/[^"]+)', str(card.data["blocks"]).replace("'", '"'))
    return str(link)


async def visit(team: Team, path: str, method: str = "GET") -> tuple[int, str, str]:
    """Open an address, and return the status, the address that it leads to, and the page."""
    async with team.http.request(method, f"{team.url}{path}", allow_redirects=False) as answer:
        return answer.status, answer.headers.get("Location", ""), await answer.text()


async def tap(team: Team, card: Message, user: str = "ann") -> tuple[int, str, str]:
    """Tap: Slack sends the click to the bot, and the browser opens the address."""
    card = await team.present(card)
    label = BUTTON if BUTTON in card.buttons else "Reply"
    _, seen = await asyncio.gather(team.click(card, label, user=user), visit(team, path_of(card)))
    return seen


async def test_one_tap_claims_and_opens_an_addressed_and_quoted_email(team: Team) -> None:
    card = await posted(team)
    status, link, _ = await tap(team, card)
    assert status == 302
    mail = urlsplit(link)
    assert (mail.scheme, mail.path) == ("mailto", "ada@acme.example")
    assert parse_qs(mail.query) == {"body": ["\r\n\r\n> Yes, call me.\r\n"]}, "no subject is invented"
    assert "claimed by @ann" in (await team.changed(card, "@ann")).title


async def test_the_subject_of_the_reply_is_kept(team: Team) -> None:
    card = await posted(team, subject="Your offer")
    _, link, _ = await tap(team, card)
    assert parse_qs(urlsplit(link).query)["subject"] == ["Re: Your offer"]


async def test_who_comes_second_reads_first_who_has_it(team: Team) -> None:
    card = await posted(team)
    assert (await tap(team, card, "ann"))[0] == 302
    status, _, page = await tap(team, card, "ben")
    assert status == 200
    assert "@ann has this reply" in page
    assert 'href="mailto:ada@acme.example' in page
    assert "claimed by @ann" in (await team.present(card)).title


@pytest.mark.usefixtures("late_clicks")
async def test_of_two_who_tap_at_once_one_has_the_reply_and_is_told_so(team: Team) -> None:
    card = await posted(team)
    seen = await asyncio.gather(tap(team, card, "ann"), tap(team, card, "ben"))
    assert sorted(status for status, _, _ in seen) == [200, 302]
    (page,) = [text for status, _, text in seen if status == 200]
    claimed = await team.changed(card, "claimed by")
    assert ("@ann" in page) == ("@ann" in claimed.title)


@pytest.mark.usefixtures("late_clicks")
async def test_who_has_the_reply_gets_to_their_mail_again(team: Team) -> None:
    card = await posted(team)
    await tap(team, card)
    mine = await team.changed(card, "claimed by @ann")
    assert mine.buttons[0] == "Reply"
    assert (await tap(team, mine))[0] == 302
    assert (await tap(team, mine, "ben"))[0] == 200


@pytest.mark.parametrize("line", ["snooze Ada 2h", "claim Ada", "done Ada", "not interested Ada: no budget"])
async def test_an_old_card_leads_where_its_reply_stands_now(team: Team, line: str) -> None:
    card = await posted(team)
    before = (await team.present(card)).title
    await team.ask(line)

    async def changed() -> bool:
        return (await team.present(card)).title != before

    await team.until(changed)
    status, _, page = await visit(team, path_of(card))
    assert status == (302 if "snooze" in line else 200)
    assert ("@ann" in page) == (status == 200)


async def test_a_visit_without_a_click_claims_nothing(team: Team) -> None:
    card = await posted(team)
    for method in ("HEAD", "GET", "HEAD", "GET"):
        assert (await visit(team, path_of(card), method))[0] == 302
    assert (await team.present(card)).data == card.data
    assert (await visit(team, path_of(card), "POST"))[0] == 405


async def test_a_preview_does_not_use_up_the_visit_of_who_clicked(team: Team) -> None:
    card = await posted(team)
    await team.click(card, BUTTON)
    await team.changed(card, "@ann")
    assert (await visit(team, path_of(card), "HEAD"))[0] == 200
    assert [(await visit(team, path_of(card)))[0] for _ in range(2)] == [302, 200]


@pytest.mark.parametrize("change", ["id", "time", "signature", "empty", "long", "odd"])
async def test_a_forged_link_is_not_found(team: Team, change: str) -> None:
    card = await posted(team)
    alert, at, mac = path_of(card).removeprefix("/reply/").split(".")
    forged = {
        "id": f"al_0{alert[4:]}.{at}.{mac}",
        "time": f"{alert}.{int(at) + 1}.{mac}",
        "signature": f"{alert}.{at}.{mac[::-1]}",
        "empty": "",
        "long": "x" * 9_000,
        "odd": "%00%0d%0aLocation:%20x/../%c3%28",
    }[change]
    assert await visit(team, f"/reply/{forged}") == (404, "", "")


async def test_a_link_is_valid_for_thirty_days(team: Team) -> None:
    card = await posted(team)
    await team.pass_time(hours=30 * 24 - 1)
    assert (await visit(team, path_of(card)))[0] == 302
    await team.pass_time(hours=2)
    assert (await visit(team, path_of(card)))[0] == 404


async def test_what_was_forgotten_is_not_found(team: Team, shell: Shell) -> None:
    card = await posted(team)
    shell.use(team.environ)
    run = await shell.type("forget", "ada@acme.example", "--yes")
    assert run.code == 0
    assert (await visit(team, path_of(card)))[0] == 404


async def test_the_link_says_nothing_about_the_lead(team: Team) -> None:
    card = await posted(team)
    assert not re.search(r"ada|acme|mail|@|%40", path_of(card).removeprefix("/reply/al_"), re.IGNORECASE)


async def test_a_click_of_another_team_claims_nothing_and_opens_nothing(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ben")
    await team.changed(card, "@ben")
    await team.click(await team.present(card), "Reply", user="ben")
    await visit(team, path_of(card))
    last = [one for one in await team.traffic("action") if one["direction"] == "to_bot"][-1]["request"]
    foreign = {
        **last,
        "team": {"id": "T0FOREIGN1"},
        "trigger_id": "another",
        "user": {**last["user"], "team_id": "T0FOREIGN1"},
    }
    await team.act("request", body=urlencode({"payload": json.dumps(foreign)}))
    assert (await visit(team, path_of(card)))[0] == 200


HOSTILE = (
    'x"><script>alert(1)</script>\r\nBcc: everyone@evil.example\r\n\r\n<!channel> %0d%0aBcc:%20a@b.example'
)


async def test_hostile_texts_stay_inside_the_email_and_the_page(team: Team) -> None:
    card = await posted(team, reply=HOSTILE, subject=HOSTILE)
    _, link, _ = await tap(team, card)
    assert link.isascii()
    assert not re.search(r"[\s<>\"]", link)
    mail = urlsplit(link)
    assert mail.path == "ada@acme.example"
    assert set(parse_qs(mail.query)) == {"subject", "body"}
    assert "\n" not in unquote(parse_qs(mail.query)["subject"][0].partition("%0d")[0])
    _, _, page = await tap(team, card, "ben")
    assert "<script" not in page
    assert page.count("<a ") == 1


@pytest.mark.parametrize("address", ["ada\r\nbcc: x@evil.example", "a b@acme.example", "not an address", ""])
async def test_an_address_that_is_none_opens_no_email(team: Team, address: str) -> None:
    lead = {"email": address, "first_name": "Ada", "company": "Acme"}
    card = await posted(team, lead=lead)
    assert BUTTON not in card.buttons
    assert "Claim" in card.buttons


async def test_a_long_reply_makes_an_address_of_bounded_length(team: Team) -> None:
    card = await posted(team, reply="Ж" * 20_000)
    _, link, _ = await tap(team, card)
    assert 100 < len(link) < 2_048


async def test_without_a_public_address_there_is_claim_and_the_link(team: Team) -> None:
    del team.environ["OUTREACH_PUBLIC_URL"]
    await team.restart()
    card = await posted(team)
    assert card.buttons[0] == "Claim"
    assert BUTTON not in card.buttons
    assert "mailto:ada@acme.example?body=" in card.mrkdwn
