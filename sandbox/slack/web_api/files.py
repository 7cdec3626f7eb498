"""Files that are uploaded and posted (https://docs.slack.dev/messaging/working-with-files)."""

from __future__ import annotations

import mimetypes
import secrets

from sandbox.slack import seed
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json
from sandbox.slack.web_api.call import Call

MAX_FILE_BYTES = 8 * 1024 * 1024
USABLE_AFTER = 3.0
"""The seconds from an upload until a block may show it; how long Slack takes is not documented."""


def upload_url(call: Call) -> Json:
    """Return where to send the bytes of a file."""
    name, length = str(call.require("filename")), str(call.require("length"))
    if not length.isdecimal() or int(length) < 1:
        line = "must be a positive integer [json-pointer:/length]"
        raise SlackError("invalid_arguments", messages=[line])
    refuse_if(int(length) > MAX_FILE_BYTES, "file_upload_size_restricted")
    id_, key = f"F{secrets.token_hex(5).upper()}", secrets.token_urlsafe(18)
    call.workspace.files[id_] = {"id": id_, "name": name, "size": int(length), "key": key}
    return {"upload_url": f"{call.workspace.origin}/upload/{id_}/{key}", "file_id": id_}


def complete(call: Call) -> Json:
    """Finish uploads, and post them where the call names channels."""
    entries = call.require("files")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        line = "must be an array [json-pointer:/files]"
        raise SlackError("invalid_arguments", messages=[line])
    files = [_finish(call, entry) for entry in entries]
    for name in call.words("channel_id", call.text("channels")):
        channel = call.workspace.channels.get(name)
        if channel is None or not call.is_visible(channel):
            raise SlackError("channel_not_found")
        refuse_if(channel.is_archived, "is_archived")
        refuse_if(seed.BOT.id not in channel.members, "not_in_channel")
        call.workspace.post(
            channel,
            user=seed.BOT.id,
            app=seed.APP,
            text=call.text("initial_comment"),
            thread_ts=call.args.get("thread_ts") or None,
            files=files,
        )
    return {"files": files}


def _finish(call: Call, entry: Json) -> Json:
    known = call.workspace.files.get(str(entry.get("id")))
    if known is None or "bytes" not in known:
        raise SlackError("file_not_found")
    address = f"{call.workspace.origin}/files/{known['id']}/{known['key']}"
    name = known["name"]
    known["described"] = {
        "id": known["id"],
        "name": name,
        "title": entry.get("title") or name,
        "mimetype": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "filetype": name.rpartition(".")[2],
        "size": known["size"],
        "url_private": address,
        "url_private_download": address,
        "permalink": address,
    }
    known["usable_at"] = call.workspace.clock.now() + USABLE_AFTER
    return dict(known["described"])
