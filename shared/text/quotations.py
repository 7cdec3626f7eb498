"""Separates a reply from the email it quotes and from the signature. Pure.

Cuts at the first line that begins a quotation or a signature, so that what is shown is a beginning of the reply and
nothing between is lost. Answers that stand between quoted lines aren't a quotation, and a reply that would leave
nothing to show is shown whole.
"""

from __future__ import annotations

import re

_WROTE = "wrote|schrieb[^\n]{0,120}|a écrit|escribió|ha scritto|escreveu|schreef[^\n]{0,120}"
# Compiled where the first reply is read: `outreach --help` reads none.
_FOLD = (
    r"(?mi)^(?:"
    rf"(?:On|Am|Le|El|Il|Em|Op)\b[^\n]{{4,200}}(?:\n[^\n]{{0,80}})?\b(?:{_WROTE})[ \u00a0]?:?[ \t]*$"
    r"|-{2,}[ ]?(?:Original Message|Forwarded message|Ursprüngliche Nachricht|Message d'origine)[ ]?-{2,}[ \t]*$"
    r"|(?:From|Von|De|Da):[^\n]{1,300}\n(?:Sent|Date|Gesendet|Envoyé|Enviado|Inviato|To|An|À):"
    r"|-- ?$"
    r"|(?:Sent from my|Get Outlook for|Gesendet von meinem|Envoyé de mon|Enviado desde mi)\b[^\n]{0,60}$"
    r")"
)


def without_quotation(reply: str) -> str:
    """The part of a reply above the mail it quotes and above its signature; never empty where the reply is not."""
    text = reply.strip()
    found = re.search(_FOLD, text)
    if found and not _answers_between(text[found.start() :]):
        return text[: found.start()].rstrip() or text
    return _without_quoted_end(text) or text


def _answers_between(rest: str) -> bool:
    """True if there is new text between the quoted lines."""
    marks = "".join(
        ">" if line.startswith(">") else "a" for line in map(str.strip, rest.splitlines()) if line
    )
    return ">" in marks and "a" in marks[marks.find(">") : marks.rfind(">")]


def _without_quoted_end(text: str) -> str:
    lines = text.splitlines()
    kept = len(lines)
    while kept and (lines[kept - 1].startswith(">") or not lines[kept - 1].strip()):
        kept -= 1
    return "\n".join(lines[:kept]) if kept < len(lines) else text
