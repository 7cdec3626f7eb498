"""Who the token belongs to, people and user groups."""

from __future__ import annotations

from typing import Any

from sandbox.slack import seed
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json, User
from sandbox.slack.web_api.call import Call

EMAIL_SCOPE = "users:read.email"


def api_test(call: Call) -> Json:
    """Answer, or fail as asked (https://docs.slack.dev/reference/methods/api.test)."""
    if call.args.get("error"):
        raise SlackError(str(call.args["error"]))
    return {"args": {name: value for name, value in call.args.items() if name != "token"}}


def auth_test(call: Call) -> Json:
    """Tell who the token belongs to; in an Enterprise organization with `enterprise_id`."""
    enterprise = call.workspace.settings.enterprise_id
    return {
        **({"enterprise_id": enterprise} if enterprise else {}),
        "url": f"{call.workspace.origin}/",
        "team": seed.TEAM.name,
        "user": seed.BOT.name,
        "team_id": seed.TEAM.id,
        "user_id": seed.BOT.id,
        "bot_id": seed.APP.bot_id,
        "app_id": seed.APP.id,
        "is_enterprise_install": False,
    }


def connections_open(call: Call) -> Json:
    """Return a Socket Mode address that works once, for half a minute."""
    refuse_if(call.workspace.sockets.disabled, "link_disabled")
    address = call.workspace.origin.replace("http://", "ws://")
    return {"url": f"{address}/link?ticket={call.workspace.sockets.ticket()}&app_id={seed.APP.id}"}


def _shown(user: User, call: Call) -> Json:
    """Without its scope a profile has no address (https://docs.slack.dev/reference/scopes/users.read.email)."""
    return user.to_slack(with_email=EMAIL_SCOPE in call.workspace.settings.scopes)


def _user(call: Call, name: Any) -> User:
    found = call.workspace.users.get(str(name))
    if found is None:
        raise SlackError("user_not_found")
    return found


def info(call: Call) -> Json:
    return {"user": _shown(_user(call, call.require("user")), call)}


def listed(call: Call) -> Json:
    page, metadata = call.page_of(list(call.workspace.users.values()), max_limit=1000)
    return {
        "members": [_shown(user, call) for user in page],
        "cache_ts": int(call.workspace.clock.now()),
        "response_metadata": metadata,
    }


def lookup_by_email(call: Call) -> Json:
    wanted = str(call.require("email")).casefold()
    for user in call.workspace.users.values():
        if user.email == wanted and not user.is_bot:
            return {"user": user.to_slack()}
    raise SlackError("users_not_found")


def profile(call: Call) -> Json:
    """Return a person's profile, or the bot's."""
    user = _user(call, call.args.get("user") or seed.BOT.id)
    return {"profile": _shown(user, call)["profile"]}


def groups(call: Call) -> Json:
    """List the user groups, with their people where the call asks for them."""
    shown = [group.to_slack() for group in call.workspace.groups.values()]
    if not call.flag("include_users"):
        for group in shown:
            del group["users"]
    return {"usergroups": shown}


def group_users(call: Call) -> Json:
    group = call.workspace.groups.get(str(call.require("usergroup")))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": group.users}
