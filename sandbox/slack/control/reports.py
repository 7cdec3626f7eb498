"""The control API's reports: state, messages, traffic, and the summary that shows lost and doubled alerts."""

from __future__ import annotations

from dataclasses import asdict

from sandbox.slack.blockkit.plain_text import buttons, notification, plain_text
from sandbox.slack.control.transcripts import readable
from sandbox.slack.state.model import Json, Message
from sandbox.slack.state.own_world import written
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.workspace import Workspace

Query = dict[str, str]


async def state(workspace: Workspace, query: Query) -> Json:
    """Everything but the messages."""
    return {
        "team": asdict(workspace.world.team),
        "settings": workspace.settings.to_json(),
        "users": [user.to_slack() for user in workspace.world.users.values()],
        "apps": [app(one) for one in workspace.installations],
        "channels": [
            {**channel.to_slack(viewer=workspace.first.app.user), "members": list(channel.members)}
            for channel in workspace.world.channels.values()
        ],
        "views": {
            user: [workspace.world.views[name] for name in names]
            for user, names in workspace.world.stacks.items()
        },
        "homes": {
            user: workspace.world.views[name]
            for (user, of), name in workspace.world.homes.items()
            if of == workspace.first.app
        },
        "sockets": _sockets(workspace.first),
        "faults": [asdict(fault) for fault in workspace.faults.pending],
        "now": workspace.clock.now(),
    }


async def world(workspace: Workspace, query: Query) -> Json:
    """Team, people, groups and channels as they are now, for `POST world`."""
    now = workspace.world
    return written(now.team, now.users.values(), now.groups.values(), now.channels.values())


async def messages(workspace: Workspace, query: Query) -> Json:
    """`channel`, and if wanted `thread_ts`, `user` (whose ephemerals to leave in), `limit`: oldest first."""
    channel = workspace.world.channel(query["channel"])
    if query.get("user"):
        query = {**query, "user": workspace.world.user(query["user"]).id}
    found = [message for message in channel.everything() if _wanted(message, query)]
    limit = int(query.get("limit") or 10_000)
    return {"messages": [described(workspace, message) for message in found[-limit:]]}


def described(workspace: Workspace, message: Message) -> Json:
    """A message with what people see of it: names, everything to read, the texts of its buttons."""
    users = workspace.world.users
    return {
        **message.to_json(),
        "user_name": users[message.user].name,
        "seen_by_name": users[message.seen_by].name if message.seen_by else None,
        "plain": readable(workspace, plain_text(message.text, message.blocks, message.attachments)),
        "buttons": buttons(message.blocks),
        "notification": notification(message.text, message.blocks),
    }


async def view(workspace: Workspace, query: Query) -> Json:
    """`user`: the modal in front of them."""
    return {"view": workspace.people.views.top(workspace.people.person(query["user"]).id)}


def _wanted(message: Message, query: Query) -> bool:
    thread = query.get("thread_ts")
    if thread and thread not in (message.ts, message.thread_ts):
        return False
    return not query.get("user") or message.seen_by in (None, query["user"])


async def traffic(workspace: Workspace, query: Query) -> Json:
    """The last exchanges, oldest first; `after` leaves out those already read."""
    after = int(query.get("after") or 0)
    return {"exchanges": [one.to_json() for one in workspace.traffic.exchanges if one.number > after]}


async def summary(workspace: Workspace, query: Query) -> Json:
    """Counts and latencies, and every alert id with how often it was posted."""
    alerts = workspace.world.alerts
    return {
        **workspace.traffic.summary(),
        "messages": {
            channel.name: channel.posted for channel in workspace.world.channels.values() if channel.messages
        },
        "alerts": dict(alerts),
        "alerts_posted": len(alerts),
        "alerts_doubled": sorted(name for name, times in alerts.items() if times > 1),
        "sockets": _sockets(workspace.first),
    }


def app(one: Installation) -> Json:
    """An app: its ids, where it is, and what its manifest says."""
    shown = identity(one) | {"installed": one.installed, "sockets": _sockets(one)}
    return {**shown, "settings": one.settings.to_json()}


def identity(one: Installation) -> Json:
    app = one.app
    bot = {"bot_id": app.bot_id, "bot_user": app.user, "bot_name": app.handle}
    return {"name": app.name, "id": app.id, **bot}


def credentials(one: Installation) -> Json:
    """What an app's bot needs to know to run."""
    return {
        "bot_token": one.token,
        "app_token": one.credentials.app_token,
        "config_token": one.credentials.config_token,
        "signing_secret": one.credentials.signing_secret,
        "client_id": one.credentials.client_id,
        "client_secret": one.credentials.client_secret,
    }


def _sockets(one: Installation) -> Json:
    return {"open": len(one.sockets.ready), "opened": one.sockets.opened}
