"""The agency's logo as a data URI: a small PNG or SVG file, recognized by its content."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from shared.client_report.model import Brand

MOST_BYTES = 256 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE[^>]*>\s*)?<svg[\s>]",
    re.DOTALL,
)


def read_brand(name: str, color: str, logo: Path | None) -> Brand:
    """Raises `OSError` where the logo cannot be read, is too large, or is neither PNG nor SVG."""
    return Brand(name=name, color=color, logo=logo_uri(_read(logo)) if logo else "")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def logo_uri(content: bytes) -> str:
    """As an image, an SVG runs no script and loads nothing (https://www.w3.org/TR/SVG2/conform.html#secure-static-mode)."""
    if len(content) > MOST_BYTES:
        raise OSError(f"the logo is larger than {MOST_BYTES // 1024} KiB. Make it smaller.")
    kind = "png" if content.startswith(_PNG) else "svg+xml" if _SVG.match(content) else ""
    if not kind:
        raise OSError("the logo is neither a PNG nor an SVG file")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
