"""Deliveries: each accepted one is on disk, is shown once, and nothing else is."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import sqlite3

import aiohttp
import psutil
import pytest

from tests.kit import Team, bounced, interested, paused_domain, signature


async def test_an_interested_reply_is_a_card_with_who_wrote_what(team: Team) -> None:
    assert await team.deliver(interested("Ada")) == 200
    card = await team.card("Ada")
    assert "Acme" in card.shown
    assert "Yes, call me." in card.shown
    assert "Q3 founders · ada@acme.example" in card.shown
    assert "Claim" in card.buttons
    # What a salesperson doesn't act on stands in the details, and not on the card.
    assert not [word for word in ("sam@mail.example", "step 2", "18 Nov") if word in card.shown]


async def test_a_reply_that_is_delivered_again_stays_one_message(team: Team) -> None:
    body = interested("Ada")
    # The service repeats a delivery until it is answered, and after an answer that was lost too.
    paths = ("", "/default", "/DEFAULT")
    assert [await team.deliver(body, path=path) for path in paths] == [200, 200, 200]
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    assert len([one for one in await team.messages() if "Ada" in one.shown]) == 1


async def test_metrics_count_a_repeat(team: Team) -> None:
    """The counter is this process's, so it begins anywhere."""
    body, name = interested("Ada"), "outreach_repeats_total"
    await team.deliver(body)
    await team.card("Ada")
    before = sum(await team.metrics(name))
    await team.deliver(body)

    async def counted() -> bool:
        return sum(await team.metrics(name)) == before + 1

    assert await team.until(counted)


async def test_an_accepted_delivery_is_posted_after_the_bot_was_stopped(team: Team) -> None:
    # Slack refuses the first tries: the message still waits when the bot is stopped.
    await team.act("faults", method="chat.postMessage", kind="error", error="internal_error", times=3)
    assert await team.deliver(interested("Ada")) == 200
    await team.restart()
    await team.card("Ada")
    assert len([one for one in await team.messages() if one.alert_id]) == 1


@pytest.mark.parametrize("kind", ["delay", "accept_then_cut"])
async def test_a_kill_with_posts_in_flight_loses_and_repeats_nothing(
    real_time: None, team: Team, kind: str
) -> None:
    names = ["Ada", "Grace", "Lena"]
    await team.stop()
    async with team.process() as process:
        # Late, so that the kill meets a post that Slack has or may have.
        await team.act("faults", method="chat.postMessage", kind=kind, delay=0.4, times=2)
        assert [await team.deliver(interested(name)) for name in names] == [200, 200, 200]

        async def in_flight() -> bool:
            faults = (await team.query("state"))["faults"]
            return not faults or faults[0]["times"] < 2

        # A fault is counted down as its request comes in, before Slack answers.
        await team.until(in_flight, "the first post is under way")
        process.kill()
        await process.wait()
    await team.start()
    for name in names:
        await team.card(name)
    await team.settled()
    assert sorted((await team.posted()).values()) == [1, 1, 1]


async def test_a_post_without_an_answer_is_looked_up_and_not_repeated(team: Team) -> None:
    """Slack has the message, and the connection broke before it said so."""
    await team.act("faults", method="chat.postMessage", kind="accept_then_cut")
    await team.deliver(interested("Ada"))
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    await team.settled()
    assert sorted((await team.posted()).values()) == [1, 1]


async def test_a_post_that_never_arrived_is_repeated(team: Team) -> None:
    await team.act("faults", method="chat.postMessage", kind="cut")
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    await team.settled()
    assert sorted((await team.posted()).values()) == [1]


