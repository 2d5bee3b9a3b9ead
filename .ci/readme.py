"""Run the command of README.md that `<!-- ci: NAME -->` marks, as it is written, in a fresh copy of the checkout.

python .ci/readme.py NAME FOLDER    FOLDER is where the copy is made, and stays
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".benchmarks")


def marked_command(name: str) -> str:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"<!-- ci: {re.escape(name)} -->\s*```\w*\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if len(blocks) != 1:
        sys.exit(f"README.md marks {len(blocks)} fenced blocks with `<!-- ci: {name} -->`; there must be one")
    return blocks[0].strip()


def run_in_fresh_copy(command: str, folder: Path) -> int:
    shutil.copytree(CHECKOUT, folder, ignore=LEFT_BEHIND, symlinks=True)
    print(f"$ {command}", flush=True)
    return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(run_in_fresh_copy(marked_command(sys.argv[1]), Path(sys.argv[2])))
