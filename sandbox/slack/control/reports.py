"""The control API's reading half: state, messages, traffic, and the summary that proves nothing lost or doubled."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sandbox.slack.control import dials
from sandbox.slack.state import scopes, seed
from sandbox.slack.state.model import Channel, Json, Message
from sandbox.slack.state.rendering import shown

if TYPE_CHECKING:
    from sandbox.slack.server import SlackStandIn

Query = dict[str, str]


async def state(standin: SlackStandIn, query: Query) -> Json:
    """Everything but the messages."""
    space = standin.workspace
    return {
        "team": asdict(seed.TEAM),
        "settings": dials.shown_settings(standin),
        "users": [user.to_slack() for user in space.world.users.values()],
        "channels": [
            {**channel.to_slack(viewer=seed.BOT.id), "members": list(channel.members)}
            for channel in space.world.channels.values()
        ],
        "views": {
            user: [space.world.views[name] for name in names] for user, names in space.world.stacks.items()
        },
        "homes": {user: space.world.views[name] for user, name in space.world.homes.items()},
        "sockets": {"open": len(standin.sockets.ready), "opened": standin.sockets.opened},
        "faults": [asdict(fault) for fault in space.faults.pending],
        "now": standin.clock.now(),
    }


async def messages(standin: SlackStandIn, query: Query) -> Json:
    """`channel`, and if wanted `thread_ts`, `user` (whose ephemerals to leave in), `limit`: oldest first."""
    channel = standin.workspace.world.channel(query["channel"])
    found = [message for message in _both(channel) if _wanted(message, query)]
    limit = int(query.get("limit") or 10_000)
    return {"messages": [shown(message) for message in found[-limit:]]}


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


async def traffic(standin: SlackStandIn, query: Query) -> Json:
    """The last exchanges, oldest first; `after` leaves out what is known."""
    after = int(query.get("after") or 0)
    return {"exchanges": [asdict(one) for one in standin.workspace.traffic.exchanges if one.number > after]}


async def summary(standin: SlackStandIn, query: Query) -> Json:
    """Counts and latencies, and every alert id with how often it was posted."""
    space = standin.workspace
    alerts = space.world.alerts
    return {
        **space.traffic.figures(),
        "messages": {
            channel.name: len(channel.messages)
            for channel in space.world.channels.values()
            if channel.messages
        },
        "alerts": dict(alerts),
        "alerts_posted": len(alerts),
        "alerts_doubled": sorted(name for name, times in alerts.items() if times > 1),
        "sockets": {"open": len(standin.sockets.ready), "opened": standin.sockets.opened},
    }


def for_page(standin: SlackStandIn, user: str) -> Json:
    """What the page needs to draw everything but the messages, as `user` sees it."""
    space = standin.workspace
    person = space.people.person(user)
    return {
        "boot": standin.boot,
        "number": standin.feed.number,
        "team": {"id": seed.TEAM.id, "name": seed.TEAM.name, "bot_user": seed.BOT.id},
        "me": person.id,
        "users": [one.to_slack() for one in space.world.users.values()],
        "groups": [group.to_slack() for group in space.world.groups.values()],
        "channels": [
            _listed(standin, channel, person.id)
            for channel in space.world.channels.values()
            if person.id in channel.members or not (channel.is_private or channel.direct)
        ],
        "commands": list(standin.settings.commands),
        "shortcuts": list(standin.settings.shortcuts),
        "view": space.people.stage.top(person.id),
        "depth": len(space.world.stacks.get(person.id) or []),
        "home": space.world.views.get(space.world.homes.get(person.id, "")),
        "sockets": len(standin.sockets.ready),
        "request_url": standin.settings.request_url,
        "summary": {
            name: value for name, value in space.traffic.figures().items() if name in ("acks", "rate_limited")
        },
    }


def _listed(standin: SlackStandIn, channel: Channel, user: str) -> Json:
    until = standin.workspace.world.read_until.get((user, channel.id), "0")
    unread = 0
    for message in reversed(channel.messages.values()):
        if message.ts <= until or unread == 100:
            break
        unread += message.in_channel and message.user != user
    return {
        **channel.to_slack(viewer=user),
        "is_member": user in channel.members,
        "bot_is_member": seed.BOT.id in channel.members,
        "bot_may_post": not channel.is_private and scopes.PUBLIC in standin.settings.scopes,
        "members": list(channel.members),
        "unread": unread,
    }
