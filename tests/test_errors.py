"""Places in the user's files and in the cells of notebooks, as messages name them."""

import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import tapec
from tapec.config import unknown_in
from tapec.errors import PACKAGE_FOLDER, filtered_warnings, place_name
from tapec.report.explorer.page import Explored, explore_page


def in_notebook(monkeypatch, cells):
    """A kernel of IPython: cells are files of a temporary folder, whose numbers it knows."""
    known = {file: ("Cell", f"In[{number}]") for file, number in cells.items()}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=known.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_places_in_files():
    assert place_name("/home/me/model.py", 7) == "model.py:7"
    assert place_name("<stdin>", 1) == "<stdin>:1"


def test_places_in_cells(monkeypatch):
    assert place_name("<ipython-input-3-0a1b2c>", 4) == "In [3], line 4"
    in_notebook(monkeypatch, {"/tmp/ipykernel_12/345.py": 12})
    assert place_name("/tmp/ipykernel_12/345.py", 4) == "In [12], line 4"
    assert place_name("/home/me/model.py", 7) == "model.py:7"


@pytest.mark.parametrize("module", [SimpleNamespace(), SimpleNamespace(get_ipython=lambda: None)])
def test_ipython_without_a_shell(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert place_name("/home/me/model.py", 7) == "model.py:7"


def test_messages_and_code_name_the_cell():
    space = {"tapec": tapec, "np": np}
    exec(
        compile("def f(x):\n    return float(x)\n\ndef g(x):\n    return np.sin(x)", "<ipython-input-2-a>", "exec"),
        space,
    )
    with pytest.raises(tapec.DetachError, match=r"^In \[2\], line 2: float\(\)"):
        tapec.grad(space["f"])(1.0)
    g = tapec.grad(space["g"])
    _, program, path = g.locate(1.0)
    page = explore_page("g", [Explored("", path.forward, program.compiled)])
    lines = [line for line in page.split('<span class="ln"') if "In [2], line 5" in line]
    assert lines and all('data-at="In[2],line5"' in line for line in lines)


def test_a_warning_is_told_at_the_users_line_once():
    def f(x):
        return x * 2.0 if x > 0.0 else x

    gradient = tapec.grad(f)
    line = sys._getframe().f_lineno + 4
    with warnings.catch_warnings(record=True) as told, tapec.settings(path_limit=1):
        warnings.simplefilter("default")
        for x in (1.0, -1.0, 2.0, -2.0):
            gradient(x)
    assert [(w.category, w.filename, w.lineno) for w in told] == [(tapec.TapecWarning, __file__, line)]


def told_by(text):
    """What a program tells on its standard error."""
    environment = {"PYTHONPATH": os.path.dirname(os.path.dirname(PACKAGE_FOLDER)), "PATH": os.environ.get("PATH", "")}
    run = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    return run.stderr


def test_compilations_let_no_warning_come_again():
    """Whoever's it is: Python's `catch_warnings` would make the process forget which warnings it has told."""
    told = told_by(
        "import warnings, numpy as np, tapec\n"
        "def tell():\n"
        "    warnings.warn('mind the gap')\n"
        "for k in range(3):\n"
        "    tell()\n"
        "    f = tapec.grad(lambda x: np.sum(x * k))\n"
        "    f(np.ones(3)), f.source()\n"
    )
    assert told.count("UserWarning: mind the gap") == 1


def test_a_filter_for_a_block():
    before, seen = warnings.filters, []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for action in ("ignore", "error", None):
            with nullcontext() if action is None else filtered_warnings(action, RuntimeWarning):
                try:
                    warnings.warn("slow", RuntimeWarning, stacklevel=1)
                except RuntimeWarning as error:
                    seen.append(str(error))
    assert seen == ["slow"] and [str(w.message) for w in told] == ["slow"] and warnings.filters is before


def test_filters_of_two_threads_leave_nothing():
    """Blocks that end in the order in which they began."""
    before = warnings.filters
    first, second = filtered_warnings("ignore"), filtered_warnings("error")
    with first:
        second.__enter__()
    assert len(warnings.filters) == len(before) + 1 and warnings.filters[0][0] == "error"
    second.__exit__(None, None, None)
    assert warnings.filters == before


def test_unknown_variables_are_told_once_at_import():
    told = told_by("import os; os.environ['TAPEC_VERFY'] = '1'\nimport tapec\nimport tapec.config")
    assert told.startswith("<string>:2: TapecWarning: tapec has no such settings") and told.count("TAPEC_VERFY") == 1


def test_unknown_variables():
    assert unknown_in({"TAPEC_VERIFY": "1", "TAPEC_THREADS": "2", "HOME": "", "TAPECX": ""}) == ""
    assert unknown_in({"TAPEC_VERFY": "1", "TAPEC_COLOUR": "2"}) == (
        "tapec has no such settings, and nothing reads them: TAPEC_COLOUR, TAPEC_VERFY (did you mean TAPEC_VERIFY?)"
    )