async def test_one_message_whose_fate_is_unknown_delays_no_other(team: Team) -> None:
    """The look-up fails for good, and what comes after is posted all the same."""
    await team.act("faults", method="chat.postMessage", kind="cut")
    # Without its look-ups, the bot never learns if the first message is there.
    await team.act("faults", method="conversations.history", kind="status", status=500, times=None)
    await team.deliver(interested("Ada"))
    await team.deliver(interested("Grace"))
    assert (await team.card("Grace")).title.startswith("🟢 Grace at Acme")
    assert len(await team.traffic("conversations.history")) > 0, "Ada's message is still being looked up"


@pytest.mark.parametrize("kind", ["rate_limited", "garbage", "status"])
async def test_a_slack_in_trouble_loses_and_repeats_nothing(team: Team, kind: str) -> None:
    await team.act("faults", method="chat.postMessage", kind=kind, retry_after=1, times=2)
    for name in ("Ada", "Grace"):
        assert await team.deliver(interested(name)) == 200
    for name in ("Ada", "Grace"):
        await team.card(name)
    await team.settled()
    assert sorted((await team.posted()).values()) == [1, 1]


async def test_a_refused_edit_is_posted_anew(team: Team) -> None:
    """Slack lets nobody edit a message that is too old; the claim is then told in its thread."""
    await team.deliver(interested("Ada"))
    card = await team.card("Ada")
    await team.act("faults", method="chat.update", kind="error", error="edit_window_closed", times=None)
    await team.click(card, "Claim")
    assert "@ann" in (await team.in_thread(card, "@ann")).shown


async def test_what_slack_refuses_for_good_is_reported_with_its_own_word(team: Team) -> None:
    await team.act("faults", method="chat.postMessage", kind="error", error="ekm_access_denied", times=None)
    await team.deliver(interested("Ada"))

    async def named(path: str) -> bool:
        return "ekm_access_denied" in (await team.get(path))[1]

    await team.until(lambda: named("/readyz"), "readyz")
    assert "ekm_access_denied" in (await team.ask("status")).shown
    await team.act("faults", clear=True)
    # A channel that refuses everything is tried again after ten minutes at most.
    await team.pass_time(minutes=11)
    await team.card("Ada")


async def test_an_answer_that_slack_does_not_draw_is_sent_as_plain_text(team: Team) -> None:
    # Slack refuses a whole message for one block that it doesn't know.
    await team.act("settings", refused_blocks=["data_table", "table", "rich_text", "actions", "context"])
    await team.deliver(interested("Ada"))
    assert "Yes, call me." in (await team.card("Ada")).data["text"]
    assert "Sequences" in (await team.ask("status")).shown


async def test_a_delivery_without_a_good_signature_is_refused(team: Team) -> None:
    assert await team.deliver(interested("Mallory"), headers={}) == 401
    for wrong in ("", "é", "0" * 64, "0" * 10_000):
        headers = {"X-Service-Signature": wrong}
        assert await team.deliver(interested("Mallory"), headers=headers) == 401, wrong[:70]
    assert await team.deliver(interested("Mallory"), path="/nobody") == 404
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert not any("Mallory" in one.shown for one in await team.messages())


async def test_a_delivery_over_1_mib_is_refused(team: Team) -> None:
    # The reply alone is 1 MiB, and the object around it makes the body larger.
    assert await team.deliver(interested("Ada", reply="x" * (1 << 20))) == 413


async def test_a_signed_body_that_is_no_event_is_answered_200_and_shown_in_status(team: Team) -> None:
    body = b"this isn't JSON"
    assert await team.deliver(body, headers={"X-Service-Signature": signature(body)}) == 200

    async def shown() -> bool:
        answer = await team.ask("status")
        return "couldn't be read" in answer.shown or "unreadable" in answer.shown.lower()

    assert await team.until(shown)


async def test_a_delivery_of_no_known_shape_is_answered_200(team: Team) -> None:
    odd = (b"[]", b"{}", b'{"event": "lead.flew_away"}', b"null", b"\xff\xfe")
    for body, name in zip(odd, ("Ada", "Bea", "Cora", "Dora", "Ella"), strict=True):
        assert await team.deliver(body) == 200, body
        await team.deliver(interested(name))
        await team.card(name)


