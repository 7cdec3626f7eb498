"""Draw the pictures of the dashboard anew: `python -m tests.pictures FOLDER`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.pictures.dashboard import pictures

if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    for name, picture in asyncio.run(pictures()).items():
        (Path(sys.argv[1]) / name).write_text(picture, encoding="utf-8")
