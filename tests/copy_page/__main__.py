"""docs/copy.md: `python -m tests.copy_page FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.copy_page.page import copy_page

(Path(sys.argv[1]) / "copy.md").write_text(copy_page(), encoding="utf-8")