async def test_intake_goes_on_while_slack_is_down_from_the_start(team: Team) -> None:
    # Every method, auth.test included: the bot starts without knowing who it is.
    await team.act("faults", method="*", kind="status", status=503, times=None)
    await team.restart()
    assert await team.deliver(interested("Ada")) == 200
    status, body = await team.get("/readyz")
    assert status == 200
    assert '"slack": "ok"' not in body
    await team.act("faults", clear=True)
    # A channel that refuses everything is tried again after ten minutes at most.
    await team.pass_time(minutes=11)
    await team.card("Ada")


async def test_healthz_and_readyz_answer(team: Team) -> None:
    assert (await team.get("/healthz"))[0] == 200
    status, body = await team.get("/readyz")
    assert status == 200
    assert json.loads(body)["ready"] is True


async def test_a_bounce_is_counted_and_not_posted(team: Team) -> None:
    await team.deliver(bounced("Bob"))
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert not any("bob@gone.example" in one.shown for one in await team.messages())


async def test_a_kind_that_a_channel_subscribes_to_is_posted_there(team: Team) -> None:
    await team.ask("subscribe lead.bounced here")
    await team.deliver(bounced("Bob"))
    assert "bob@gone.example" in (await team.card("bob@gone.example")).shown


async def test_a_paused_domain_is_told_with_its_reason_at_once(team: Team) -> None:
    await team.deliver(paused_domain("mail.example", reason="Bounce rate 7.1%"))
    card = await team.card("mail.example is paused")
    assert "Bounce rate 7.1%" in card.shown
    assert "Acknowledge" in card.buttons


async def test_one_incident_of_a_domain_is_one_card(team: Team) -> None:
    await team.deliver(paused_domain("mail.example"))
    await team.card("mail.example is paused")
    await team.deliver(paused_domain("mail.example", reason="Bounce rate 7.2%"))
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert len([one for one in await team.messages() if "mail.example is paused" in one.title]) == 1


async def test_a_repeat_changes_nothing_that_people_see(team: Team) -> None:
    body = interested("Ada")
    await team.deliver(body)
    before = (await team.card("Ada")).data
    await team.deliver(body)
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    # A repaint would come some looks later: each command gives the bot time for one.
    for _ in range(20):
        assert (await team.card("Ada")).data == before
        await team.ask("whoami")


async def test_a_reply_and_its_interest_are_one_card(team: Team) -> None:
    """The service tells of an interested reply twice, as a reply and as an interested one."""
    await team.ask("subscribe lead.replied here")
    await team.deliver(interested("Ada", event="lead.replied"))
    first = await team.card("Ada")
    await team.deliver(interested("Ada"))
    card = await team.changed(first, "interested")
    assert card.ts == first.ts
    assert len([one for one in await team.mentioned() if "Ada at Acme" in one.shown]) == 1


async def test_a_paused_domain_is_told_again_once_its_incident_has_ended(team: Team) -> None:
    body = paused_domain("useacme.example")
    await team.deliver(body)
    first = await team.card("useacme.example is paused")
    # The same body: where the incident of before went on, it would be a repeat that changes nothing.
    await team.pass_time(hours=30)
    await team.deliver(body)

    async def told() -> bool:
        known = await team.messages()
        return any("useacme.example" in one.shown and one.ts != first.ts for one in known)

    assert await team.until(told, "the second pause")


async def test_every_alert_carries_metadata_with_its_id(team: Team) -> None:
    await team.deliver(interested("Ada"))
    card = await team.card("Ada")
    assert card.data["metadata"]["event_type"] == "outreach_alert"
    assert card.alert_id


async def test_what_a_lead_wrote_mentions_nobody_and_forges_no_link(team: Team) -> None:
    await team.deliver(interested("Ada", reply="<!channel> see <https://evil.example|our bank> *now*"))
    card = await team.card("our bank")
    assert "<!channel>" not in card.mrkdwn
    assert "<https://evil.example|our bank>" not in card.mrkdwn


