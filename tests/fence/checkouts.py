"""Lay out a commit, or a folder, so that programs run against its tapec."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

__all__ = ["PARTS", "ROOT", "copy", "lay_out"]

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("tapec", "docs", "examples", "README.md", "pyproject.toml")  # `tests` is that of this command, for both


def lay_out(what: str, folder: Path) -> str:
    """Write the parts of a commit or a folder, and the tests of this checkout, into a folder; gives a name for it."""
    folder.mkdir(parents=True)
    source = Path(what)
    if (source / "tapec" / "__init__.py").is_file():
        for part in PARTS:
            copy(source / part, folder / part)
        name = str(source)
    else:
        _extract(what, folder)
        name = _git("rev-parse", "--short", what).decode().strip()
    copy(ROOT / "tests", folder / "tests")
    return name


def copy(source: Path, target: Path) -> None:
    """Copy a file, or a folder without what Python caches in it."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def _extract(commit: str, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, *PARTS))) as archive:
        archive.extractall(folder, filter="data")


def _git(*words: str) -> bytes:
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    if run.returncode:
        raise SystemExit(
            f"git {' '.join(words)} failed: {run.stderr.decode().strip()}. "
            "Fix: give a revision that `git rev-parse` knows, or a folder with a `tapec` package."
        )
    return run.stdout
