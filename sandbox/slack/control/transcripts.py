"""The recorded session: as JSON, as text, and replayed."""

from __future__ import annotations

import difflib
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from sandbox.slack.blockkit.plain_text import plain_text
from sandbox.slack.state.errors import InvalidActionError, SlackError
from sandbox.slack.state.feed import Entry
from sandbox.slack.state.model import Json
from sandbox.slack.state.traffic import Exchange
from sandbox.slack.workspace import Workspace

VERSION = 1
STEP_SECONDS = 5.0
"""How long a replay waits for the bot to post what it posted before the next act of the recording."""
_MENTION = re.compile(r"<(?P<sign>[@#]|!subteam\^)(?P<id>[A-Z0-9]+)(?:\|[^>]*)?>")
_EPOCH = re.compile(r"\b1\d{9}(\.\d{6})?\b")

Act = Callable[[Workspace, Json], Awaitable[Json]]


def readable(workspace: Workspace, text: str) -> str:
    """`text` with names for the ids of people, channels and groups."""

    def name(found: re.Match[str]) -> str:
        world, one = workspace.world, found["id"]
        if found["sign"] == "@" and one in world.users:
            return f"@{world.users[one].name}"
        if found["sign"] == "#" and one in world.channels:
            return f"#{world.channels[one].name}"
        return f"@{world.groups[one].handle}" if one in world.groups else found[0]

    return _MENTION.sub(name, text)


async def transcript(workspace: Workspace, query: Json) -> Json:
    """What happened since the last reset: `transcript` for a file, `text` for people."""
    kept = workspace.world.transcript
    entries = [_to_json(workspace, entry) for entry in kept.entries]
    failures = [one for one in workspace.traffic.exchanges if not one.ok]
    return {
        "transcript": {"version": VERSION, "dropped": kept.dropped, "entries": entries},
        "text": "\n".join(_lines(entries, failures)),
    }


def _to_json(workspace: Workspace, entry: Entry) -> Json:
    user = _name(workspace, entry.user)
    if entry.kind == "act":
        return {"at": entry.at, "kind": "act", "user": user, "act": entry.act, "body": entry.body}
    channel = workspace.world.channels.get(entry.channel)
    shown = plain_text(entry.text, entry.blocks, entry.attachments)
    if entry.kind in ("view", "home"):
        shown = "\n".join(filter(None, (entry.text, plain_text("", entry.blocks))))
    return {
        "at": entry.at,
        "kind": entry.kind,
        "user": user,
        "channel": channel.name if channel else entry.channel,
        "ts": entry.ts,
        "thread_ts": entry.thread_ts,
        "only_for": entry.seen_by and _name(workspace, entry.seen_by),
        "text": readable(workspace, shown),
    }


def _name(workspace: Workspace, user: str) -> str:
    return workspace.world.users[user].name if user in workspace.world.users else user


def _lines(entries: Iterable[Json], failures: Iterable[Exchange]) -> list[str]:
    rows = [(entry["at"], _line(entry)) for entry in entries]
    rows += [(one.at, f"! {one.name}: {one.error}") for one in failures]
    return [f"{time.strftime('%H:%M:%S', time.gmtime(at))} {line}" for at, line in sorted(rows)]


def _line(entry: Json) -> str:
    if entry["kind"] == "act":
        words = " ".join(str(value) for name, value in entry["body"].items() if name not in ("ts", "user"))
        return f"{entry['user']} > {entry['act']} {words}"
    text = entry["text"].replace("\n", "\n           ")
    if entry["kind"] in ("view", "home"):
        return f"  {entry['kind']} of {entry['user']}: {text}"
    place = f"#{entry['channel']}" + (" (thread)" if entry["thread_ts"] else "")
    only = f" (only {entry['only_for']} sees it)" if entry["only_for"] else ""
    verb = "" if entry["kind"] == "posted" else f" {entry['kind']}"
    return f"  {place} {entry['user']}{verb}{only}: {text}"


async def replay(workspace: Workspace, body: Json, *, acts: dict[str, Act]) -> Json:
    """`{transcript}`: start over, let the people act as recorded, and answer how the bot's messages differ."""
    recorded = body["transcript"]
    if not isinstance(recorded, dict) or recorded.get("version") != VERSION:
        raise InvalidActionError(f"transcript: not a recording of version {VERSION}")
    entries = list(recorded["entries"])
    workspace.reset()
    expected: Json = {"posts": 0, "stamps": defaultdict(list)}
    for entry in entries:
        if entry["kind"] == "posted":
            expected["stamps"][entry["channel"]].append(entry["ts"])
            expected["posts"] += 1
        elif entry["kind"] == "act":
            await _settled(workspace, expected["posts"])
            await _act_again(workspace, entry, expected["stamps"], acts)
    await _settled(workspace, expected["posts"])
    again = [_to_json(workspace, entry) for entry in workspace.world.transcript.entries]
    return {"differences": list(_differences(entries, again))}


async def _act_again(workspace: Workspace, entry: Json, stamps: dict[str, list[str]], acts: Any) -> None:
    if entry["act"] not in acts:
        raise InvalidActionError(f"transcript: no act {entry['act']!r}")
    body = dict(entry["body"])
    for name in ("ts", "thread_ts"):
        if body.get(name):
            body[name] = _same_message(workspace, str(body[name]), stamps)
    try:
        await acts[entry["act"]](workspace, body)
    except (InvalidActionError, SlackError) as error:
        raise InvalidActionError(f"{entry['act']} of {entry['user']} can't be repeated: {error}") from error


def _same_message(workspace: Workspace, ts: str, stamps: dict[str, list[str]]) -> str:
    """The message that stands where the recorded one stood: the third of #sales for the third of #sales."""
    now = _stamps(workspace)
    for channel, known in stamps.items():
        if ts in known:
            place = known.index(ts)
            return now[channel][place] if place < len(now[channel]) else ts
    return ts


def _stamps(workspace: Workspace) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for entry in workspace.world.transcript.entries:
        if entry.kind == "posted":
            found[workspace.world.channels[entry.channel].name].append(entry.ts)
    return found


async def _settled(workspace: Workspace, posts: int) -> None:
    """Wait until as many messages were posted as in the recording up to here."""

    def enough() -> bool:
        return sum(map(len, _stamps(workspace).values())) >= posts

    await workspace.feed.until(enough, timeout=STEP_SECONDS)


def _differences(before: Iterable[Json], after: Iterable[Json]) -> Iterable[str]:
    lines = difflib.unified_diff(_public(before), _public(after), "recorded", "replayed", lineterm="", n=0)
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _public(entries: Iterable[Json]) -> list[str]:
    """What everybody could read, without times: channel by channel, as order counts only within one."""
    kept = [one for one in entries if one["kind"] != "act"]
    return [_EPOCH.sub("TIME", _line(one)) for one in sorted(kept, key=lambda one: str(one["channel"]))]
