"""The control API's reports: state, messages, traffic, and the summary that shows lost and doubled alerts."""

from __future__ import annotations

from dataclasses import asdict

from sandbox.slack.state import seed
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.workspace import Workspace

Query = dict[str, str]


async def state(workspace: Workspace, query: Query) -> Json:
    """Everything but the messages."""
    return {
        "team": asdict(workspace.world.team),
        "settings": workspace.settings.to_json(),
        "users": [user.to_slack() for user in workspace.world.users.values()],
        "channels": [
            {**channel.to_slack(viewer=seed.BOT.id), "members": list(channel.members)}
            for channel in workspace.world.channels.values()
        ],
        "views": {
            user: [workspace.world.views[name] for name in names]
            for user, names in workspace.world.stacks.items()
        },
        "homes": {user: workspace.world.views[name] for user, name in workspace.world.homes.items()},
        "sockets": {"open": len(workspace.sockets.ready), "opened": workspace.sockets.opened},
        "faults": [asdict(fault) for fault in workspace.faults.pending],
        "now": workspace.clock.now(),
    }


async def messages(workspace: Workspace, query: Query) -> Json:
    """`channel`, and if wanted `thread_ts`, `user` (whose ephemerals to leave in), `limit`: oldest first."""
    channel = workspace.world.channel(query["channel"])
    found = [message for message in _both(channel) if _wanted(message, query)]
    limit = int(query.get("limit") or 10_000)
    return {"messages": [message.to_json() for message in found[-limit:]]}


def _both(channel: Channel) -> list[Message]:
    """Messages and ephemerals in the order in which they came; either alone is ordered already."""
    if not channel.ephemerals:
        return list(channel.messages.values())
    everything = [*channel.messages.values(), *channel.ephemerals.values()]
    return sorted(everything, key=lambda message: message.ts)


def _wanted(message: Message, query: Query) -> bool:
    thread = query.get("thread_ts")
    if thread and thread not in (message.ts, message.thread_ts):
        return False
    return not query.get("user") or message.seen_by in (None, query["user"])


async def traffic(workspace: Workspace, query: Query) -> Json:
    """The last exchanges, oldest first; `after` leaves out what is known."""
    after = int(query.get("after") or 0)
    return {"exchanges": [asdict(one) for one in workspace.traffic.exchanges if one.number > after]}


async def summary(workspace: Workspace, query: Query) -> Json:
    """Counts and latencies, and every alert id with how often it was posted."""
    alerts = workspace.world.alerts
    return {
        **workspace.traffic.summary(),
        "messages": {
            channel.name: len(channel.messages)
            for channel in workspace.world.channels.values()
            if channel.messages
        },
        "alerts": dict(alerts),
        "alerts_posted": len(alerts),
        "alerts_doubled": sorted(name for name, times in alerts.items() if times > 1),
        "sockets": {"open": len(workspace.sockets.ready), "opened": workspace.sockets.opened},
    }
