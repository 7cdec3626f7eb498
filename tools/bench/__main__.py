"""Run the benchmarks and print them: `make bench`, or `make bench ARGS=client` for one part."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

Row = tuple[str, float, str, str, bool]
"""Name, measured figure, its unit, the target or baseline in words, and whether the target is met."""


def parts() -> list[str]:
    """The names of the parts that have benchmarks: the `*_bench.py` beside this file."""
    return sorted(path.stem.removesuffix("_bench") for path in Path(__file__).parent.glob("*_bench.py"))


def run(part: str) -> Iterable[Row]:
    """The rows of one part, measured now."""
    rows: Iterable[Row] = importlib.import_module(f"tools.bench.{part}_bench").run()
    return rows


def main() -> int:
    """Print a table a part; exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[*parts(), []],
        help="all parts when none is named",
    )
    console = Console()
    met = True
    for part in parser.parse_args().parts or parts():
        table = Table(title=part, title_justify="left", header_style="bold")
        for heading in ("what", "measured", "target", "met"):
            table.add_column(heading, justify="right" if heading == "measured" else "left")
        for name, figure, unit, target, ok in run(part):
            table.add_row(name, f"{figure:,.3g} {unit}", target, "yes" if ok else "NO")
            met = met and ok
        console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
