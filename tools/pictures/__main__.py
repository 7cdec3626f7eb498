"""Draws the pictures of the documents: `python -m tools.pictures FOLDER`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from tools.pictures import chromium
from tools.pictures.dashboard import DRAWN, filled_history, pictures
from tools.pictures.slack import SHOWN, fingerprint

FINGERPRINTS = "pictures.json"
"""This file has fingerprints of what chromium's pictures show, because their bytes differ by machine."""


async def of_the_dashboard(folder: Path) -> None:
    async with filled_history() as history:
        for file, picture in (await pictures(history, DRAWN)).items():
            (folder / file).write_text(picture, encoding="utf-8")


def in_chromium(folder: Path) -> None:
    """Draw the pictures that are missing, or older than what they show."""
    kept = json.loads((folder / FINGERPRINTS).read_text()) if (folder / FINGERPRINTS).exists() else {}
    shown = {file: make() for file, make in SHOWN.items()}
    now = {file: fingerprint(moments) for file, moments in shown.items()}
    old = {file for file in now if now[file] != kept.get(file) or not (folder / file).exists()}
    if old and not chromium.is_installed():
        sys.stderr.write(f"No chromium: {', '.join(sorted(old))} can't be drawn again.\n")
    elif old:
        asyncio.run(chromium.draw(folder, {file: shown[file] for file in sorted(old)}))
        (folder / FINGERPRINTS).write_text(json.dumps(now, indent=2) + "\n")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    asyncio.run(of_the_dashboard(Path(sys.argv[1])))
    in_chromium(Path(sys.argv[1]))
