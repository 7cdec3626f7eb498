"""Links in alerts: a reply in the reader's mail program, and a lead's page in the CRM. Pure."""

from __future__ import annotations

from urllib.parse import quote

from shared.text.quotations import without_quotation

EMAIL_FIELD = "{email}"
LONGEST_MAILTO = 1_900
"""Characters; mail programs and browsers cut longer ones, some at 2,000."""
LONGEST_LINK = 2_900
"""Characters; Slack takes 3,000. https://docs.slack.dev/reference/block-kit/block-elements/button-element"""


def lead_link(template: str, email: str | None) -> str:
    """The address of a lead's page, the email address quoted; empty where there is none, or no room for it."""
    link = template.replace(EMAIL_FIELD, _quote(email)) if template and email else ""
    return link if len(link) <= LONGEST_LINK else ""


def mailto(email: str, *, subject: str = "", reply: str = "") -> str:
    """A mailto link that answers a lead (RFC 6068), quoted as far as it fits; empty if nothing fits."""
    start = f"mailto:{_quote(email, safe='@')}?subject={_quote(subject)}&body={_quote(_lines(2 * chr(10)))}"
    if len(start) > LONGEST_MAILTO:
        return mailto(email) if subject else ""
    body = ""
    for line in reply.strip().splitlines():
        more = _quote(_lines(f"> {line}".rstrip() + "\n"))
        if len(start) + len(body) + len(more) > LONGEST_MAILTO:
            body += _quote(_lines("> …\n"))
            break
        body += more
    return start + body


def answer_link(email: str, reply: str, *, subject: str = "") -> str:
    """An answer under the reply's own subject, as far as that is known."""
    own = subject.strip()[:200]
    named = own if own.lower().startswith("re:") else f"Re: {own or 'your reply'}"
    return mailto(email, subject=named, reply=without_quotation(reply))


def _lines(text: str) -> str:
    """Line breaks are CRLF in a mailto address."""
    return text.replace("\n", "\r\n")


def _quote(text: str, *, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")
