"""What people do in Slack, and what Slack sends to the bot for it."""

from __future__ import annotations

from typing import Any

from sandbox.slack import inputs, payloads, response_urls, seed
from sandbox.slack.content import checked_content
from sandbox.slack.delivery import Ack, Delivery
from sandbox.slack.errors import InvalidActionError, SlackError
from sandbox.slack.model import Channel, Json, Message, User
from sandbox.slack.views import (
    clear_views,
    close_view,
    open_view,
    top_view,
    update_view,
)
from sandbox.slack.workspace import Workspace

CONNECTION_TROUBLE = "We had some trouble connecting. Try again?"


class People:
    """Everybody in the workspace, acting on it and on the bot.

    `team` is another Slack team that a request says it comes from; empty: the workspace's own.
    """

    def __init__(self, workspace: Workspace, delivery: Delivery) -> None:
        self._workspace = workspace
        self._delivery = delivery

    def person(self, name: str, *, or_bot: bool = False) -> User:
        """Find someone who can act, with `or_bot` also another app's bot.

        Raises `InvalidActionError`.
        """
        try:
            user = self._workspace.user(name)
        except SlackError as error:
            known = [user.name for user in self._workspace.users.values() if not user.is_bot]
            raise InvalidActionError(f"no person {name!r}; there are: {', '.join(known)}") from error
        if user.id == seed.BOT.id or (user.is_bot and not or_bot):
            raise InvalidActionError(f"{name!r} is a bot")
        if user.deleted:
            raise InvalidActionError(f"{user.name} is deactivated")
        return user

    def channel(self, name: str, user: User) -> Channel:
        """Find a conversation that someone is in. Raises `InvalidActionError`."""
        if name == "dm":
            return self._workspace.direct(user.id)
        try:
            channel = self._workspace.channel(name)
        except SlackError as error:
            raise InvalidActionError(f"no channel {name!r}") from error
        if user.id not in channel.members:
            raise InvalidActionError(f"{user.name} is not in {channel.name}")
        return channel

    async def _interact(self, kind: str, *, user: User, name: str, team: str = "", **fields: Any) -> Ack:
        payload = payloads.interaction(kind, self._workspace, user=user, **fields)
        if team:
            payload = payloads.from_team(payload, team)
        return await self._delivery.send("interactive", payload, name=name)

    async def command(self, typed: str, *, user: User, channel: Channel, team: str = "") -> Json:
        """Type a slash command; Slackbot reports a bot that doesn't answer in time."""
        workspace = self._workspace
        name, _, text = typed.strip().partition(" ")
        commands = {command.command: command for command in workspace.settings.commands}
        if name not in commands:
            self._notice(user, channel, f"`{name}` is not a valid command.")
            raise InvalidActionError(f"{name} is not a valid command")
        if commands[name].should_escape:
            text = payloads.escaped(text, workspace)
        issued = workspace.issue_response_url(user.id, channel)
        handed_out = {
            "trigger_id": workspace.issue_trigger(user.id),
            "response_url": response_urls.address(workspace, issued),
        }
        form = payloads.slash_command(name, text.strip(), workspace, user=user, channel=channel, **handed_out)
        if team:
            form = payloads.from_team(form, team)
        ack = await self._delivery.send("slash_commands", form, name=typed.strip())
        error = ack.error
        if ack.ok and ack.body:
            body = {"text": ack.body} if isinstance(ack.body, str) else ack.body
            try:
                response_urls.respond(workspace, issued, body)
            except SlackError as refusal:
                error = refusal.error
        if error is not None:
            self._notice(user, channel, f"`{name}` failed with the error `{error}`")
        return {"ack": ack.to_json(), **handed_out}

    def _notice(self, user: User, channel: Channel, text: str) -> None:
        self._workspace.post(channel, user=seed.SLACKBOT.id, text=text, seen_by=user.id)

    async def click(
        self,
        source: Message | Json,
        block: Json,
        element: Json,
        *,
        user: User,
        value: Any = inputs.UNSET,
        values: Json | None = None,
        team: str = "",
    ) -> Json:
        """Act on an element of a message or a view; `values` are those of the inputs beside it."""
        workspace = self._workspace
        now = workspace.clock.now()
        blocks = source.blocks if isinstance(source, Message) else source["blocks"]
        state = inputs.state(blocks, values or {})
        fields: Json = {"actions": [inputs.action_of(block, element, value, now=now)]}
        handed_out = {"trigger_id": workspace.issue_trigger(user.id)}
        place: Json = {"action_id": element["action_id"]}
        if isinstance(source, Message):
            channel = workspace.channels[source.channel]
            issued = workspace.issue_response_url(user.id, channel, source)
            handed_out["response_url"] = response_urls.address(workspace, issued)
            fields |= {
                "container": payloads.message_container(source),
                "channel": channel,
                "state": state,
            }
            # The content of an ephemeral message is not sent.
            if source.seen_by is None:
                fields["message"] = source.to_slack()
            place |= {"channel": channel.id, "ts": source.ts}
        else:
            fields |= {
                "container": {"type": "view", "view_id": source["id"]},
                "view": {**source, "state": state},
            }
            place |= {"view": source["id"]}
        name = f"action {element['action_id']}"
        ack = await self._interact("block_actions", user=user, name=name, team=team, **handed_out, **fields)
        if not ack.ok:
            workspace.feed.publish("failure", {"error": ack.error, **place}, only_for=user.id)
        return {"ack": ack.to_json(), **handed_out}

    async def suggest(
        self, source: Message | Json, block: Json, element: Json, *, user: User, typed: str
    ) -> Json:
        """Type into an external select; returns the options that the bot offers.

        There are none where Slack has no address to ask.
        """
        workspace = self._workspace
        if not (workspace.settings.loads_options or workspace.sockets.ready):
            return {"ack": None, "options": []}
        if isinstance(source, Message):
            place: Json = {"container": payloads.message_container(source)}
        else:
            place = {"container": {"type": "view", "view_id": source["id"]}, "view": source}
        ack = await self._interact(
            "block_suggestion",
            user=user,
            name=f"options {element['action_id']}",
            action_id=element["action_id"],
            block_id=block["block_id"],
            value=typed,
            **place,
        )
        body = ack.body if ack.ok and isinstance(ack.body, dict) else {}
        return {"ack": ack.to_json(), "options": inputs.options(body)[:100]}

    async def shortcut(self, callback_id: str, *, user: User, team: str = "") -> Json:
        """Choose a global shortcut."""
        trigger = self._workspace.issue_trigger(user.id)
        ack = await self._interact(
            "shortcut",
            user=user,
            name=f"shortcut {callback_id}",
            team=team,
            trigger_id=trigger,
            callback_id=callback_id,
        )
        return {"ack": ack.to_json(), "trigger_id": trigger}

    def post(
        self,
        text: str,
        *,
        user: User,
        channel: Channel,
        thread_ts: str | None = None,
        team: str = "",
    ) -> Message:
        """Post a message, of which the bot hears where it listens.

        Raises `InvalidActionError` in an archived channel, `SlackError` for an empty text.
        """
        workspace = self._workspace
        text = checked_content({"text": text}, workspace.block_problems)["text"]
        if channel.is_archived:
            raise InvalidActionError(f"{channel.name} is archived")
        message = workspace.post(channel, user=user.id, text=text, thread_ts=thread_ts)
        workspace.read_until[user.id, channel.id] = message.ts
        self._delivery.message_posted(message, channel, team=team)
        return message

    # Modals

    def _top(self, user: User) -> Json:
        view = top_view(self._workspace, user.id)
        if view is None:
            raise InvalidActionError(f"no modal is open for {user.name}")
        return view

    async def submit(
        self, *, user: User, values: Json, offered: list[Json] | None = None, team: str = ""
    ) -> Json:
        """Press the submit button of the modal in front.

        Returns errors by block id, and the view that is in front then.
        """
        view = self._top(user)
        state = inputs.state(view["blocks"], values, offered=offered)
        if errors := inputs.missing(view["blocks"], state):
            return {"errors": errors, "view": view, "ack": None}
        ack = await self._interact(
            "view_submission",
            user=user,
            name=f"submit {view['callback_id']}",
            team=team,
            trigger_id=self._workspace.issue_trigger(user.id),
            view={**view, "state": state},
            response_urls=[],
        )
        outcome: Json = {"errors": {"": CONNECTION_TROUBLE}, "error": ack.error}
        if ack.ok:
            body = ack.body if isinstance(ack.body, dict) else {}
            try:
                outcome = {"errors": self._respond(user, view, body)}
            except SlackError as refusal:
                outcome |= {"error": refusal.error, "messages": list(refusal.messages)}
        return {**outcome, "ack": ack.to_json(), "view": top_view(self._workspace, user.id)}

    def _respond(self, user: User, view: Json, body: Json) -> dict[str, str]:
        """Carry out a `response_action`. Raises `SlackError` where Slack can't."""
        match body.get("response_action"):
            case "errors":
                return _input_errors(view, body.get("errors"))
            case "update":
                update_view(self._workspace, view, body.get("view"))
            case "push":
                open_view(self._workspace, user.id, body.get("view"), push=True)
            case "clear":
                clear_views(self._workspace, user.id)
            case None:
                close_view(self._workspace, user.id)
            case kind:
                raise SlackError("invalid_response_action", messages=[f"unknown response_action: {kind}"])
        return {}

    async def close(self, *, user: User, everything: bool) -> Json:
        """Close the modal in front, or all of them; the bot is told where it asked for it."""
        workspace = self._workspace
        view = self._top(user)
        closed = [view]
        if everything or view["clear_on_close"]:
            everything = True
            stack = reversed(workspace.stacks[user.id])
            closed = [workspace.views[name] for name in stack]
            clear_views(workspace, user.id)
        else:
            close_view(workspace, user.id)
        for one in closed:
            if one["notify_on_close"]:
                name = f"close {one['callback_id']}"
                await self._interact("view_closed", user=user, name=name, view=one, is_cleared=everything)
        return {"view": top_view(workspace, user.id)}


def _input_errors(view: Json, errors: Any) -> dict[str, str]:
    """Return errors by block id. Raises `SlackError` unless they name input blocks of the view."""
    known = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= known:
        listed = ", ".join(sorted(known))
        raise SlackError("invalid_errors", messages=[f"errors must name input blocks: {listed}"])
    return {str(name): str(text) for name, text in errors.items()}