async def test_a_delivery_that_cannot_be_stored_is_refused_until_it_can(team: Team) -> None:
    """Another program holds the database: the service sends the delivery again, as the 503 says."""
    body = interested("Ada")
    with contextlib.closing(sqlite3.connect(team.state_dir / "bot.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        signed = {"X-Service-Signature": signature(body)}
        async with team.http.post(f"{team.url}/webhooks/outreach", data=body, headers=signed) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        status, ready = await team.ready()
        assert (status, ready["database"]) == (503, "no response")
    assert await team.deliver(body) == 200
    assert (await team.ready())[0] == 200
    await team.card("Ada")
    await team.settled()
    assert sorted((await team.posted()).values()) == [1]


async def test_a_bot_whose_database_was_replaced_takes_nothing_and_ends_with_a_sentence(team: Team) -> None:
    await team.stop()
    answers = set[int]()
    with pytest.raises(Exception, match="was deleted or replaced while the bot ran"):  # noqa: PT012
        async with team.serving():
            assert await team.deliver(interested("Ada")) == 200
            (team.state_dir / "bot.db").rename(team.state_dir / "moved.db")
            # It notices it when it writes: no delivery until then may be answered 200.
            with contextlib.suppress(aiohttp.ClientConnectionError):  # it no longer listens
                while True:
                    answers.add(await team.deliver(interested("Grace")))
    assert answers <= {503}


async def test_two_signature_headers_are_refused_even_when_one_is_right(team: Team) -> None:
    # A proxy in front of the bot could believe the one, and the bot the other.
    body = interested("Ada")
    assert (
        await raw(team, body, [("X-Service-Signature", signature(body)), ("X-Service-Signature", "00")])
        == 401
    )
    # Hexadecimal digits mean the same in capitals.
    assert await raw(team, body, [("X-Service-Signature", signature(body).upper())]) == 200


async def test_a_body_without_an_announced_length_is_capped_while_it_streams(team: Team) -> None:
    sent = 0

    # Chunked, so that no Content-Length can be refused before a byte is read.
    async def endless() -> object:
        nonlocal sent
        for _ in range(64):
            sent += 65_536
            yield b"x" * 65_536

    url = f"{team.url}/webhooks/outreach"
    async with team.http.post(url, data=endless(), headers={"X-Service-Signature": "0" * 64}) as answer:
        assert answer.status == 413


async def test_a_sender_that_disconnects_early_affects_no_other(team: Team) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", team.port)
    writer.write(b"POST /webhooks/outreach HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nhalf")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert await team.deliver(interested("Ada")) == 200


@pytest.mark.parametrize("path", ["/webhooks/outreach", "/slack/events"])
async def test_a_packed_body_is_not_unpacked(team: Team, path: str) -> None:
    # 50 MiB in very few bytes: unpacked before the signature is compared, anyone could fill the memory.
    bomb = gzip.compress(gzip.compress(b" " * 50 * 2**20, 1), 9)
    headers = {"Content-Encoding": "gzip, gzip", "X-Service-Signature": "00"}
    before = psutil.Process().memory_info().rss
    async with team.http.post(f"{team.url}{path}", data=bomb, headers=headers) as answer:
        assert answer.status == 401
    assert psutil.Process().memory_info().rss - before < 20 * 2**20


async def raw(team: Team, body: bytes, headers: list[tuple[str, str]]) -> int:
    """A request with exactly these headers, doubled names too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", team.port)
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    head = (
        f"POST /webhooks/outreach HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    )
    writer.write(f"{head}{''.join(lines)}\r\n".encode() + body)
    status = int((await reader.readline()).split()[1])
    await reader.read()
    writer.close()
    await writer.wait_closed()
    return status
