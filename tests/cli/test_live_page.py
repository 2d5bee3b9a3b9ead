"""`tapec explore --serve`: a page on this machine alone, made anew when a file is saved."""

import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from tapec.cli import main
from tapec.cli.commands.explore import files_of, words_of
from tapec.cli.live_page import LivePage
from tapec.cli.main import build_parser


def ask(address, path="", **headers):
    with urllib.request.urlopen(urllib.request.Request(address + path, headers=headers), timeout=10) as answer:
        return answer.read().decode()


@contextmanager
def served(live):
    thread = threading.Thread(target=live.run)
    thread.start()
    try:
        yield live
    finally:
        live.is_over.set()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "model.py"
    file.write_text("first")
    return file


def wait_for(live, number):
    for _ in range(200):
        if ask(live.address, "number") == str(number):
            return
        live.is_over.wait(0.05)
    raise AssertionError(f"page {live.number} is served, not {number}")


def test_the_page_is_made_anew_when_the_file_is_saved(file):
    live = LivePage(lambda: f"<html><body>{file.read_text()}</body></html>", lambda: [file])
    with served(live):
        page = ask(live.address)
        assert page.startswith("<html><body>first<script>") and 'mine = "0"' in page and page.count("</body>") == 1
        file.write_text("second, and longer")
        wait_for(live, 1)
        assert "second, and longer" in ask(live.address)


def test_an_error_is_a_page_that_comes_back(file):
    def make():
        if file.read_text() == "first":
            raise ValueError("<no> function")
        return "<body>good</body>"

    live = LivePage(make, lambda: [file])
    with served(live):
        assert "&lt;no&gt; function" in ask(live.address) and "location.reload" in ask(live.address)
        file.write_text("second, and longer")
        wait_for(live, 1)
        assert "good" in ask(live.address)


def test_nobody_else_is_answered(file):
    live = LivePage(lambda: "<body>mine</body>", lambda: [file])
    assert live.server.server_address[0] == "127.0.0.1"
    with served(live):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(live.address, Host="evil.example:80")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(live.address, "etc/passwd")


def test_a_process_of_its_own_gets_the_same_words():
    words = ["m.py:f", "--args", "f64[3]", "w=-2.0", "--wrt", "x,w", "--beside", "fast_math=True", "--limit", "9"]
    words += ["--more-args", "np.ones(2)", "1.0", "--no-times", "--transform", "hessian"]
    options = build_parser().parse_args(["explore", *words, "--serve", "--port", "8000"])
    again = build_parser().parse_args(["explore", *words_of(options)])
    assert vars(again) == {**vars(options), "serve": False, "port": 0}


def test_files_to_watch(tmp_path, monkeypatch):
    for name in ("model.py", "helper.py", "notes.txt", "graph.ir"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    assert [f.name for f in files_of("model.py:loss")] == ["helper.py", "model.py"]
    assert [f.name for f in files_of("graph.ir")] == ["graph.ir"]
    assert "page.py" in [f.name for f in files_of("tapec.report.explorer.page:explore_page")]


def test_text_from_stdin_cannot_be_watched(capsys):
    assert main(["explore", "-", "--serve"]) == 2
    assert "give its name" in capsys.readouterr().err


def test_the_command_makes_its_page_in_another_process(tmp_path, monkeypatch):
    from tapec.cli.commands.explore import made_elsewhere

    (tmp_path / "model.py").write_text("import numpy as np\n\n\ndef f(x):\n    return np.sum(np.sin(x))\n")
    monkeypatch.chdir(tmp_path)
    options = build_parser().parse_args(["explore", "model.py:f", "--args", "f64[3]", "--no-times", "--serve"])
    assert "np.sin(x)" in made_elsewhere(options)
    (tmp_path / "model.py").write_text("import numpy as np\n\n\ndef f(x):\n    return oops\n")
    with pytest.raises(Exception, match="oops"):
        made_elsewhere(options)
