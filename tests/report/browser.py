"""A real browser without a window, where one is installed: it runs a page's scripts, and then a test's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on PATH")

_HARNESS = """<script>
window.onerror = (message) => { document.title = "failed: " + message; };
</script>"""


def run_in_browser(page: str, script: str, folder: Path, size: str = "1400,900") -> Any:
    """Load a page, run `script` (the body of a function) after it, and give what it returns."""
    report = f"""<script>
const result = document.createElement("pre");
try {{ result.textContent = JSON.stringify((() => {{ {script} }})()); }}
catch (error) {{ result.textContent = JSON.stringify({{ failed: String(error.stack) }}); }}
result.id = "result-of-test";
document.body.append(result);
</script>"""
    file = folder / "page.html"
    file.write_text(
        page.replace("<head>", "<head>" + _HARNESS).replace("</body>", report + "</body>"), encoding="utf-8"
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={size}",
        "--virtual-time-budget=2000",
        "--dump-dom",
        file.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="result-of-test">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found is not None, run.stderr[-2000:]
    assert "failed: " not in re.search(r"<title>(.*?)</title>", run.stdout, re.DOTALL).group(1), run.stdout[:500]
    value = json.loads(unescape(found.group(1)))
    assert not (isinstance(value, dict) and "failed" in value), value["failed"]
    return value
