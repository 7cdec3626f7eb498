"""`make audit`: licences, known vulnerabilities and the component list (SBOM) of what requirements.lock installs.

Licences are read from the installed packages, so they need no network. Vulnerabilities come from PyPI: where it can't
be reached, the output says that nothing was checked.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "LGPL-3.0-only",  # psycopg, which is imported and not changed
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
    }
)
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def pinned() -> dict[str, str]:
    """Name and version of every package of the lock."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", LOCK.read_text(), flags=re.MULTILINE))


def licence(package: PackageMetadata) -> str:
    """An SPDX expression: as the package says it, else by its classifiers, else empty."""
    for field in ("License-Expression", "License"):
        declared = _field(package, field)
        if is_allowed(declared):
            return declared
    names = [line.rpartition(" :: ")[2] for line in package.get_all("Classifier", []) if "License ::" in line]
    by_classifier = " AND ".join(CLASSIFIERS.get(name, name) for name in names)
    return _field(package, "License-Expression") or by_classifier or _field(package, "License")


def _field(package: PackageMetadata, name: str) -> str:
    return str(package[name]) if name in package else ""


def is_allowed(expression: str) -> bool:
    """Whether one of its alternatives consists of allowed licences."""
    choices = expression.strip("()").split(" OR ")
    return any(all(part.strip("() ") in ALLOWED for part in choice.split(" AND ")) for choice in choices)


def check_licences(*, quiet: bool = False) -> bool:
    """Whether every one is allowed; `quiet` prints only those that aren't."""
    good = True
    for name, version in pinned().items():
        try:
            found = licence(metadata(name))
        except PackageNotFoundError:
            if not quiet:
                print(f"{name:26}{version:14}not installed on this platform: unchecked")
            continue
        allowed = is_allowed(found)
        good &= allowed
        if not (quiet and allowed):
            print(f"{name:26}{version:14}{found or 'unknown'}{'' if allowed else '   NOT ALLOWED'}")
    return good


def check_vulnerabilities() -> bool:
    command = ("-m", "pip_audit", "--disable-pip", "--require-hashes", "--timeout", "5", "--format", "json")
    ran = subprocess.run(
        [sys.executable, *command, "--requirement", LOCK, "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
    )
    return report(ran.stdout, error=ran.stderr)


def report(answer: str, *, error: str) -> bool:
    """Print what pip-audit found; whether nothing is known to be vulnerable."""
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        last = (error.strip().splitlines() or ["no answer"])[-1]
        print(f"Vulnerabilities: not checked, pip-audit failed: {last[:200]}")
        return True
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    known = [f"{one['name']} {one['version']}: {v['id']}" for one in packages for v in one.get("vulns", ())]
    if len(skipped) == len(packages):
        print("Vulnerabilities: not checked, because PyPI can't be reached from here.")
    elif skipped:
        print(f"Vulnerabilities: not checked for {', '.join(skipped)}, which PyPI doesn't know.")
    for one in known:
        print(f"VULNERABLE {one}")
    if not known and len(skipped) < len(packages):
        print(f"Vulnerabilities: none known in {len(packages) - len(skipped)} packages.")
    return not known


def write_components(folder: Path = ROOT / "dist", *, package: Path = ROOT, lock: Path = LOCK) -> bool:
    """The SBOM of a distribution and what the lock installs with it, in CycloneDX's JSON."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    target = folder / f"{project['name']}-{project['version']}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    words = (
        "requirements",
        lock,
        "--pyproject",
        package / "pyproject.toml",
        "--output-reproducible",
        "-o",
        target,
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"SBOM: {target.name} in {folder}" if ran.returncode == 0 else f"SBOM: failed: {ran.stderr[-300:]}")
    return ran.returncode == 0


if __name__ == "__main__":
    results = [check_licences(), check_vulnerabilities(), write_components()]
    sys.exit(0 if all(results) else 1)
