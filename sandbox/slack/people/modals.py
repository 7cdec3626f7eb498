"""What people do with modals: submit, close, look for options; and how the app's answer changes the stack."""

from __future__ import annotations

from typing import Any

from sandbox.slack.people import input_values
from sandbox.slack.people.people import People
from sandbox.slack.state.errors import InvalidActionError, SlackError
from sandbox.slack.state.model import Json, Message, User
from sandbox.slack.to_bot import payloads
from sandbox.slack.to_bot.delivery import Ack

CONNECTION_TROUBLE = "We had some trouble connecting. Try again?"


async def submit(people: People, *, user: User, values: Json, offered: list[Json] | None = None) -> Json:
    """Press the submit button of the modal in front; answers errors by block id and the view then in front."""
    view = _top(people, user)
    state = input_values.state(view["blocks"], values, offered=offered)
    errors = input_values.missing(view["blocks"], state)
    if errors:
        return {"errors": errors, "view": view, "ack": None}
    to = people.app_of(view)
    ack = await people.interact(
        "view_submission",
        to=to,
        user=user,
        name=f"submit {view['callback_id']}",
        trigger_id=people.issue_trigger(to.app, user, from_view=True).id,
        view={**view, "state": state},
        response_urls=[],
    )
    answer = _apply_answer(people, user, view, ack)
    return {**answer, "ack": ack.to_json(), "view": people.views.top(user.id)}


def _top(people: People, user: User) -> Json:
    view = people.views.top(user.id)
    if view is None:
        raise InvalidActionError(f"no modal is open for {user.name}")
    return view


def _apply_answer(people: People, user: User, view: Json, ack: Ack) -> Json:
    """Carry out the `response_action`; what Slack cannot carry out makes the submission fail."""
    if not ack.ok:
        return {"errors": {"": CONNECTION_TROUBLE}, "error": ack.error}
    try:
        return {"errors": _respond(people, user, view, ack.body if isinstance(ack.body, dict) else {})}
    except SlackError as error:
        messages = list(error.messages)
        return {"errors": {"": CONNECTION_TROUBLE}, "error": error.error, "messages": messages}


def _respond(people: People, user: User, view: Json, body: Json) -> dict[str, str]:
    match body.get("response_action"):
        case "errors":
            return _input_errors(view, body.get("errors"))
        case "update":
            people.views.update(view, body.get("view"), app=people.app_of(view).app)
        case "push":
            people.views.push(user.id, body.get("view"), app=people.app_of(view).app)
        case "clear":
            people.views.clear(user.id)
        case None:
            people.views.close(user.id)
        case kind:
            raise SlackError("invalid_response_action", messages=[f"unknown response_action: {kind}"])
    return {}


def _input_errors(view: Json, errors: Any) -> dict[str, str]:
    """Errors have to name input blocks of the view."""
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
        known = ", ".join(sorted(inputs))
        raise SlackError("invalid_errors", messages=[f"errors must name input blocks: {known}"])
    return {str(name): str(text) for name, text in errors.items()}


async def close(people: People, *, user: User, everything: bool = False) -> Json:
    """Close the modal in front, or the whole stack; the app is notified if it asked for it."""
    view = _top(people, user)
    everything = everything or view["clear_on_close"]
    stack = people.world.stacks[user.id]
    closed = [people.world.views[name] for name in reversed(stack)] if everything else [view]
    if everything:
        people.views.clear(user.id)
    else:
        people.views.close(user.id)
    for one in closed:
        if one["notify_on_close"]:
            to, name = people.app_of(one), f"close {one['callback_id']}"
            await people.interact("view_closed", to=to, user=user, name=name, view=one, is_cleared=everything)
    return {"view": people.views.top(user.id)}


async def suggest(people: People, *, user: User, source: Json | Message, element: Json) -> Json:
    """Type into an external select; answers the options that the app offers, none where Slack can't ask it."""
    to = people.app_of_message(source) if isinstance(source, Message) else people.app_of(source)
    if not (to.settings.loads_options or to.delivery.by_socket):
        return {"ack": None, "options": []}
    if isinstance(source, Message):
        blocks, place = source.blocks, {"container": payloads.message_container(source)}
    else:
        blocks = source["blocks"]
        place = {"container": {"type": "view", "view_id": source["id"]}, "view": source}
    block, chosen = input_values.find(blocks, element)
    ack = await people.interact(
        "block_suggestion",
        to=to,
        user=user,
        name=f"options {chosen['action_id']}",
        action_id=chosen["action_id"],
        block_id=block["block_id"],
        value=str(element.get("value") or ""),
        **place,
    )
    body = ack.body if ack.ok and isinstance(ack.body, dict) else {}
    return {"ack": ack.to_json(), "options": input_values.options(body)[:100]}
