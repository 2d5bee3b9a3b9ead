"""The picture of the explore page in README and tour: `python -m docs.screenshot` (with Chromium or Chrome on PATH)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tapec.cli import main

DOCS = Path(__file__).resolve().parent
SIZE = "1440,760"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

MODEL = """\
import numpy as np


def loss(w, b, x, y):
    h = np.tanh(x @ w + b)
    return np.mean((h - y) ** 2)


loss.example_args = (np.ones((30, 20)), np.ones(20), np.ones((200, 30)), np.ones((200, 20)))
"""

POINT_AT = """<script>
document.querySelector('#user .ln[data-at="model.py:6"]').click();
</script>"""


def screenshot(out: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("neither Chromium nor Chrome is on PATH")
    with tempfile.TemporaryDirectory() as folder:
        model, page = Path(folder) / "model.py", Path(folder) / "page.html"
        model.write_text(MODEL)
        words = ["explore", f"{model}:loss", "--wrt", "w,b", "-o", str(page)]
        if main(words):
            sys.exit(1)
        page.write_text(page.read_text(encoding="utf-8").replace("</body>", POINT_AT + "</body>"), encoding="utf-8")
        flags = [f"--user-data-dir={folder}/profile", "--hide-scrollbars", f"--window-size={SIZE}"]
        subprocess.run([browser, *FLAGS, *flags, f"--screenshot={out}", page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    screenshot(DOCS / "explore.png")
