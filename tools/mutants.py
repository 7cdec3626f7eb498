"""Changes the product in one place at a time, and lists the changes that no test notices.

    python -m tools.mutants --paths shared/commands bot/delivery --sample 40 --seed 7 \
        --tests tests/promises tests/pure

A change turns a comparison or a condition round, moves a number, drops a call or returns nothing. The
sample depends on the seed and the sources alone. All tests run once, for the lines that each reaches
(`--reach FILE` keeps this for the next run); then each change is tried by the tests that reach it. No
file is written: the process of these tests compiles the changed module instead.

As pytest's plugin this module is what such a process does otherwise than usual.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest
from coverage import Coverage, CoverageData

FLIPPED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
LOGGING = {"log", "logger", "logging", "warnings"}
TIMEOUT_SECONDS = 300.0
MOST_TESTS = 60
"""Tests that try one change: of those that reach it, half reach the fewest lines of all, and half, such as stories, the most."""
CHANGE, REACH = "MUTANTS_CHANGE", "MUTANTS_REACH"
"""Settings of a process of tests: the change that it makes, or the file for the lines that it reaches."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `start` and `end` are places in its bytes."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def end_line(self) -> int:
        return self.line + self.old.count("\n")

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


class Reach:
    """The tests that reach each line; a line that runs at import is reached by all tests of its module."""

    def __init__(self, file: Path, known: frozenset[str]) -> None:
        """`known` are the tests that are there now."""
        self._data, self._known = CoverageData(str(file)), known
        self._data.read()
        self._breadth = Counter(
            test
            for path in self._data.measured_files()
            for tests in self._data.contexts_by_lineno(path).values()
            for test in tests
        )

    def tests(self, path: Path, mutant: Mutant) -> list[str]:
        """Return some that reach a change; those that reach little else come first and end soonest."""
        by_line = self._data.contexts_by_lineno(str(path))
        first = mutant.line
        while first > 1 and first not in by_line:  # a line within a statement
            first -= 1
        reached = {test for line in range(first, mutant.end_line + 1) for test in by_line.get(line, ())}
        if "" in reached:
            reached = {test for tests in by_line.values() for test in tests}
        found = sorted(reached & self._known, key=lambda test: (self._breadth[test], test))
        middle = slice(MOST_TESTS // 2, max(MOST_TESTS, len(found)) - MOST_TESTS // 2)
        del found[middle]
        return found


class Tests:
    """The tests of a checkout, each run in a process of its own."""

    def __init__(self, root: Path, chosen: Sequence[str]) -> None:
        self._root, self._chosen = root, chosen

    def measure(self, file: Path) -> bool:
        """Run all and write what they reach into a file; False: they fail."""
        told = {REACH: f"{file}.part"}
        passed = self._run("-n", str(os.cpu_count()), *self._chosen, told=told).returncode == 0
        whole = Coverage(data_file=str(file), config_file=False)
        whole.combine([str(part) for part in file.parent.glob(f"{file.name}.part.*")])  # and delete them
        if passed:
            whole.save()
        else:
            file.unlink()
        return passed

    def known(self) -> frozenset[str]:
        listed = self._run("--collect-only", "-o", "addopts=", *self._chosen).stdout.decode()
        return frozenset(line for line in listed.splitlines() if "::" in line)

    def notice(self, mutant: Mutant, tests: Sequence[str], *, timeout: float) -> bool:
        """Try a change. Tests that hang or can't be read any more notice it, too."""
        told = {CHANGE: json.dumps(asdict(mutant))}
        try:
            return bool(tests) and self._run("-x", *tests, told=told, timeout=timeout).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def _run(
        self, *words: str, told: dict[str, str] | None = None, timeout: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        options = ["-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", "-p", "tools.mutants"]
        path = f"{self._root}{os.pathsep}{Path(__file__).parents[1]}"
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, *words],
            cwd=self._root,
            env={**os.environ, "PYTHONPATH": path, "COVERAGE_CORE": "ctrace", **(told or {})},
            timeout=timeout,
            check=False,
            capture_output=True,
        )


_measured: list[Coverage] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Begin before the first module of the product is imported."""
    if change := os.environ.get(CHANGE):
        _compile_changed(Mutant(**json.loads(change)))
    if file := os.environ.get(REACH):
        here, elsewhere = [f"{Path.cwd()}/*"], ["*/tests/*", "*/.venv/*"]
        measured = Coverage(file, data_suffix=True, config_file=False, include=here, omit=elsewhere)
        measured.start()
        _measured.append(measured)


def _compile_changed(mutant: Mutant) -> None:
    path, get_code = str(Path(mutant.path).resolve()), SourceFileLoader.get_code

    def get_changed(loader: SourceFileLoader, name: str) -> CodeType | None:
        if loader.path != path:
            return get_code(loader, name)
        return compile(mutant.apply(Path(path).read_bytes()), path, "exec", dont_inherit=True)

    setattr(SourceFileLoader, "get_code", get_changed)  # noqa: B010 # mypy refuses a plain assignment


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    for measured in _measured:
        measured.switch_context(item.nodeid)
    return (yield)


def pytest_sessionfinish() -> None:
    for measured in _measured:
        measured.stop()
        measured.save()


def main(words: Sequence[str] | None = None, *, root: Path = Path(__file__).parents[1]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--paths", nargs="+", required=True)
    parser.add_argument("--sample", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=["tests/promises", "tests/pure"])
    parser.add_argument("--reach", type=Path, help="file of the lines that each test reaches; made once")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_SECONDS)
    given = parser.parse_args(words)
    chosen, tests = drawn(root, given.paths, sample=given.sample, seed=given.seed), Tests(root, given.tests)
    with tempfile.TemporaryDirectory() as folder:
        file: Path = given.reach or Path(folder) / "reach"
        if not file.exists() and not tests.measure(file):
            print("The tests fail without any change.", file=sys.stderr)
            return 2
        reach = Reach(file, tests.known())

        def is_noticed(mutant: Mutant) -> bool:
            trying = reach.tests(root / mutant.path, mutant)
            noticed = tests.notice(mutant, trying, timeout=given.timeout)
            if not noticed:
                print(f"survives {len(trying)} tests  {mutant}", flush=True)
            return noticed

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            noticed = sum(pool.map(is_noticed, chosen))
    print(f"{noticed} of {len(chosen)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
