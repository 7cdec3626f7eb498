"""auth.*, users.*, usergroups.*, apps.*: users, groups, and the caller's identity."""

from __future__ import annotations

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Json, User
from sandbox.slack.web_api.calls import Call, method, page_of

MOST_DND = 50
"""Users of one dnd.teamInfo."""
_EMAIL = "users:read.email"
"""Without this scope a profile has no address (https://docs.slack.dev/reference/scopes/users.read.email)."""


@method("auth.test")
def auth_test(call: Call) -> Json:
    """Who the token belongs to; with `enterprise_id` in an Enterprise organization.

    https://docs.slack.dev/reference/methods/auth.test
    """
    enterprise = call.world.settings.enterprise_id
    return {
        **({"enterprise_id": enterprise} if enterprise else {}),
        "url": f"{call.workspace.origin}/",
        "team": call.world.team.name,
        "user": call.world.users[call.bot].name,
        "team_id": call.world.team.id,
        "user_id": call.bot,
        "bot_id": call.app.bot_id,
        "app_id": call.app.id,
        "is_enterprise_install": False,
    }


@method("apps.connections.open", tier=1, app_level=True)
def connections_open(call: Call) -> Json:
    """A Socket Mode address that works once, for half a minute."""
    refuse_if(call.by.sockets.disabled, "link_disabled")
    address = call.workspace.origin.replace("http://", "ws://")
    return {"url": f"{address}/link?ticket={call.by.sockets.ticket()}&app_id={call.app.id}"}


def _shown(user: User, call: Call) -> Json:
    return user.to_slack(with_email=_EMAIL in call.settings.scopes, now=call.workspace.clock.now())


@method("users.info", scope="users:read", tier=4)
def users_info(call: Call) -> Json:
    """One user (https://docs.slack.dev/reference/methods/users.info)."""
    user = call.world.users.get(str(call.require("user")))
    if user is None:
        raise SlackError("user_not_found")
    return {"user": _shown(user, call)}


@method("users.list", scope="users:read", tier=2)
def users_list(call: Call) -> Json:
    """All users."""
    page, cursor = page_of(list(call.world.users.values()), call, default=100, max_limit=1000)
    return {
        "members": [_shown(user, call) for user in page],
        "cache_ts": int(call.workspace.clock.now()),
        "response_metadata": {"next_cursor": cursor},
    }


@method("usergroups.list", scope="usergroups:read", tier=2)
def usergroups_list(call: Call) -> Json:
    """All user groups."""
    shown = [group.to_slack() for group in call.world.groups.values()]
    if not call.flag("include_users"):
        shown = [{name: value for name, value in group.items() if name != "users"} for group in shown]
    return {"usergroups": shown}


@method("usergroups.users.list", scope="usergroups:read", tier=2)
def usergroup_users(call: Call) -> Json:
    """The members of a user group."""
    group = call.world.groups.get(str(call.require("usergroup")))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.users)}


@method("users.lookupByEmail", scope=_EMAIL, tier=3)
def lookup_by_email(call: Call) -> Json:
    """A user by email address."""
    wanted = str(call.require("email")).casefold()
    found = next((one for one in call.world.users.values() if one.email == wanted and not one.is_bot), None)
    if found is None:
        raise SlackError("users_not_found")
    return {"user": found.to_slack()}


@method("users.profile.get", scope="users.profile:read", tier=4)
def profile(call: Call) -> Json:
    """A user's profile; without `user`, the bot's."""
    user = call.world.users.get(str(call.args.get("user") or call.bot))
    if user is None:
        raise SlackError("user_not_found")
    return {"profile": _shown(user, call)["profile"]}


@method("users.getPresence", scope="users:read", tier=3)
def presence(call: Call) -> Json:
    """Everybody is always there."""
    refuse_if(str(call.args.get("user") or call.bot) not in call.world.users, "user_not_found")
    return {"presence": "active"}


@method("dnd.info", scope="dnd:read", tier=3)
def dnd_info(call: Call) -> Json:
    """When a user is not to be disturbed; without `user`, the bot. Snoozes are shown to their own user only.

    https://docs.slack.dev/reference/methods/dnd.info
    """
    user = call.world.users.get(str(call.args.get("user") or call.bot))
    if user is None:
        raise SlackError("user_not_found")
    return user.dnd()


@method("dnd.teamInfo", scope="dnd:read", tier=2)
def dnd_team_info(call: Call) -> Json:
    """The same of up to 50 users, by their ids (https://docs.slack.dev/reference/methods/dnd.teamInfo)."""
    wanted = [one.strip() for one in str(call.args.get("users") or "").split(",") if one.strip()]
    refuse_if(not wanted, "no_users_provided")
    users = call.world.users
    refuse_if(any(one not in users for one in wanted[:MOST_DND]), "user_not_visible")
    return {"users": {one: users[one].dnd() for one in wanted[:MOST_DND]}}


@method("bots.info", scope="users:read", tier=3)
def bots_info(call: Call) -> Json:
    """An app's bot (https://docs.slack.dev/reference/methods/bots.info)."""
    wanted = call.args.get("bot")
    app = next((one.app for one in call.workspace.installations if one.app.bot_id == wanted), None)
    if app is None:
        raise SlackError("bot_not_found")
    bot = {"id": app.bot_id, "app_id": app.id, "user_id": app.user, "name": app.name}
    return {"bot": {**bot, "deleted": False, "updated": 1_735_689_600, "icons": {}}}


@method("team.info", scope="team:read", tier=3)
def team_info(call: Call) -> Json:
    """The workspace."""
    team = call.world.team
    refuse_if(str(call.args.get("team") or team.id) != team.id, "team_not_found")
    url = f"{call.workspace.origin}/"
    return {"team": {"id": team.id, "name": team.name, "domain": team.domain, "email_domain": "", "url": url}}


@method("emoji.list", scope="emoji:read", tier=2)
def emoji_list(call: Call) -> Json:
    return {"emoji": {}, "cache_ts": f"{call.workspace.clock.now():.6f}"}


@method("auth.revoke", tier=3)
def revoke(call: Call) -> Json:
    """Give the token back; with `test`, only say that it could be done."""
    if call.flag("test"):
        return {"revoked": False}
    call.workspace.events.revoked(call.by, ["tokens_revoked"])
    call.by.revoked = True
    return {"revoked": True}


def _needs_user_token(call: Call) -> Json:
    """Reminders belong to people: a bot token is refused (https://docs.slack.dev/reference/methods/reminders.add)."""
    raise SlackError("not_allowed_token_type")


for _name in ("add", "complete", "delete", "info", "list"):
    method(f"reminders.{_name}", tier=2)(_needs_user_token)
