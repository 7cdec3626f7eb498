"""The content of rich_text blocks (docs.slack.dev/reference/block-kit/blocks/rich-text-block)."""

from __future__ import annotations

from sandbox.slack.blockkit.elements import url
from sandbox.slack.blockkit.rules import Rule, array, boolean, by_type, choice, number, shape, string

_STYLE = shape(
    {},
    **dict.fromkeys(
        ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"), boolean
    ),
)
_ID = string(64, 1)

LEAVES: dict[str, Rule] = {
    "text": shape({"text": string(12_000, 1)}, style=_STYLE),
    "link": shape({"url": url}, text=string(12_000), unsafe=boolean, style=_STYLE),
    "emoji": shape({"name": string(100, 1)}, unicode=string(64), skin_tone=number(1, 6), style=_STYLE),
    "user": shape({"user_id": _ID}, style=_STYLE),
    "usergroup": shape({"usergroup_id": _ID}, style=_STYLE),
    "channel": shape({"channel_id": _ID}, style=_STYLE),
    "team": shape({"team_id": _ID}, style=_STYLE),
    "broadcast": shape({"range": choice("here", "channel", "everyone")}, style=_STYLE),
    "color": shape({"value": string(16, 1)}, style=_STYLE),
    "date": shape(
        {"timestamp": number(0, 1e11), "format": string(1000, 1)},
        url=url,
        fallback=string(1000, 1),
        style=_STYLE,
    ),
}
_LEAVES = array(by_type(LEAVES), 1000, 0)
_BORDER = number(0, 1)
_SECTION = shape({"elements": _LEAVES})

ELEMENTS = array(
    by_type(
        {
            "rich_text_section": _SECTION,
            "rich_text_list": shape(
                {
                    "elements": array(by_type({"rich_text_section": _SECTION}), 1000),
                    "style": choice("bullet", "ordered"),
                },
                indent=number(0, 8),
                offset=number(0, 1000),
                border=_BORDER,
            ),
            "rich_text_preformatted": shape({"elements": _LEAVES}, border=_BORDER, language=string(64)),
            "rich_text_quote": shape({"elements": _LEAVES}, border=_BORDER),
        }
    ),
    1000,
)
