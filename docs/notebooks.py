"""The tutorial notebooks: run without Jupyter, held against the output they keep, and made pages of the site.

python -m docs.notebooks            runs all and compares
python -m docs.notebooks --write    puts into them what their cells really print

A cell's printed text and the value of its last expression count, as in Jupyter; one with the tag `raises-exception`
must raise the error that it keeps. Lines are named by cell (`In [3], line 2`), as in Jupyter too. Outputs are compared
as those of pages are.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.blocks import ROOT, Mismatch, matches

__all__ = ["Notebook", "paths", "run", "to_markdown", "write", "write_outputs"]

FOLDER = ROOT / "docs" / "notebooks"
Notebook = dict[str, Any]


def paths() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: Notebook) -> Iterator[tuple[int, dict[str, Any]]]:
    """The cells that run, with their numbers."""
    return enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), start=1)


# -- running ---------------------------------------------------------------------------------------------------------
def run(path: Path) -> None:
    """Run a notebook in this process and in a folder of its own; raise Mismatch where it prints other than it keeps."""
    notebook = read(path)
    for number, cell, outputs in ran(notebook):
        kept, got = text_of(cell["outputs"]), text_of(outputs)
        if not matches(kept, got):
            raise Mismatch(f"{path.name}, cell {number} keeps\n{kept}\nbut gives\n{got}")


def ran(notebook: Notebook) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    """Run cell after cell in one namespace; yield each with its number and its outputs."""
    module = types.ModuleType("__main__")
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            sys.path.insert(0, folder)
            try:
                for number, cell in code_cells(notebook):
                    yield number, cell, outputs_of(number, cell, module.__dict__)
            finally:
                sys.path.remove(folder)
    finally:
        sys.modules["__main__"] = before


def outputs_of(number: int, cell: dict[str, Any], space: dict[str, Any]) -> list[dict[str, Any]]:
    source = "".join(cell["source"])
    file = f"<ipython-input-{number}-tutorial>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    out, error, value = io.StringIO(), None, None
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(tree, file, "exec"), space)
            value = eval(compile(last, file, "eval"), space) if last is not None else None
        except Exception as e:
            if "raises-exception" not in cell["metadata"].get("tags", ()):
                raise
            error = e
    outputs: list[dict[str, Any]] = []
    if out.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": out.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    if error is not None:
        name, what = type(error).__name__, str(error)
        shown = f"{name}: {what}".splitlines()
        outputs.append({"output_type": "error", "ename": name, "evalue": what, "traceback": shown})
    return outputs


def text_of(outputs: list[dict[str, Any]]) -> str:
    parts = []
    for output in outputs:
        if output["output_type"] == "stream":
            parts.append("".join(output["text"]))
        elif output["output_type"] == "error":
            parts.append("\n".join(output["traceback"]))
        else:
            parts.append("".join(output["data"]["text/plain"]))
    return "\n".join(part.rstrip("\n") for part in parts)


def write(path: Path) -> None:
    """Keep in a notebook what its cells really print, where it differs."""
    notebook = read(path)
    for number, cell, outputs in ran(notebook):
        cell["execution_count"] = number
        if not cell["outputs"] or not matches(text_of(cell["outputs"]), text_of(outputs)):
            cell["outputs"] = outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# -- the site --------------------------------------------------------------------------------------------------------
def to_markdown(path: Path) -> str:
    """A notebook as a page: text as it is, code with numbered lines under the name of its cell, then what it prints."""
    parts, number = [], 0
    for cell in read(path)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        number += 1
        parts.append(f'```python title="In [{number}]" linenums="1"\n{source}\n```')
        if shown := text_of(cell["outputs"]):
            language = "python" if "\ndef " in f"\n{shown}" else "text"
            parts.append(f"```{language}\n{shown}\n```")
    parts.insert(1, f'[This notebook as a file]({path.name}){{ download="{path.name}" }}')
    return "\n\n".join(parts) + "\n"


def write_outputs(path: Path) -> bool:
    """Let `write` do that in a process of its own; tell whether it changed the file."""
    before = path.read_bytes()
    in_process(path, "--write")
    return path.read_bytes() != before


def in_process(path: Path, *flags: str) -> int:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "docs.notebooks", "--here", *flags, str(path)]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def main(words: list[str]) -> int:
    """Each notebook runs in a process of its own."""
    chosen = [Path(w).resolve() for w in words if not w.startswith("-")] or paths()
    if "--here" in words:
        for path in chosen:
            write(path) if "--write" in words else run(path)
        return 0
    return max(in_process(path, *[w for w in words if w.startswith("-")]) for path in chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
