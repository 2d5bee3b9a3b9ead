"""Pictures in the terminal and in the browser, and completion of words in shells."""

import shutil
import subprocess
import sys
import webbrowser

import pytest

from tapec.cli.main import COMMANDS


def test_a_graph_is_drawn_in_the_terminal(tapec, model, monkeypatch):
    out = tapec("graph", "model.py:loss", "--stage", "forward").out
    assert out.splitlines()[0] == "○    x  f64[5,4]"
    assert "●─┘  matmul  f64[5,2]" in out and "model.py:6  h = np.tanh(x @ w + b)" in out
    assert "\x1b[36m●─┘" in tapec("graph", "model.py:loss", "--stage", "forward", "--color", "always").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    assert max(map(len, tapec("graph", "model.py:loss").out.splitlines())) == 30


@pytest.mark.parametrize("words", [["graph", "-o", "g.svg"], ["graph"], ["explore", "--no-times", "-o", "e.html"]])
def test_open(tapec, model, monkeypatch, words):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    result = tapec(words[0], "model.py:loss", *words[1:], "--open")
    assert result.code == 0 and result.out.startswith("wrote ") and result.err == ""
    assert len(opened) == 1 and opened[0].startswith("file:///") and opened[0].endswith((".svg", ".html"))


def test_open_without_a_browser(tapec, model, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    result = tapec("graph", "model.py:loss", "-o", "g.svg", "--open")
    assert result.code == 0 and "no browser was found: open file:///" in result.err


TRY = """
try() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _tapec; echo "${COMPREPLY[*]}"; }
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("tapec so", "source"),
        ("tapec source mod", "model.py"),
        ("tapec source model.py:loss --tr", "--transform"),
        ("tapec source model.py:loss --transform v", "value_and_grad vjp vmap"),
        ("tapec cache l", "list"),
        ("tapec graph model.py:loss --stage f", "forward"),
        ("tapec completion z", "zsh"),
    ],
)
def test_bash_completes(tapec, model, words, found):
    script = tapec("completion", "bash").out
    run = subprocess.run(["bash", "-c", f"{script}{TRY}try {words}"], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == (f"{found}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_know_all_commands(tapec, shell):
    script = tapec("completion", shell).out
    assert all(name in script for _, names in COMMANDS for name in names) and "--transform" in script.replace(
        "-l ", "--"
    )
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")  # only the shell itself knows whether it can read the script
    run = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
