"""What people do with modals: submit, close, look for options; and what the app's answer does to the stack."""

from __future__ import annotations

from typing import Any

from sandbox.slack.people import input_values
from sandbox.slack.people.people import ImpossibleActError, People
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Channel, Json, Message, User
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.delivery import Ack

TROUBLE = "We had some trouble connecting. Try again?"


async def submit(people: People, *, user: User, values: Json, offered: list[Json] | None = None) -> Json:
    """Press the submit button of the modal in front; answers errors by block id and the view then in front."""
    view = _front(people, user)
    state = input_values.state(view["blocks"], values, offered=offered)
    errors = input_values.missing(view["blocks"], state)
    if errors:
        return {"errors": errors, "view": view, "ack": None}
    trigger = people.world.triggers.issue(
        user=user.id, channel=None, now=people.world.clock.now(), from_view=True
    )
    payload = payloads.view_submission(
        view, user=user, state=state, token=people.token, trigger_id=trigger.id
    )
    ack = await people.delivery.ask("interactive", payload, name=f"submit {view['callback_id']}"[:120])
    return {**_obey(people, user, view, ack), "ack": ack.to_json(), "view": people.stage.top(user.id)}


def _front(people: People, user: User) -> Json:
    view = people.stage.top(user.id)
    if view is None:
        raise ImpossibleActError(f"no modal is open for {user.name}")
    return view


def _obey(people: People, user: User, view: Json, ack: Ack) -> Json:
    if not ack.ok:
        return {"errors": {"": TROUBLE}, "error": ack.error}
    body = ack.body if isinstance(ack.body, dict) else {}
    try:
        return _respond(people, user, view, body)
    except Refusal as refusal:
        return {"errors": {"": TROUBLE}, "error": refusal.error, "messages": list(refusal.messages)}


def _respond(people: People, user: User, view: Json, body: Json) -> Json:
    kind = body.get("response_action")
    if kind == "errors":
        return {"errors": _known_errors(view, body.get("errors"))}
    if kind == "update":
        people.stage.update(view, body.get("view"))
    elif kind == "push":
        people.stage.push(user.id, body.get("view"))
    elif kind == "clear":
        people.stage.clear(user.id)
    elif kind is None:
        people.stage.close(user.id)
    else:
        raise Refusal("invalid_response_action", messages=[f"unknown response_action: {kind}"])
    return {"errors": {}}


def _known_errors(view: Json, errors: Any) -> dict[str, str]:
    """Errors have to name input blocks of the view; others make the submission fail."""
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
        raise Refusal(
            "invalid_errors", messages=[f"errors must name input blocks: {', '.join(sorted(inputs))}"]
        )
    return {str(name): str(text) for name, text in errors.items()}


async def close(people: People, *, user: User, everything: bool = False) -> Json:
    """Close the modal in front, or the whole stack; the app hears of it if it asked to."""
    view = _front(people, user)
    everything = everything or view["clear_on_close"]
    gone = (
        [people.world.views[name] for name in reversed(people.world.stacks[user.id])]
        if everything
        else [view]
    )
    if everything:
        people.stage.clear(user.id)
    else:
        people.stage.close(user.id)
    for one in gone:
        if one["notify_on_close"]:
            payload = payloads.view_closed(one, user=user, token=people.token, cleared=everything)
            await people.delivery.ask("interactive", payload, name=f"close {one['callback_id']}"[:120])
    return {"view": people.stage.top(user.id)}


async def suggest(people: People, *, user: User, source: Json | Message, element: Json) -> Json:
    """Type into an external select; answers the options that the app offers."""
    view = source if isinstance(source, dict) else None
    blocks = source["blocks"] if isinstance(source, dict) else source.blocks
    found = input_values.find(blocks, action_id=element.get("action_id"), block_id=element.get("block_id"))
    if found is None:
        raise ImpossibleActError("no such element")
    block, wanted = found
    payload = payloads.suggestion(
        wanted,
        block_id=block["block_id"],
        value=str(element.get("value") or ""),
        user=user,
        token=people.token,
        container=_container(source),
        view=view,
    )
    ack = await people.delivery.ask("interactive", payload, name=f"options {wanted['action_id']}"[:120])
    body = ack.body if ack.ok and isinstance(ack.body, dict) else {}
    return {"ack": ack.to_json(), "options": input_values.options(body)[:100]}


def _container(source: Json | Message) -> Json:
    if isinstance(source, dict):
        return {"type": "view", "view_id": source["id"]}
    return {"type": "message", "message_ts": source.ts, "channel_id": source.channel, "is_ephemeral": False}


async def shortcut(
    people: People,
    callback_id: str,
    *,
    user: User,
    channel: Channel | None = None,
    message: Message | None = None,
) -> Json:
    """Choose a global shortcut, or one of a message's menu."""
    now = people.world.clock.now()
    trigger = people.world.triggers.issue(user=user.id, channel=channel.id if channel else None, now=now)
    if message is None or channel is None:
        payload = payloads.global_shortcut(callback_id, user=user, token=people.token, trigger_id=trigger.id)
    else:
        reply = people.world.triggers.open_reply(
            user=user.id, channel=channel.id, now=now, message_ts=message.ts
        )
        payload = payloads.message_shortcut(
            callback_id,
            user=user,
            channel=channel,
            message=message,
            token=people.token,
            trigger_id=trigger.id,
            response_url=people.replies.url(reply),
        )
    ack = await people.delivery.ask("interactive", payload, name=f"shortcut {callback_id}"[:120])
    return {"ack": ack.to_json(), "trigger_id": trigger.id}
