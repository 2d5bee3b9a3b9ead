"""The pinned sources: `python -m tests.regenerate` writes them anew; the difference is then reviewed."""

from pathlib import Path

import tapec
from tests.codegen.golden_functions import CASES

FOLDER = Path(__file__).parent / "golden"


def source_of(name: str) -> str:
    """Return the source generated for the value and the gradient of a function."""
    function, values, wrt = CASES[name]
    f = tapec.value_and_grad(function, argnums=wrt)
    f(*values)
    return str(f.source(*values))


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.py"


def write(name: str) -> bool:
    """Write the source of a function anew; tell whether that changed the file."""
    path, new = path_of(name), source_of(name)
    changed = not path.exists() or path.read_text(encoding="utf-8") != new
    path.write_text(new, encoding="utf-8")
    return changed
