"""Links in alerts: a reply in the reader's mail program, and a lead's page in the CRM. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

from shared.text.quotations import without_quotation

EMAIL_FIELD = "{email}"
LONGEST_MAILTO = 1_900
"""Characters; mail programs and browsers cut longer ones, some at 2,000."""
ROOM_OF_REST = len("%3E%20%E2%80%A6%0D%0A")
"""The characters around the beginning of a line that is too long."""
_ADDRESS = re.compile(r"[^\s\x00-\x1f\x7f-\x9f]+@[^\s\x00-\x1f\x7f-\x9f]+")
LONGEST_LINK = 2_900
"""Characters; Slack takes 3,000. https://docs.slack.dev/reference/block-kit/block-elements/button-element"""


def lead_link(template: str, email: str | None) -> str:
    """The address of a lead's page, the email address quoted; empty where there is none, or no room for it."""
    link = template.replace(EMAIL_FIELD, _quote(email)) if template and email else ""
    return link if len(link) <= LONGEST_LINK else ""


def mailto(email: str, *, subject: str = "", reply: str = "") -> str:
    """A mailto link that answers a lead (RFC 6068), quoted as far as it fits; empty if nothing fits.

    All that comes from outside is percent-encoded: a line break in the subject or the address, which would begin
    another header in a careless mail program, is a space or makes no link.
    """
    if not _ADDRESS.fullmatch(email):
        return ""
    topic = f"subject={_quote(' '.join(subject.split()))}&" if subject else ""
    start = f"mailto:{_quote(email, safe='@')}?{topic}body={_quote(_lines(2 * chr(10)))}"
    if len(start) > LONGEST_MAILTO:
        return mailto(email, reply=reply) if subject else ""
    body = ""
    for line in reply.strip().splitlines():
        more = _quote(_lines(f"> {line}".rstrip() + "\n"))
        room = LONGEST_MAILTO - len(start) - len(body)
        if len(more) > room:
            body += _quote(_lines(f"> {_beginning(line, room - ROOM_OF_REST)}…\n"))
            break
        body += more
    return start + body


def _beginning(text: str, room: int) -> str:
    """Return as much of the text as fits into so many characters once it is percent-encoded."""
    for place, letter in enumerate(text):
        room -= len(_quote(letter))
        if room < 0:
            return text[:place]
    return text


def answer_link(email: str, reply: str, *, subject: str = "") -> str:
    """An answer under the reply's own subject where that is known; none is invented."""
    own = subject.strip()[:200]
    named = own if not own or own.lower().startswith("re:") else f"Re: {own}"
    return mailto(email, subject=named, reply=without_quotation(reply))


def _lines(text: str) -> str:
    """Line breaks are CRLF in a mailto address."""
    return text.replace("\n", "\r\n")


def _quote(text: str, *, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")
