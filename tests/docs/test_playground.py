"""What the page "Try it here" answers, in CPython: tests cannot get the NumPy that Pyodide loads in a browser."""

import re
import subprocess
import sys
import zipfile

import pytest

from docs import playground
from docs.build import DOCS, playground_archive

LOSS = "import numpy as np\ndef loss(w, x):\n    return np.sum(np.tanh(x @ w))\nargs = np.ones(2), np.eye(2)\n"


@pytest.fixture(autouse=True)
def main_module():
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


def test_gradient_and_its_code():
    shown = playground.answer(LOSS)
    assert shown.startswith("gradient:\n[0.41997434 0.41997434]\n\n#")
    assert "def loss_grad(w, x):" in shown and "code.py:3" in shown


def test_jacobian_of_an_array():
    assert playground.answer(LOSS.replace("np.sum", "np.asarray")).startswith("Jacobian:\n[[0.41997434 0.")


def test_one_argument_need_be_no_tuple():
    assert "[2. 2.]" in playground.answer("import numpy as np\ndef f(x):\n    return np.sum(x**2)\nargs = np.ones(2)")


def test_what_is_printed_comes_first():
    assert playground.answer("print('hello')\n" + LOSS).startswith("hello\n\ngradient:")


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = 1", "Define a function: its gradient appears here."),
        ("def f(x):\n    return x", "Say where f is to be differentiated: args = (np.ones(3),)"),
        ("1 +", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "code.py, line 1: raise SystemExit(3)\nSystemExit: 3"),
        (LOSS.replace("x @ w", "float(w[0])"), "code.py, line 3: return np.sum(np.tanh(float(w[0])))\n*DetachError: "),
    ],
)
def test_what_is_missing_or_wrong(code, shown):
    start, _, end = shown.partition("*")
    found = playground.answer(code)
    assert start in found and end in found and len(found.splitlines()) < 6


def test_examples_of_the_page_have_answers():
    script = (DOCS / "live" / "page.js").read_text(encoding="utf-8")
    examples = re.findall(r'": `(.*?)`,', script, re.DOTALL)
    page = (DOCS / "live.md").read_text(encoding="utf-8")
    examples.append(page.partition('rows="16">\n')[2].partition("</textarea>")[0])
    assert len(examples) == 5
    for code in examples:
        assert re.match(r"(gradient|Jacobian):\n.*\n\n#.*\ndef ", playground.answer(code), re.DOTALL), code


def test_archive_runs_by_itself(tmp_path):
    path = tmp_path / "tapec.zip"
    playground_archive(path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "there")
    code = f"import sys; sys.path.insert(0, 'there'); from playground import answer; print(answer({LOSS!r}))"
    run = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("gradient:\n[0.41997434")
