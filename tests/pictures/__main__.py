"""Draw the pictures of the dashboard anew: `python -m tests.pictures FOLDER`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.pictures.dashboard import DRAWN, filled_history, pictures


async def main(folder: Path) -> None:
    async with filled_history() as history:
        for file, picture in (await pictures(history, DRAWN)).items():
            (folder / file).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    asyncio.run(main(Path(sys.argv[1])))
