"""`make release`: the wheel, built twice and compared, with components, licenses, lock and checksums."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests import audit

ROOT = Path(__file__).parents[1]
LICENSE_NAMES = ("LICEN", "COPYING", "NOTICE")


def git(*words: str) -> str:
    ran = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def build(into: Path) -> Path:
    """A wheel whose files have the time of the commit, so that another build of it has the same bytes."""
    moment = git("log", "-1", "--format=%ct") or os.environ.get("SOURCE_DATE_EPOCH", "1577836800")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": moment}
    subprocess.run(
        words, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    (wheel,) = into.glob("*.whl")
    return wheel


def check(wheel: Path) -> str:
    """What the wheel's own package says of itself when it is imported from the wheel alone."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
        subprocess.run([*pip, "--no-deps", "--target", folder, wheel], check=True)
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "outreach_ops", "--version"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    return ran.stdout.strip()


def write_licenses(target: Path) -> None:
    """A list of every package that is installed, and the texts of their licenses."""
    listed, texts = list[str](), list[str]()
    for name, version in audit.pinned().items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            listed.append(f"{name} {version}: not installed on this platform")
            continue
        listed.append(f"{name} {version}: {audit.licence(package.metadata)}")
        for file in sorted(package.files or (), key=str):
            if file.name.upper().startswith(LICENSE_NAMES) and ".dist-info" in str(file.parent):
                texts.append(f"\n{'=' * 80}\n{name} {version}: {file.name}\n\n{file.read_text()}")
    target.write_text("\n".join([*listed, *texts]), encoding="utf-8")


def write_checksums(folder: Path) -> None:
    """For `sha256sum --check`."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


def release(folder: Path) -> bool:
    """Write everything into an empty folder; whether it is good."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if changed := git("status", "--porcelain"):
        print(f"Uncommitted changes are part of this release:\n{changed}")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        wheel, again = build(Path(first)), build(Path(second))
        if wheel.read_bytes() != again.read_bytes():
            print(f"{wheel.name}: two builds differ")
            return False
        shutil.copy(wheel, folder)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, twice the same: {check(wheel)}")
    good = audit.check_licences(quiet=True) and audit.write_components(folder)
    write_licenses(folder / "licenses.txt")
    shutil.copy(ROOT / "requirements.lock", folder)
    write_checksums(folder)
    return good


if __name__ == "__main__":
    sys.exit(0 if release(Path(sys.argv[1])) else 1)
