"""`settings.dump` writes every graph, and the source, of what is compiled."""

import itertools
import multiprocessing
import os
import re
import threading

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tapec.ir import parse
from tests.runtime.observed.broken import add_code_step, add_pass, failing_at, in_place_of


def net(w, x, y):
    h = np.tanh(x @ w)
    return np.mean((h - y) ** 2)


NET = np.full((3, 2), 0.3), np.linspace(0, 1, 15).reshape(5, 3), np.ones((5, 2))


def written(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_gradient(tmp_path):
    f = tapec.grad(net)
    with tapec.settings(dump=str(tmp_path / "a" / "dump")):
        f(*NET)
    root = tmp_path / "a" / "dump"
    assert written(root) == ["0001-net_grad", "README.txt"]
    folder = root / "0001-net_grad"
    files = written(folder)
    assert files[:3] == ["00-recorded.ir", "01-gradient.ir", "02-dce.ir"] and files[-2].endswith("-source.py")
    assert [int(name[:2]) for name in files[:-1]] == [*range(len(files) - 1)]
    graphs = [parse((folder / name).read_text()) for name in files if name.endswith(".ir")]
    assert graphs[0] == f.ir(*NET, stage="forward") and graphs[1] == f.ir(*NET, stage="gradient")
    assert graphs[-1] == f.ir(*NET) and all(a != b for a, b in itertools.pairwise(graphs))
    assert (folder / files[-2]).read_text() == f.generated(*NET)[0].source
    index = (folder / "index.txt").read_text().splitlines()
    assert [line.split()[0] for line in index] == files[:-1]
    assert "the recorded graph, operations: 5" in index[0] and "after the pass 'dce'" in index[2]


def test_values_keep_their_numbers(tmp_path):
    with tapec.settings(dump=str(tmp_path)):
        tapec.grad(net)(*NET)
    texts = [p.read_text() for p in sorted((tmp_path / "0001-net_grad").glob("*.ir"))]
    lines = [set(re.findall(r"^  %\d+: .*$", text, re.MULTILINE)) for text in texts]
    numbers = {}
    for text in lines:
        for line in text:
            number, _, what = line.partition(": ")
            assert numbers.setdefault(number, what) == what  # operands are numbers themselves, so lines are values
    assert lines[1] & lines[-1]


def test_a_function_without_gradient_has_one_graph_before_the_passes(tmp_path):
    with tapec.settings(dump=str(tmp_path)):
        tapec.compile(net)(*NET)
    assert written(tmp_path / "0001-net")[0] == "00-recorded.ir"
    assert not list((tmp_path / "0001-net").glob("*gradient*"))


def test_a_tape(tmp_path):
    w = tapec.Variable(NET[0])
    with tapec.settings(dump=str(tmp_path)), tapec.GradientTape() as tape:
        loss = net(w, *NET[1:])
        tape.gradient(loss, w)
    (folder,) = [p for p in tmp_path.iterdir() if p.is_dir()]
    files = written(folder)
    assert files[:2] == ["00-recorded.ir", "01-gradient.ir"] and files[-2].endswith("source.py")
    assert "tanh" in (folder / files[0]).read_text()


def test_branches_and_large_constants(tmp_path):
    table = np.arange(50.0)

    def f(x):
        y = np.where(x > 0, x, table[:50] * 1.0)
        return np.sum(y * np.linspace(0, 1, 50)) if np.sum(x) > 0 else np.sum(y)

    g = tapec.grad(f)
    with tapec.settings(dump=str(tmp_path)):
        g(np.ones(50)), g(-np.ones(50))
    folders = [p for p in written(tmp_path) if p.startswith("0")]
    assert folders == ["0001-f_grad", "0002-f_grad"]
    second = tmp_path / folders[1]
    texts = [name for name in written(second) if name.endswith(".txt") and name != "index.txt"]
    assert texts and all("@" in (second / name).read_text() for name in texts)  # named: no text to read back
    assert (second / written(second)[-2]).read_text() == g.generated(np.ones(50))[0].source


def test_steps_of_code_generation(tmp_path, monkeypatch):
    add_code_step(monkeypatch, in_place_of("tanh", "sin"), "sines")
    w = np.linspace(-1, 1, 600).reshape(30, 20)
    with tapec.settings(dump=str(tmp_path), check="never"):
        tapec.compile(lambda x: np.sum(np.tanh(x) * x))(w)
    (folder,) = [p for p in tmp_path.iterdir() if p.is_dir()]
    files = written(folder)
    assert any(name.endswith("sums-of-products.ir") for name in files), files
    (wrong,) = [name for name in files if "sines" in name]
    assert "sin" in (folder / wrong).read_text() and "np.sin" in (folder / files[-2]).read_text()
    assert "after the step 'sines' of code generation" in (folder / "index.txt").read_text()


def test_numbers_go_on_in_a_folder_that_is_there(tmp_path):
    with tapec.settings(dump=str(tmp_path)):
        tapec.compile(lambda x: x + 1.0)(np.ones(2))
        (tmp_path / "0041-other").mkdir()
        tapec.compile(lambda x: x + 2.0)(np.ones(2))
    assert [name[:4] for name in written(tmp_path)][:-1] == ["0001", "0041", "0042"]


def times(k):
    return lambda x: np.sum(np.sin(x) * float(k))


def test_threads_have_folders_of_their_own(tmp_path):
    start = threading.Barrier(6)

    def work(k):
        f = tapec.grad(times(k + 2))
        start.wait()
        with tapec.settings(dump=str(tmp_path)):
            f(np.ones(3))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    check_each_is_whole(tmp_path, 6)


def check_each_is_whole(root, count):
    folders = [p for p in sorted(root.iterdir()) if p.is_dir()]
    assert [p.name[:4] for p in folders] == [f"{k:04d}" for k in range(1, count + 1)]
    sources = set()
    for folder in folders:
        *files, index = written(folder)
        assert index == "index.txt" and [int(name[:2]) for name in files] == [*range(len(files))]
        assert files[0] == "00-recorded.ir" and files[-1].endswith("source.py")
        assert [line.split()[0] for line in (folder / index).read_text().splitlines()] == files
        sources.add((folder / files[-1]).read_text())
    assert len(sources) == count


def _compile_some(root, k):
    with tapec.settings(dump=root):
        for j in range(3):
            tapec.grad(times(10 * k + j + 2))(np.ones(3))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_have_folders_of_their_own(tmp_path):
    tapec.grad(net)(*NET)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_compile_some, args=(str(tmp_path), k)) for k in range(3)]
    [c.start() for c in children]
    _compile_some(str(tmp_path), 3)
    [c.join() for c in children]
    assert [c.exitcode for c in children] == [0, 0, 0]
    check_each_is_whole(tmp_path, 12)


