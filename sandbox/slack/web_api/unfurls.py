"""chat.unfurl: what an app shows for links in people's messages (https://docs.slack.dev/reference/methods/chat.unfurl)."""

from __future__ import annotations

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.links import links_of
from sandbox.slack.state.model import Json, Message
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.world.message_checks import checked_attachments


@method("chat.unfurl", scope="links:write", tier=3)
def unfurl(call: Call) -> Json:
    """Show attachments for links; a second call for the same link changes what the first showed."""
    message, unfurls = _message(call), call.args.get("unfurls")
    refuse_if(not unfurls, "missing_unfurls")
    if not isinstance(unfurls, dict) or not all(isinstance(one, dict) for one in unfurls.values()):
        raise SlackError("invalid_unfurls_format")
    links = links_of(message.text)
    refuse_if(not set(unfurls) <= set(links), "cannot_unfurl_url")
    shown = {str(one.get("from_url")): one for one in message.attachments}
    for url, one in unfurls.items():
        (checked,) = checked_attachments([one])
        about = {"from_url": url, "is_app_unfurl": True, "app_unfurl_url": url, "app_id": call.app.id}
        shown[url] = {**checked, **about}
    for number, one in enumerate(shown.values(), start=1):
        one["id"] = number
    message.attachments = list(shown.values())
    call.world.announce(message, kind="message_changed")
    return {}


def _message(call: Call) -> Message:
    """The message of `channel` and `ts`, or of `unfurl_id` and `source`, as the event link_shared named it."""
    name, ts = call.args.get("channel"), call.args.get("ts")
    if call.args.get("unfurl_id") and call.args.get("source"):
        name, _, ts = str(call.args["unfurl_id"]).partition("-")
    refuse_if(not name, "missing_channel")
    refuse_if(not ts, "missing_ts")
    channel = call.world.channels.get(str(name))
    if channel is None:
        raise SlackError("cannot_find_channel")
    message = channel.messages.get(str(ts))
    if message is None:
        raise SlackError("cannot_find_message")
    return message
