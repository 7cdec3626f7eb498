"""`outreach init`: writes an outreach.toml, commented or filled in by questions, readable only by its owner."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from cli.console import exit_codes
from shared.settings.template import NOTHING, commented_template
from shared.storage.private_file import make_private_folder, replacing


def init(options: Namespace) -> int:
    """Write the file; one that is there is overwritten only with `--yes`."""
    path: Path = options.file
    if path.exists() and not options.yes:
        raise exit_codes.Failed(f"{path} already exists. Add --yes to overwrite it.")
    if options.interactive:
        from cli.commands.interactive_init import ask_settings, next_steps

        values, public = ask_settings()
        steps = next_steps(public)
    else:
        values, steps = NOTHING, ("Fill in the base URL and the key, then try: outreach doctor",)
    make_private_folder(path.parent)
    with replacing(path) as fresh:
        fresh.write_text(commented_template(values), encoding="utf-8")
    print("\n".join([f"Wrote {path}.", *steps]), file=sys.stderr)
    return exit_codes.DONE