@pytest.mark.parametrize("add", [add_pass, add_code_step])
def test_what_fails_is_written_down(tmp_path, monkeypatch, add):
    add(monkeypatch, failing_at("tanh"))
    with tapec.settings(dump=str(tmp_path)), pytest.raises(KeyError):
        tapec.grad(net)(np.ones((30, 20)), np.ones((50, 30)), np.ones((50, 20)))
    folder = tmp_path / "0001-net_grad"
    *_, last, _index = written(folder)
    assert last.endswith("-error.txt")
    assert "'mine'" in (folder / last).read_text() and "KeyError" in (folder / last).read_text()


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with tapec.settings(dump=str(tmp_path / "file")), pytest.raises(TapecError) as e:
        tapec.grad(net)(*NET)
    assert f"TAPEC_DUMP={tmp_path / 'file'}: File exists. Fix: name a folder that you can write to." in str(e.value)


def test_code_that_is_kept_on_disk_is_dumped_too(tmp_path):
    with tapec.settings(cache_dir=str(tmp_path / "kept")):
        tapec.grad(net)(*NET)
        with tapec.settings(dump=str(tmp_path / "dump")):
            f = tapec.grad(lambda w, x, y: net(w, x, y))
            f(*NET)
            assert f.cache_info().loaded == 0
    assert len(written(tmp_path / "dump")) == 2
