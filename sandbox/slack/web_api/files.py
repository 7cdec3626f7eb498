"""files.*: the two calls around an upload (docs.slack.dev/messaging/working-with-files)."""

from __future__ import annotations

import mimetypes
import secrets
from typing import Any

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Channel, Json
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.world.world import World

MAX_BYTES = 50 * 1024 * 1024
USABLE_AFTER = 3.0
"""Seconds from the end of an upload until a block may show it; how long Slack takes is nowhere promised."""


@method("files.getUploadURLExternal", scope="files:write", tier=4)
def upload_url(call: Call) -> Json:
    """Where to send the bytes of a file."""
    name, length = str(call.require("filename")), str(call.require("length"))
    if not length.isdecimal() or int(length) < 1:
        raise SlackError("invalid_arguments", messages=["must be a positive integer [json-pointer:/length]"])
    refuse_if(int(length) > MAX_BYTES, "file_upload_size_restricted")
    known = register(call.world, name, size=int(length))
    return {
        "upload_url": f"{call.workspace.origin}/upload/{known['id']}/{known['key']}",
        "file_id": known["id"],
    }


def register(world: World, name: str, *, size: int) -> Json:
    """Make room for a file whose bytes are to come."""
    file_id = f"F{secrets.token_hex(5).upper()}"
    known = {"id": file_id, "name": name, "size": size, "key": secrets.token_urlsafe(18)}
    world.files[file_id] = known
    return known


@method("files.completeUploadExternal", scope="files:write", tier=4)
def complete(call: Call) -> Json:
    """Finish uploads and share them."""
    entries = call.require("files")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SlackError("invalid_arguments", messages=["must be an array [json-pointer:/files]"])
    files = [_finished(call, entry) for entry in entries]
    names = str(call.args.get("channel_id") or call.args.get("channels") or "")
    for name in [part for part in names.split(",") if part]:
        _share(call, call.world.bot_channel(name, call.app), files)
    return {"files": files}


def _finished(call: Call, entry: Json) -> Json:
    known = call.world.files.get(str(entry.get("id")))
    if known is None or known["id"] not in call.world.contents:
        raise SlackError("file_not_found")
    described = file_object(known, origin=call.workspace.origin, title=entry.get("title"))
    known |= {"usable_at": call.workspace.clock.now() + USABLE_AFTER, "address": described["url_private"]}
    return described


def file_object(known: Json, *, origin: str, title: str | None = None) -> Json:
    """A file that has been uploaded, as Slack describes it."""
    address = f"{origin}/files/{known['id']}/{known['key']}"
    return {
        "id": known["id"],
        "name": known["name"],
        "title": title or known["name"],
        "mimetype": mimetypes.guess_type(known["name"])[0] or "application/octet-stream",
        "filetype": known["name"].rpartition(".")[2],
        "size": known["size"],
        "url_private": address,
        "url_private_download": address,
        "permalink": address,
    }


def _share(call: Call, channel: Channel, files: list[Json]) -> None:
    refuse_if(channel.is_archived, "is_archived")
    refuse_if(call.bot not in channel.members, "not_in_channel")
    details: dict[str, Any] = {
        "files": files,
        "app": call.app,
        "thread_ts": call.args.get("thread_ts") or None,
    }
    call.world.post(channel, user=call.bot, text=str(call.args.get("initial_comment") or ""), **details)


def _known(call: Call) -> Json:
    known = call.world.files.get(str(call.require("file")))
    if known is None or "usable_at" not in known:
        raise SlackError("file_not_found")
    return known


@method("files.info", scope="files:read", tier=4)
def files_info(call: Call) -> Json:
    return {"file": file_object(_known(call), origin=call.workspace.origin), "comments": []}


@method("files.list", scope="files:read", tier=3)
def files_list(call: Call) -> Json:
    """The files that were uploaded, the newest first."""
    found = [one for one in reversed(call.world.files.values()) if "usable_at" in one]
    shown = [file_object(one, origin=call.workspace.origin) for one in found]
    return {"files": shown, "paging": {"count": 100, "total": len(shown), "page": 1, "pages": 1}}


@method("files.delete", scope="files:write", tier=3)
def files_delete(call: Call) -> Json:
    """Delete a file; messages keep its name."""
    known = _known(call)
    del call.world.files[known["id"]]
    call.world.contents.pop(known["id"], None)
    return {}
