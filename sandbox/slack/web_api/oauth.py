"""oauth.v2.access and api.test: the methods that need no token."""

from __future__ import annotations

import hmac
import secrets

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Json
from sandbox.slack.web_api.calls import Call, method


@method("api.test", tier=4, needs_token=False)
def api_test(call: Call) -> Json:
    """Whether Slack answers at all (https://docs.slack.dev/reference/methods/api.test)."""
    if call.args.get("error"):
        raise SlackError(str(call.args["error"]))
    return {"args": {name: value for name, value in call.args.items() if name != "token"}}


@method("oauth.v2.access", needs_token=False)
def oauth_v2_access(call: Call) -> Json:
    """Exchange a code for the workspace's bot token.

    https://docs.slack.dev/reference/methods/oauth.v2.access, with a token that expires:
    https://docs.slack.dev/authentication/using-token-rotation, for an organization:
    https://docs.slack.dev/enterprise/developing-for-enterprise-orgs
    """
    client_id, secret = (str(call.args.get(f"client_{name}") or "") for name in ("id", "secret"))
    app = call.workspaces.of_client(client_id)
    refuse_if(
        not hmac.compare_digest(secret.encode(), app.credentials.client_secret.encode()), "bad_client_secret"
    )
    refuse_if(call.args.get("grant_type") not in {None, "authorization_code"}, "invalid_grant_type")
    grant = call.workspaces.codes.redeem(
        str(call.args.get("code") or ""),
        client_id=client_id,
        redirect_uri=str(call.args.get("redirect_uri") or ""),
        now=call.workspace.clock.now(),
    )
    workspace = call.workspaces.by_id[grant.team]
    team = workspace.contents.team
    installed = workspace.installation(app.app.id)
    owner: Json = {"team": {"id": team.id, "name": team.name}, "enterprise": None}
    if grant.organization:
        owner = {"team": None, "enterprise": {"id": "E0SANDBOX1", "name": "Sandbox Organization"}}
    rotating = {"refresh_token": f"xoxe-1-{secrets.token_hex(16)}", "expires_in": 43_200}
    return {
        "access_token": workspace.install(installed),
        "token_type": "bot",
        "scope": ",".join(grant.scopes),
        "bot_user_id": app.app.user,
        "app_id": app.app.id,
        **owner,
        **(rotating if app.settings.rotates_tokens else {}),
        "is_enterprise_install": grant.organization,
        "authed_user": {"id": grant.user},
    }
