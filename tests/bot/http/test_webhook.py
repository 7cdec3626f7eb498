from __future__ import annotations

import asyncio
import json

import pytest

from tests.bot.harness import BotHarness, interested, signature
from tests.waiting import until


async def test_a_signed_delivery_is_answered_200_and_posted_once(bot: BotHarness) -> None:
    assert await bot.deliver(interested(1)) == 200
    assert list((await bot.until_posted(1)).values()) == [1]


async def test_an_identical_body_is_the_same_delivery_and_raises_the_count_on_its_message(
    bot: BotHarness,
) -> None:
    for _ in range(3):
        assert await bot.deliver(interested(1)) == 200

    async def counted() -> bool:
        return "received 3×" in json.dumps(await bot.messages(), ensure_ascii=False)

    await until(counted)
    assert list((await bot.posted()).values()) == [1]


async def test_every_wrong_signature_is_refused_and_nothing_is_kept(bot: BotHarness) -> None:
    body = interested(1)
    good = signature(body)
    flipped = [good[:at] + ("0" if good[at] != "0" else "1") + good[at + 1 :] for at in range(len(good))]
    for header in [*flipped, "", "é", "0" * 10_000, f"sha256={good}", signature(body, "other")]:
        assert await bot.deliver(body, headers={"X-Service-Signature": header}) == 401, header[:80]
    assert await bot.deliver(body, headers={}) == 401
    assert bot.running is not None
    assert (await bot.running.store.records.summary("default")).last_delivery_at is None


async def test_two_signature_headers_are_refused_even_when_one_is_right(bot: BotHarness) -> None:
    body = interested(1)
    assert (
        await raw(bot, body, [("X-Service-Signature", signature(body)), ("X-Service-Signature", "00")]) == 401
    )
    assert await raw(bot, body, [("X-Service-Signature", signature(body).upper())]) == 200


async def test_a_body_of_a_mebibyte_passes_and_one_byte_more_does_not(bot: BotHarness) -> None:
    for size, status in ((1024 * 1024, 200), (1024 * 1024 + 1, 413)):
        body = b'{"event":"x","pad":"' + b"p" * (size - 22) + b'"}'
        assert len(body) == size
        assert await bot.deliver(body) == status


async def test_a_body_without_an_announced_length_is_capped_while_it_streams(bot: BotHarness) -> None:
    sent = 0

    async def endless() -> object:
        nonlocal sent
        for _ in range(64):
            sent += 65_536
            yield b"x" * 65_536

    url = f"{bot.url}/webhooks/outreach"
    async with bot.http.post(url, data=endless(), headers={"X-Service-Signature": "0" * 64}) as answer:
        assert answer.status == 413


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"\xff\xfe", b"[]", b"[" * 100_000, b'{"a":1,"a":2}', b'{"event":"brand.new"}'],
    ids=["empty", "no-json", "no-utf8", "array", "deep", "duplicate-keys", "unknown-event"],
)
async def test_a_signed_body_with_an_unknown_event_is_kept_and_counted(bot: BotHarness, body: bytes) -> None:
    assert await bot.deliver(body) == 200
    assert bot.running is not None
    store = bot.running.store

    async def counted() -> bool:
        return (await store.records.summary("default")).unreadable == 1

    await until(counted)
    assert await bot.posted() == {}


async def test_an_unknown_workspace_is_404_and_the_default_one_can_be_named(bot: BotHarness) -> None:
    assert await bot.deliver(interested(1), path="/nobody") == 404
    assert await bot.deliver(interested(1), path="/default") == 200
    assert await bot.deliver(interested(1)) == 200
    await bot.until_posted(1)
    assert list((await bot.posted()).values()) == [1]


async def test_a_sender_that_disconnects_early_affects_no_other(bot: BotHarness) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", bot.port)
    writer.write(b"POST /webhooks/outreach HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nhalf")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert await bot.deliver(interested(1)) == 200


async def raw(bot: BotHarness, body: bytes, headers: list[tuple[str, str]]) -> int:
    """A request with exactly these headers, doubled names too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bot.port)
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
