"""Makes text from outside safe for a terminal: it can't move the cursor, change styles or hide text.

Pure, and fast to import.
"""

from __future__ import annotations

import re

# ESC sequences whole (CSI, OSC and other strings, two-character ones), so that no "[31m" is left behind.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = re.compile(r"\r\n?|[\n\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# Direction marks, overrides and isolates; zero-width and tag characters that can hide words in words.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NOT_IN_JSON = re.compile(f"{_CONTROLS.pattern}|{_INVISIBLE.pattern}|[\u2028\u2029]|{_SURROGATES.pattern}")
_SPACES = re.compile(r"[\n\t]+")


def visible(text: str) -> str:
    return _SPACES.sub(" ", visible_lines(text))


def visible_lines(text: str) -> str:
    r"""Like `visible`, with the line breaks kept as `\n`."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    text = _INVISIBLE.sub("", _CONTROLS.sub("", text))
    return _SURROGATES.sub("\ufffd", text)


def visible_json(text: str) -> str:
    """Return the same JSON, with what a terminal would obey or hide written as an escape."""
    if text.isascii():  # JSON itself escapes the control characters of ASCII, but for DEL
        return text.replace("\x7f", "\\u007f")
    import json  # late: `outreach --help` does without

    return _NOT_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)
