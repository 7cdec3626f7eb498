"""Changes the product in one place at a time, and lists the changes that no test notices.

    python -m tools.mutants --paths shared/commands bot/delivery --sample 40 --seed 7 \
        --tests tests/promises

A change turns a comparison or a condition round, moves a number, drops a call or returns nothing. The
sample depends on the seed and the sources alone. Everything happens in a copy of the checkout.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

FLIPPED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
LOGGING = {"log", "logger", "logging", "warnings"}
TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `start` and `end` are places in its bytes."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:60] for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old} → {new}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Yield every change of a module that could matter."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in _changes(ast.parse(source), source.decode()):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        yield Mutant(path, node.lineno, start, end, source[start:end].decode(), new)


def _changes(tree: ast.AST, text: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield each part below a node that can be changed, and its replacement; texts that nothing decides on are left out."""
    for node in ast.iter_child_nodes(tree):
        if not _is_idle(node):
            if isinstance(node, ast.expr | ast.stmt):
                yield from ((node, new) for new in _replacements(node, text))
            for name, value in ast.iter_fields(node):
                if name not in {"annotation", "returns", "decorator_list", "type_params"}:
                    children = value if isinstance(value, list) else [value]
                    below = [one for one in children if isinstance(one, ast.AST)]
                    yield from _changes(ast.Module(body=below, type_ignores=[]), text)  # type: ignore[arg-type]


def _is_idle(node: ast.AST) -> bool:
    """Return True for a docstring, an import, a log line, `__all__` or a type: no test should notice a change there."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    call = node.value if isinstance(node, ast.Expr) else node
    return isinstance(call, ast.Call) and ast.unparse(call.func).partition(".")[0] in LOGGING


def _replacements(node: ast.expr | ast.stmt, text: str) -> Iterator[str]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = (ast.get_source_segment(text, one) for one in (node.left, node.comparators[0]))
        yield f"({left}) {FLIPPED[type(node.ops[0])]} ({right})"
    elif isinstance(node, ast.BoolOp):
        joined = " or " if isinstance(node.op, ast.And) else " and "
        yield f"({joined.join(f'({ast.unparse(one)})' for one in node.values)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"bool({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield repr(node.value + 1)
    # None instead of False is the same to whoever asks for the truth, and the constant itself is turned round above.
    elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) not in ("None", "False"):
        yield "return None"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield "pass"


def drawn(root: Path, paths: Sequence[str], *, sample: int, seed: int) -> list[Mutant]:
    """The sample, in the order of the sources."""
    files = sorted(
        file
        for path in paths
        for file in ([root / path] if (root / path).is_file() else (root / path).rglob("*.py"))
    )
    found = [
        mutant for file in files for mutant in mutants_of(str(file.relative_to(root)), file.read_bytes())
    ]
    # By place and not by mutant, so that a sample depends on the seed and the sources alone.
    chosen = random.Random(seed).sample(range(len(found)), min(sample, len(found)))
    return [found[number] for number in sorted(chosen)]


class Copy:
    """A copy of the checkout, in which one file at a time is changed."""

    def __init__(self, root: Path, folder: Path) -> None:
        ignore = shutil.ignore_patterns(".venv", ".git", ".*_cache", "__pycache__", "build", "*.svg", "*.png")
        self.root = Path(shutil.copytree(root, folder / "copy", ignore=ignore))
        # Compiled modules are told apart by time and size, and two changes may have the same of both.
        self._times = count(2_000_000_000)

    def passes(self, tests: Sequence[str], *, timeout: float, are_there: bool = False) -> bool:
        """Run the tests. One that hangs has noticed the change, and so have those that `are_there` and can't be read."""
        options = ["-m", "pytest", "-q", "-x", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
        environ = {**os.environ, "PYTHONPATH": str(self.root)}
        try:
            ran = subprocess.run(
                [sys.executable, *options, *tests],
                cwd=self.root,
                env=environ,
                timeout=timeout,
                check=False,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return False
        if ran.returncode in {4, 5} and not are_there:  # wrong usage, or no tests: nothing was tried
            raise SystemExit(f"pytest found no tests: {' '.join(tests)}")
        return ran.returncode == 0

    def survives(self, mutant: Mutant, tests: Sequence[str], *, timeout: float) -> bool:
        file = self.root / mutant.path
        before = file.read_bytes()
        try:
            self._write(file, mutant.apply(before))
            return self.passes(tests, timeout=timeout, are_there=True)
        finally:
            self._write(file, before)

    def _write(self, file: Path, source: bytes) -> None:
        file.write_bytes(source)
        moment = next(self._times)
        os.utime(file, (moment, moment))


def main(words: Sequence[str] | None = None, *, root: Path = Path(__file__).parents[1]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--paths", nargs="+", required=True)
    parser.add_argument("--sample", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=["tests/promises"])
    parser.add_argument("--timeout", type=float, default=TIMEOUT_SECONDS)
    given = parser.parse_args(words)
    chosen = drawn(root, given.paths, sample=given.sample, seed=given.seed)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(root, Path(folder))
        if not copy.passes(given.tests, timeout=given.timeout):
            print("The tests fail without any change.", file=sys.stderr)
            return 2
        for mutant in chosen:
            if copy.survives(mutant, given.tests, timeout=given.timeout):
                survivors += 1
                print(f"survives  {mutant}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
