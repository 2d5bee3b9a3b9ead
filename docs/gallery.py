"""The pictures of docs/gallery.md: `python -m docs.gallery [NAME ...]` runs the examples that make them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.blocks import ROOT

EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs" / "gallery"


def names() -> list[str]:
    """The examples that draw."""
    found = [p for p in EXAMPLES.glob("*.py") if f'save_plot("{p.stem}.png"' in p.read_text(encoding="utf-8")]
    return sorted(p.stem for p in found)


def draw(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], cwd=folder, env=env, check=True)
        (PICTURES / f"{name}.png").write_bytes((Path(folder) / f"{name}.png").read_bytes())


if __name__ == "__main__":
    for chosen in sys.argv[1:] or names():
        draw(chosen)
