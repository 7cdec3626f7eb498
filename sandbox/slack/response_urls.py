"""Answers through a `response_url`, which are the only way to change an ephemeral message."""

from __future__ import annotations

from typing import Any

from sandbox.slack import seed
from sandbox.slack.content import checked_content
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json
from sandbox.slack.workspace import ResponseUrl, Workspace


def address(workspace: Workspace, url: ResponseUrl) -> str:
    return f"{workspace.origin}/actions/{seed.TEAM.id}/{url.id}"


def receive(workspace: Workspace, name: str, body: Any) -> None:
    """Carry out one use of a response address.

    Raises `SlackError` (expired_url, used_url, ratelimited, and those of posting).
    """
    url = workspace.response_urls.get(name)
    if url is None:
        raise SlackError("expired_url")
    workspace.limits.take(
        f"answers in {url.channel}",
        rate=workspace.settings.answers_per_second,
        burst=workspace.settings.answers_burst,
    )
    if not isinstance(body, dict):
        raise SlackError("invalid_payload")
    url.use(now=workspace.clock.now())
    respond(workspace, url, body)


def respond(workspace: Workspace, url: ResponseUrl, body: Json) -> None:
    """Answer, change or delete as `body` asks. Raises `SlackError`.

    A slash command has no original: what asks to replace or delete one is posted again
    (https://github.com/slackapi/bolt-python/issues/1268).
    """
    channel = workspace.channels[url.channel]
    source = channel.find(url.message_ts) if url.message_ts else None
    if source is not None and _is_true(body.get("delete_original")):
        workspace.delete(source)
        return
    content = checked_content(body, workspace.block_problems)
    # Without a word about it, an answer to a click takes the place of what was clicked.
    if source is not None and _is_true(body.get("replace_original", True)):
        if "metadata" not in body:
            content["metadata"] = source.metadata
        workspace.change(source, **content)
        return
    refuse_if(channel.is_archived, "is_archived")
    is_public = body.get("response_type") == "in_channel"
    workspace.post(
        channel,
        user=seed.BOT.id,
        app=seed.APP,
        seen_by=None if is_public else url.user,
        # A click in a thread is answered there only where the answer names the thread:
        # https://docs.slack.dev/interactivity/handling-user-interaction#publishing_in_thread
        thread_ts=body.get("thread_ts"),
        **content,
    )


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"
