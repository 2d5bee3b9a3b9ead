"""The tutorial notebooks run, print what they keep, and are what Jupyter takes."""

import json
import subprocess
import sys

import pytest

from docs import notebooks
from docs.blocks import ROOT, Mismatch


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_notebook_prints_what_it_keeps(path):
    command = [sys.executable, "-m", "docs.notebooks", "--here", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def notebook(tmp_path, *cells):
    """A notebook whose cells are sources, or sources with tags."""
    made = [
        {
            "cell_type": "code",
            "id": str(k),
            "metadata": {"tags": [*tags]},
            "source": source.splitlines(keepends=True),
            "outputs": [],
            "execution_count": None,
        }
        for k, (source, *tags) in enumerate(cells)
    ]
    path = tmp_path / "1-a.ipynb"
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_cells_share_names_and_keep_what_they_print_and_give(tmp_path):
    path = notebook(tmp_path, ["x = 2\nprint(x)"], ["x + 1"], ["None"])
    with pytest.raises(Mismatch, match="cell 1 keeps\n\nbut gives\n2"):
        notebooks.run(path)
    notebooks.write(path)
    notebooks.run(path)
    outputs = [cell["outputs"] for cell in notebooks.read(path)["cells"]]
    assert [output["output_type"] for (output,) in outputs[:2]] == ["stream", "execute_result"] and outputs[2] == []
    path.write_text(path.read_text().replace('"3"', '"4"'))
    with pytest.raises(Mismatch, match="cell 2 keeps\n4\nbut gives\n3"):
        notebooks.run(path)


def test_errors_pass_where_a_cell_says_that_it_raises(tmp_path):
    with pytest.raises(ZeroDivisionError):
        notebooks.write(notebook(tmp_path, ["1 / 0"]))
    path = notebook(tmp_path, ["1 / 0", "raises-exception"])
    notebooks.write(path)
    assert notebooks.text_of(notebooks.read(path)["cells"][0]["outputs"]) == "ZeroDivisionError: division by zero"
    notebooks.run(path)
    path.write_text(path.read_text().replace("1 / 0", "1 / 1"))
    with pytest.raises(Mismatch):
        notebooks.run(path)


def test_a_page_shows_cells_with_their_numbers(tmp_path):
    path = notebook(tmp_path, ["x = 5"], ["print(x)"])
    notebooks.write(path)
    assert '```python title="In [2]" linenums="1"\nprint(x)\n```\n\n```text\n5\n```' in notebooks.to_markdown(path)
