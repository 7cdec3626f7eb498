"""What ordinary bots call beside messages: channels, pins, bookmarks, schedules, assistants and streams."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Json, Person

ANN, BEN, BOT = seed.ANN.id, seed.BEN.id, seed.BOT.id


async def refusal(client: AsyncWebClient, name: str, /, **args: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await client.api_call(name, json=args)
    return str(caught.value.response["error"])


async def test_a_channel_lives_from_creation_to_archive(client: AsyncWebClient, person: Person) -> None:
    made = (await client.conversations_create(name="launch-2"))["channel"]["id"]
    await client.conversations_invite(channel=made, users=[ANN, BEN])
    await client.conversations_setTopic(channel=made, topic="Friday")
    await client.conversations_setPurpose(channel=made, purpose="All about the launch")
    await client.conversations_rename(channel=made, name="launch-3")
    await client.conversations_kick(channel=made, user=BEN)
    shown = (await client.conversations_info(channel=made))["channel"]
    assert (shown["name"], shown["topic"]["value"], shown["purpose"]["value"], shown["num_members"]) == (
        "launch-3",
        "Friday",
        "All about the launch",
        2,
    )
    ts = (await client.chat_postMessage(channel=made, text="x"))["ts"]
    await client.conversations_mark(channel=made, ts=ts)
    await client.conversations_archive(channel=made)
    assert await refusal(client, "conversations.archive", channel=made) == "already_archived"
    await client.conversations_unarchive(channel=made)
    assert (await client.conversations_leave(channel=made))["ok"]
    assert seed.BOT.id not in (await client.conversations_members(channel=made))["members"]


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("conversations.create", {}, "invalid_name_required"),
        ("conversations.create", {"name": "x" * 81}, "invalid_name_maxlength"),
        ("conversations.create", {"name": "--"}, "invalid_name_punctuation"),
        ("conversations.create", {"name": "Big Launch"}, "invalid_name_specials"),
        ("conversations.create", {"name": "sales"}, "name_taken"),
        ("conversations.invite", {"channel": seed.SALES}, "no_user"),
        ("conversations.invite", {"channel": seed.SALES, "users": "U0NOBODY00"}, "user_not_found"),
        ("conversations.invite", {"channel": seed.SALES, "users": BOT}, "cant_invite_self"),
        ("conversations.invite", {"channel": seed.SALES, "users": ANN}, "already_in_channel"),
        ("conversations.invite", {"channel": seed.GENERAL, "users": ANN}, "not_in_channel"),
        ("conversations.invite", {"channel": seed.ARCHIVED, "users": ANN}, "is_archived"),
        ("conversations.kick", {"channel": seed.SALES, "user": BOT}, "cant_kick_self"),
        ("conversations.kick", {"channel": seed.SALES, "user": seed.GUS.id}, "not_in_channel"),
        ("conversations.setTopic", {"channel": seed.SALES, "topic": "x" * 251}, "too_long"),
        ("conversations.setTopic", {"channel": ANN, "topic": "x"}, "method_not_supported_for_channel_type"),
        ("conversations.rename", {"channel": seed.SALES, "name": "deals"}, "not_authorized"),
        ("conversations.unarchive", {"channel": seed.SALES}, "not_archived"),
        ("conversations.mark", {"channel": seed.SALES, "ts": "now"}, "invalid_timestamp"),
        ("conversations.close", {"channel": seed.SALES}, "method_not_supported_for_channel_type"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": ",".join(f"U{n}" for n in range(9))}, "too_many_users"),
        ("conversations.open", {"users": f"{ANN},U0NOBODY00"}, "user_not_found"),
        ("pins.add", {"channel": seed.SALES}, "no_item_specified"),
        ("pins.add", {"channel": seed.SALES, "timestamp": "soon"}, "bad_timestamp"),
        ("pins.add", {"channel": seed.SALES, "timestamp": "1.1"}, "message_not_found"),
        ("bookmarks.add", {"channel_id": seed.SALES, "title": "x", "type": "file"}, "invalid_bookmark_type"),
        ("bookmarks.add", {"channel_id": seed.SALES, "title": "x", "type": "link"}, "invalid_link"),
        ("bookmarks.edit", {"channel_id": seed.SALES, "bookmark_id": "Bk1"}, "not_found"),
        ("bookmarks.list", {}, "channel_not_found"),
        ("reactions.get", {}, "no_item_specified"),
        ("reactions.list", {"user": "U0NOBODY00"}, "user_not_found"),
        ("chat.scheduleMessage", {"channel": seed.SALES, "text": "x", "post_at": 1}, "time_in_past"),
        ("chat.scheduleMessage", {"channel": seed.SALES, "text": "x", "post_at": 9e9}, "time_too_far"),
        ("chat.scheduleMessage", {"channel": seed.SALES, "text": "x", "post_at": "soon"}, "invalid_time"),
        (
            "chat.deleteScheduledMessage",
            {"channel": seed.SALES, "scheduled_message_id": "Q1"},
            "invalid_scheduled_message_id",
        ),
        ("chat.scheduledMessages.list", {"channel": "C1"}, "invalid_channel"),
        ("chat.meMessage", {"channel": seed.SALES}, "no_text"),
        ("users.lookupByEmail", {"email": "nobody@example.com"}, "users_not_found"),
        ("users.profile.get", {"user": "U0NOBODY00"}, "user_not_found"),
        ("bots.info", {"bot": "B0NOBODY00"}, "bot_not_found"),
        ("team.info", {"team": "T1"}, "team_not_found"),
        ("files.info", {"file": "F1"}, "file_not_found"),
        ("files.delete", {"file": "F1"}, "file_not_found"),
        ("reminders.add", {"text": "x", "time": "1"}, "not_allowed_token_type"),
        ("assistant.threads.setStatus", {"status": "x"}, "channel_not_found"),
        (
            "assistant.threads.setStatus",
            {"channel_id": seed.SALES, "thread_ts": "1.1", "status": "x"},
            "invalid_thread_ts",
        ),
        ("chat.startStream", {"channel": seed.SALES, "thread_ts": "1.1"}, "missing_recipient_user_id"),
        ("chat.appendStream", {"channel": seed.SALES, "ts": "1.1"}, "message_not_found"),
        ("api.test", {"error": "my_error"}, "my_error"),
        ("rtm.connect", {}, "unknown_method"),
    ],
)
async def test_a_call_is_refused_in_the_documented_words(
    client: AsyncWebClient, name: str, args: Json, error: str
) -> None:
    assert await refusal(client, name, **args) == error


async def test_leaving_another_channel_is_no_error(client: AsyncWebClient, person: Person) -> None:
    with pytest.raises(SlackApiError) as caught:
        await client.conversations_leave(channel=seed.GENERAL)
    assert caught.value.response.data == {"ok": False, "not_in_channel": True}


async def test_narrow_scopes_are_enough_for_topics_and_invitations(
    client: AsyncWebClient, person: Person
) -> None:
    await person.do("scopes", remove=["channels:manage"])
    assert await refusal(client, "conversations.setTopic", channel=seed.SALES, topic="x") == "missing_scope"
    await person.do("scopes", add=["channels:write.topic"])
    assert (await client.conversations_setTopic(channel=seed.SALES, topic="x"))["ok"]


async def test_a_group_conversation_is_the_same_each_time(client: AsyncWebClient, person: Person) -> None:
    first = (await client.conversations_open(users=[ANN, BEN], return_im=True))["channel"]
    again = (await client.conversations_open(users=[BEN, ANN]))["channel"]
    assert (first["id"], first["is_mpim"]) == (again["id"], True)
    assert (await client.conversations_list(types="mpim"))["channels"][0]["name"] == "mpdm-ann--ben-1"


async def test_pins_and_bookmarks_come_and_go(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=seed.SALES, text="x"))["ts"]
    await client.pins_add(channel=seed.SALES, timestamp=ts)
    assert await refusal(client, "pins.add", channel=seed.SALES, timestamp=ts) == "already_pinned"
    assert [one["message"]["ts"] for one in (await client.pins_list(channel=seed.SALES))["items"]] == [ts]
    await client.pins_remove(channel=seed.SALES, timestamp=ts)
    assert await refusal(client, "pins.remove", channel=seed.SALES, timestamp=ts) == "no_pin"
    made = await client.bookmarks_add(
        channel_id=seed.SALES, title="Docs", type="link", link="https://x.example"
    )
    name = made["bookmark"]["id"]
    await client.bookmarks_edit(channel_id=seed.SALES, bookmark_id=name, title="Wiki")
    [found] = (await client.bookmarks_list(channel_id=seed.SALES))["bookmarks"]
    assert (found["title"], found["link"]) == ("Wiki", "https://x.example")
    await client.bookmarks_remove(channel_id=seed.SALES, bookmark_id=name)
    assert (await client.bookmarks_list(channel_id=seed.SALES))["bookmarks"] == []


async def test_reactions_are_listed(client: AsyncWebClient, person: Person) -> None:
    ts = (await client.chat_postMessage(channel=seed.SALES, text="x"))["ts"]
    await person.do("reaction", ts=ts, name="eyes", channel="sales")
    got = await client.reactions_get(channel=seed.SALES, timestamp=ts)
    assert got["message"]["reactions"] == [{"name": "eyes", "users": [ANN], "count": 1}]
    listed = await client.reactions_list(user=ANN)
    assert [one["message"]["ts"] for one in listed["items"]] == [ts]


async def test_a_scheduled_message_is_posted_when_its_time_has_come(
    slack: SlackStandIn, client: AsyncWebClient, person: Person
) -> None:
    at = int(slack.clock.now()) + 3600
    kept, gone = [
        (await client.chat_scheduleMessage(channel=seed.SALES, text=text, post_at=at))["scheduled_message_id"]
        for text in ("kept", "gone")
    ]
    listed = (await client.chat_scheduledMessages_list())["scheduled_messages"]
    assert [one["id"] for one in listed] == [kept, gone]
    await client.chat_deleteScheduledMessage(channel=seed.SALES, scheduled_message_id=gone)
    assert (await person.see("messages", channel="sales"))["messages"] == []
    await person.do("clock", advance=3601)
    assert [one["text"] for one in (await person.see("messages", channel="sales"))["messages"]] == ["kept"]
    assert (await client.chat_scheduledMessages_list())["scheduled_messages"] == []


async def test_identity_methods_return_user_and_team(client: AsyncWebClient) -> None:
    assert (await client.users_lookupByEmail(email="ann@example.com"))["user"]["id"] == ANN
    assert (await client.users_profile_get(user=BEN))["profile"]["display_name"] == "ben"
    assert (await client.users_getPresence(user=BEN))["presence"] == "active"
    team = (await client.team_info())["team"]
    bot = (await client.bots_info(bot=seed.APP.bot_id))["bot"]
    assert (team["domain"], bot["user_id"]) == ("outbound-labs", BOT)
    assert (await client.emoji_list())["emoji"] == {}
    assert (await client.api_test(foo="bar"))["args"]["foo"] == "bar"


async def test_a_token_that_was_given_back_is_of_no_use(client: AsyncWebClient) -> None:
    assert (await client.auth_revoke(test=True))["revoked"] is False
    assert (await client.auth_revoke(test=False))["revoked"] is True
    assert await refusal(client, "auth.test") == "token_revoked"


async def test_a_file_is_uploaded_listed_and_deleted(client: AsyncWebClient) -> None:
    done = await client.files_upload_v2(channels=[seed.SALES], content="a,b", filename="a.csv")
    name = done["files"][0]["id"]
    assert (await client.files_info(file=name))["file"]["name"] == "a.csv"
    assert [one["id"] for one in (await client.files_list())["files"]] == [name]
    await client.files_delete(file=name)
    assert await refusal(client, "files.info", file=name) == "file_not_found"


async def test_an_assistant_streams_its_answer(client: AsyncWebClient, person: Person) -> None:
    asked = (await person.do("message", text="How many?", channel="dm"))["message"]
    place = {"channel_id": asked["channel"], "thread_ts": asked["ts"]}
    await client.assistant_threads_setStatus(**place, status="is thinking...")
    await client.assistant_threads_setTitle(**place, title="Counting")
    prompts = [{"title": "More", "message": "Tell me more"}]
    await client.assistant_threads_setSuggestedPrompts(**place, prompts=prompts)
    stream = await client.chat_stream(channel=asked["channel"], thread_ts=asked["ts"], buffer_size=1)
    await stream.append(markdown_text="Forty-")
    await stream.append(markdown_text="two")
    done = await stream.stop()
    assert done["message"]["text"] == "Forty-two"
    assert (
        await refusal(client, "chat.appendStream", channel=done["channel"], ts=done["ts"], markdown_text="!")
        == "message_not_in_streaming_state"
    )


async def test_do_not_disturb_is_that_of_the_person(client: AsyncWebClient, person: Person) -> None:
    await person.do("user", user=ANN, dnd_start=1_800_000_000, dnd_end=1_800_030_000)
    mine = {"dnd_enabled": True, "next_dnd_start_ts": 1_800_000_000, "next_dnd_end_ts": 1_800_030_000}
    none = {"dnd_enabled": False, "next_dnd_start_ts": 1, "next_dnd_end_ts": 1}
    assert (await client.dnd_info(user=ANN)).data == {"ok": True, **mine}
    assert (await client.dnd_teamInfo(users=f"{ANN},{BEN}"))["users"] == {ANN: mine, BEN: none}
    assert await refusal(client, "dnd.teamInfo") == "no_users_provided"
    assert await refusal(client, "dnd.teamInfo", users="U0NOBODY00") == "user_not_visible"
    assert await refusal(client, "dnd.info", user="U0NOBODY00") == "user_not_found"


async def test_a_status_is_in_the_profile_until_it_expires(client: AsyncWebClient, person: Person) -> None:
    ends = int((await person.do("clock", advance=0))["now"]) + 3600
    status: Json = {"status_text": "Vacationing", "status_emoji": ":palm_tree:", "status_expiration": ends}
    await person.do("user", user=ANN, **status)

    async def shown() -> Json:
        profile = (await client.users_info(user=ANN))["user"]["profile"]
        assert (await client.users_profile_get(user=ANN))["profile"] == profile
        return {name: profile[name] for name in status}

    assert await shown() == status
    await person.do("clock", advance=3601)
    assert await shown() == {"status_text": "", "status_emoji": "", "status_expiration": 0}
