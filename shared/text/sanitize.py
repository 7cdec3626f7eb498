"""Makes text from outside safe for a terminal: it can't move the cursor, change styles or hide text.

Pure, and fast to import.
"""

from __future__ import annotations

import re

# Patterns are compiled where a text is first read: `outreach --help` reads none.
# ESC sequences whole (CSI, OSC and other strings, two-character ones), so that no "[31m" is left behind.
_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = r"\r\n?|[\n\x0b\x0c\x85\u2028\u2029]"
# Control characters; direction marks, overrides and isolates; zero-width and tag characters that can hide words in words.
_INVISIBLE = (
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f"
    r"\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = r"[\ud800-\udfff]"
_SPACES = r"[\n\t]+"


def visible(text: str) -> str:
    return re.sub(_SPACES, " ", visible_lines(text))


def visible_lines(text: str) -> str:
    r"""Like `visible`, with the line breaks kept as `\n`."""
    if text.isascii() and text.isprintable():
        return text
    text = re.sub(_BREAKS, "\n", re.sub(_ESCAPES, "", text))
    return re.sub(_SURROGATES, "\ufffd", re.sub(_INVISIBLE, "", text))


def visible_json(text: str) -> str:
    """Return the same JSON, with what a terminal would obey or hide written as an escape."""
    if text.isascii():  # JSON itself escapes the control characters of ASCII, but for DEL
        return text.replace("\x7f", "\\u007f")
    import json  # late: `outreach --help` does without

    unsafe = f"{_INVISIBLE}|{_SURROGATES}|[\u2028\u2029]"
    return re.sub(unsafe, lambda found: json.dumps(found[0])[1:-1], text)
