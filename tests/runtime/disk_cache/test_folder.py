"""The cache on disk: what is kept for another process, who may use it, and what happens when it is damaged."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.api.compiled.fresh.families import Family
from tapec.codegen.runtime_helpers import HELPERS
from tapec.ir import Graph, parse
from tapec.runtime.compile import CompiledGraph, Options
from tapec.runtime.disk_cache import entry, key
from tapec.runtime.disk_cache import folder as disk
from tapec.runtime.disk_cache.lazy import is_private_group
from tests.ops.derivatives import by_tape
from tests.passes.support import text
from tests.properties import calls, statements


@pytest.fixture(autouse=True)
def functions_share_nothing(monkeypatch):
    """A function that is made again stands for that of another process."""
    monkeypatch.setattr(Family, "shares", False)


POSIX = hasattr(os, "getuid")

PROGRAM = """\
import numpy as np
import tapec

table = np.arange(12.0).reshape(3, 4)
weights = np.asfortranarray(np.linspace(-1.0, 1.0, 40).reshape(4, 10))


@tapec.value_and_grad
def loss(x, w):
    h = np.tanh(x @ w) + np.linspace(0.0, 1.0, 10) @ np.arange(100.0).reshape(10, 10)
    if np.sum(x) > 0.0:
        return np.sum(np.log1p(h * h))
    return np.mean(h)


@tapec.grad
def orbit(p):
    x, v = p
    for _ in range(3):
        x, v = x + 0.1 * v, v - 0.1 * np.sin(x)
    return x * x + 1.0 / v


@tapec.jacobian
def rows(x):
    return np.cumsum(x) * np.linalg.det(np.outer(x, x) + np.eye(3))


x = tapec.Variable(np.ones(4), name="x")
with tapec.GradientTape() as tape:
    y = np.sum(np.exp(table @ x) * 2.0)

print(loss(table, weights)[1].sum().hex(), loss(-table, weights)[0].hex())
print([v.hex() for v in orbit(np.array([0.5, 0.2])).tolist()])
print([v.hex() for v in rows(np.arange(1.0, 4.0)).ravel().tolist()])
print([v.hex() for v in tape.gradient(y, x).numpy().tolist()])
for f in (loss, orbit, rows):
    print(f.source())
print(tape.source(y, x))
loaded = [f.cache_info().loaded for f in (loss, orbit, rows)], tapec.cache_info().loaded
"""


def process(folder, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    script = folder.parent / "script.py"
    script.write_text(text)
    env = {**os.environ, "TAPEC_CACHE_DIR": str(folder), "TAPEC_DEBUG": "0", **env}
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=True)


@pytest.fixture
def folder(tmp_path):
    """A cache in force, in a folder that does not exist yet."""
    disk._told.clear()
    with tapec.settings(cache_dir=str(tmp_path / "kept")):
        yield tmp_path / "kept"


def wave(n: int = 3):
    """A function compiled for the first time; `n` is part of its structure."""
    return tapec.value_and_grad(lambda x: np.sum(np.sin(x * 2.0)[:n] * np.arange(float(n))))


X = np.array([0.1, 0.2, 0.3])


def entries(folder) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".tapec"))


def read(path) -> bytes:
    with open(path, "rb") as f:
        return f.read()


# -- hits ----------------------------------------------------------------------------------------------------------
def test_another_process_loads_the_same_code(tmp_path):
    folder = tmp_path / "kept"
    first = process(folder, PROGRAM + "\nassert loaded == ([0, 0, 0], 0), loaded\n")
    files = entries(folder)
    second = process(folder, PROGRAM + "\nassert loaded == ([2, 1, 1], 1), loaded\n")
    assert second.stdout == first.stdout
    assert second.stderr == first.stderr == ""
    assert entries(folder) == files and len(files) == 5  # the decision tree with one path, and with both


def test_off_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tapec.settings(cache_dir=""):
        wave()(X)
    assert os.listdir(tmp_path) == []


def test_second_function_of_one_process_loads(folder):
    functions = [wave() for _ in range(2)]
    results = [f(X) for f in functions]
    np.testing.assert_array_equal(*[r[1] for r in results])
    assert [f.cache_info().loaded for f in functions] == [0, 1]
    assert [f.cache_info().compilations for f in functions] == [1, 1]
    assert functions[0].source() == functions[1].source()
    assert str(functions[0].ir(X)) == str(functions[1].ir(X))
    [name] = entries(folder)
    note = f"the code was loaded from the cache on disk, entry {name[:12]}"
    assert note in functions[1].explain(X).notes
    assert note not in functions[0].explain(X).notes
    functions[1].cache_clear()
    assert functions[1].cache_info().loaded == 0


@pytest.mark.parametrize("helper", sorted(HELPERS))
def test_code_that_calls_helpers_is_kept(folder, helper):
    rng = np.random.default_rng(0)
    table, places = rng.normal(size=(2000, 4)), rng.integers(0, 2000, 300)
    image, rows, columns = rng.normal(size=(50, 50)), *rng.integers(0, 50, (2, 5000))
    at = lambda x: np.sum(np.sin(x[rows, columns]) ** 2)
    long = rng.normal(size=400_000)
    programs = {
        "add_at": (lambda x: np.sum(np.sin(x[places]) ** 2), table),
        "elements_at": (at, image),
        "places_in": (at, image),
        "by_columns": (lambda x: np.sum(np.sin(x * x[:, :1])), rng.normal(size=(5000, 3))),
        "chosen": (lambda x: np.sum(np.where(x > 0, np.sin(x), np.cos(x))), long),
        "in_threads": (lambda x: np.sum(np.sin(x) * np.exp(x)), long),
        "masked": (lambda x: np.sum(np.where(x > 0, np.sin(x), 0.0)), long),
        "rows_at": (lambda x: np.sum(x[places] ** 2), table),
        "segment_sums": (lambda x: np.sum(np.add.reduceat(x, [0, 5, 900]) ** 2), rng.normal(size=(20_000, 16))),
        "stable_order": (lambda x: np.sum(np.sin(x)[np.argsort(x, kind="stable")][:1500] ** 2), table[:, 0].copy()),
    }
    f, x = programs[helper]
    with tapec.settings(threads=2):
        functions = [tapec.value_and_grad(f) for _ in range(2)]
        results = [f(x) for f in functions]
        assert calls(functions[0].source(), helper)
    np.testing.assert_array_equal(*[r[1] for r in results])
    assert [f.cache_info().loaded for f in functions] == [0, 1]


def test_key_tells_apart_what_gives_other_code(folder):
    wave(3)(X)
    wave(3)(X + 1.0)  # the same types: the same entry
    wave(2)(X)  # another graph
    assert len(entries(folder)) == 2
    with tapec.settings(check_nan=True):
        wave()(X)
    with tapec.settings(fast_math=True):
        wave()(X)
    assert len(entries(folder)) == 4
    n = 3
    tapec.value_and_grad(lambda x: np.sum(np.sin(x * 2.0)[:n] * np.arange(float(n))))(X)  # another line of the user's
    tapec.value_and_grad(lambda y: np.sum(np.sin(y * 2.0)[:n] * np.arange(float(n))))(X)  # and another name
    assert len(entries(folder)) == 6


def test_key_tells_apart_what_inputs_were_made_of():
    """The passes keep infinities out of products with nothing, and ask what may be infinite."""
    made = [parse(text("%y: f64[3]", f"{op} %y")) for op in ("tanh", "log", "log")]
    keys = []
    for selection in ("where %c, %x, 0.0", "add %x, %x"):
        for past in made:
            graph = parse(text("%c: bool[3], %x: f64[3], %r: f64[3]", f"{selection} !ct; multiply %0, %r !ct"))
            graph.past = Graph([*graph.inputs, *past.inputs], past.nodes, [*graph.inputs[:2], *past.outputs])
            keys.append(key.key_of(graph, Options("f", all_inputs=False)))
    assert keys[0] != keys[1] == keys[2]
    assert keys[3] == keys[4]


def test_decision_trees_differ_in_their_values(folder):
    def steps(x):
        y = x
        while y < 10.0:
            y = y * 3.0
        return y

    for start in (5.0, 1.0, 0.2):
        f, g = tapec.grad(steps), tapec.grad(steps)
        assert f(start) == g(start)
        assert g.cache_info().loaded == 1
    f, g = tapec.grad(steps), tapec.grad(steps)
    assert [f(s) for s in (5.0, 1.0, 0.2)] == [g(s) for s in (5.0, 1.0, 0.2)]
    assert g.cache_info().loaded == 3 and g.source() == f.source()


def test_constants_of_every_kind(folder):
    makers = [
        lambda: np.arange(600.0).reshape(20, 30),
        lambda: np.asfortranarray(np.arange(600.0).reshape(20, 30)),
        lambda: np.arange(600, dtype=np.float32).reshape(20, 30)[::2, ::3],
        lambda: np.arange(600).reshape(20, 30) * 1j,
        lambda: np.arange(600).reshape(20, 30) % 3 == 0,
        lambda: np.float32(0.1),
        lambda: np.eye(30),
        lambda: np.eye(30) * -1.0 * -1.0 - 0.0,
        lambda: np.zeros((0, 3)),
        lambda: np.arange(30, dtype=np.int32),
    ]
    for make in makers:
        f, g = [tapec.compile(lambda x: (x * make(), make())) for _ in range(2)]  # noqa: B023
        c = make()
        for h in (f, g):
            product, constant = h(np.float32(2.0))
            np.testing.assert_array_equal(product, np.float32(2.0) * c)
            np.testing.assert_array_equal(constant, c)
            assert (product.dtype, constant.dtype) == ((np.float32(2.0) * c).dtype, c.dtype)
        assert g.cache_info().loaded == 1


@pytest.mark.thorough
def test_long_source_is_made_again(folder):
    kinds = np.random.default_rng(0).integers(0, 3, 900).tolist()  # so that no loop is found in it

    def long(x, n):
        for kind in kinds[:n]:
            x = (np.sin, np.cos, np.tanh)[kind](x) / (x + 1.0)
        return x

    f, g = [tapec.grad(long, static_argnums=1) for _ in range(2)]
    with tapec.settings(debug=0):
        assert f(0.5, 900) == g(0.5, 900)
        assert g.cache_info().loaded == 1
        assert g.source() == f.source() and len(statements(f.source())) > 900
        assert np.isnan(f(np.nan, 900)) and np.isnan(g(np.nan, 900))
        with np.errstate(all="ignore"):
            assert np.isnan(g(-1.0, 900)) == np.isnan(f(-1.0, 900))  # what floats cannot do is generated again, too


def test_errors_name_the_line_of_the_user(folder):
    f, g = [tapec.compile(lambda x: np.linalg.inv(x) + 1.0) for _ in range(2)]
    told = []
    for h in (f, g):
        h(np.eye(2))
        with pytest.raises(np.linalg.LinAlgError) as e:
            h(np.zeros((2, 2)))
        told.append(e.value.__notes__)
    assert told[0] == told[1] and "np.linalg.inv(x)" in told[0][0]


def test_tapes_load(folder):
    def slope():
        tapec.cache_clear()
        return by_tape(lambda x: np.sum(np.tanh(x) ** 2 * np.arange(3.0)))(X)

    first = slope()
    assert tapec.cache_info().loaded == 0
    np.testing.assert_array_equal(slope(), first)
    assert tapec.cache_info()[2:] == (1, 1, tapec.settings.cache_size) and tapec.cache_info().loaded == 1


# -- what is never kept --------------------------------------------------------------------------------------------
def test_ops_of_the_user_are_not_kept(folder):
    from tapec.ir.op import OPS
    from tapec.ops.core.define import as_operand, define
    from tapec.ops.core.stand_in import apply

    cube = define(
        "test_disk_cube",
        run=lambda x: x**3,
        rule=lambda t: t,
        kind="elementwise",
        partials=lambda y, x: (3.0 * x * x,),
        source="{0} ** 3",
    )
    try:
        f = tapec.grad(lambda x: np.sum(apply(cube, (as_operand(x),))))
        np.testing.assert_allclose(f(X), 3.0 * X * X)
        second = tapec.compile(lambda x: apply(cube, (as_operand(x),)) + 1.0)
        np.testing.assert_allclose(second(X), X**3 + 1.0)
    finally:
        del OPS["test_disk_cube"]
    kept = [entry.described(read(folder / name))["name"] for name in entries(folder)]
    assert "function" not in kept  # what the op of its own is part of; a gradient without it may be kept


def test_no_pickle_and_no_object_arrays():
    with pytest.raises(ValueError, match="an array of object"):
        entry.packed({"key": "k"}, [], {"a": np.array([None])})


# -- rights --------------------------------------------------------------------------------------------------------
@pytest.fixture
def shared_group(monkeypatch):
    """Other users are in each group."""
    monkeypatch.setattr(disk, "is_private_group", lambda group, user: False)


def refused(folder) -> str:
    """Return the one warning of a program that computes without its cache, and loads and keeps nothing."""
    disk._told.clear()
    with pytest.warns(tapec.TapecWarning) as caught:
        f, g = wave(), wave()
        np.testing.assert_array_equal(f(X)[1], g(X)[1])
    assert (f.cache_info().loaded, g.cache_info().loaded) == (0, 0)
    [warning] = caught
    message, start = str(warning.message), f"the cache on disk {folder} is not used: "
    assert message.startswith(start)
    return message.removeprefix(start)


def accepted() -> None:
    """Check that the cache is used, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f, g = wave(), wave()
        f(X), g(X)
    assert g.cache_info().loaded == 1


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_parent_that_others_can_write_to(folder, tmp_path, mode, levels, shared_group):
    place = [tmp_path, tmp_path.parent][levels - 1]
    before = place.stat().st_mode & 0o7777
    try:
        place.chmod(mode)
        fix = f"chmod go-w {place}, or set TAPEC_CACHE_DIR to a folder elsewhere."
        assert refused(folder) == f"others can write to {place}. Fix: {fix}"
        assert os.listdir(folder) == []
        place.chmod(mode | 0o1000)  # sticky: what somebody made is theirs
        accepted()
        place.chmod(mode)  # looked at before each load
        refused(folder)
    finally:
        place.chmod(before)


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_parent_of_somebody_else(folder, tmp_path, monkeypatch):
    """Nobody but root may own what stands above a folder of one's own."""
    wave()(X)
    real = os.lstat

    def lstat(path):
        state = real(path)
        return os.stat_result((*state[:4], os.getuid() + 1, *state[5:])) if path == str(tmp_path) else state

    monkeypatch.setattr(os, "lstat", lstat)
    fix = "set TAPEC_CACHE_DIR to a folder within one of your own."
    assert refused(folder) == f"{tmp_path} belongs to somebody else. Fix: {fix}"


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_parents_of_root_are_used(folder, tmp_path, monkeypatch):
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda p: os.stat_result((*real(p)[:4], 0, *real(p)[5:])))
    accepted()


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_links_on_the_way_are_followed_step_by_step(tmp_path, shared_group):
    """A link leads through a folder that stands open: others can let it lead elsewhere."""
    safe, opened = tmp_path / "safe", tmp_path / "opened"
    safe.mkdir(mode=0o700)
    opened.mkdir()
    (opened / "second").symlink_to(safe)
    (tmp_path / "first").symlink_to(Path("opened") / "second")
    folder = tmp_path / "first" / "kept"
    with tapec.settings(cache_dir=str(folder)):
        accepted()
        assert len(entries(safe / "kept")) == 1
        opened.chmod(0o777)
        assert refused(folder).startswith(f"others can write to {opened}. Fix: chmod go-w {opened}")
        opened.chmod(0o1777)
        accepted()
    ways = list(disk._way_to(str(folder)))
    steps = [tmp_path, tmp_path / "first", tmp_path, opened, opened / "second"]
    assert [str(p) for p in steps] == ways[ways.index(str(tmp_path)) :][:5]
    assert ways[-1] == str(safe) and disk._way_to("/") and [*disk._way_to("/a/../b")] == ["/", "/"]


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_link_of_somebody_else(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path)
    folder, real = tmp_path / "link" / "kept", os.lstat

    def lstat(path):
        state = real(path)
        return os.stat_result((*state[:4], os.getuid() + 1, *state[5:])) if path.endswith("link") else state

    monkeypatch.setattr(os, "lstat", lstat)
    with tapec.settings(cache_dir=str(folder)):
        assert refused(folder).startswith(f"{tmp_path / 'link'} belongs to somebody else.")


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_own_private_group_may_write(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "is_private_group", lambda group, user: (group, user) == (os.getgid(), os.getuid()))
    folder.mkdir()
    for place in (tmp_path, folder):
        place.chmod(0o770)
    accepted()
    [name] = entries(folder)
    (folder / name).chmod(0o660)
    accepted()


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
@pytest.mark.parametrize(
    ("group", "user", "private"),
    [
        (("ann", 7, []), ("ann", 7), True),
        (("ann", 7, ["ann"]), ("ann", 7), True),
        (("ann", 7, ["ann", "bob"]), ("ann", 7), False),
        (("users", 7, []), ("ann", 7), False),
        (("ann", 7, []), ("ann", 8), False),
        (None, ("ann", 7), False),
        (("ann", 7, []), None, False),
    ],
)
def test_what_a_private_group_is(monkeypatch, group, user, private):
    import grp
    import pwd

    def entry_of(names, found):
        def get(number):
            if found is None:
                raise KeyError(number)
            return SimpleNamespace(**dict(zip(names, found, strict=True)))

        return get

    monkeypatch.setattr(grp, "getgrgid", entry_of(("gr_name", "gr_gid", "gr_mem"), group))
    monkeypatch.setattr(pwd, "getpwuid", entry_of(("pw_name", "pw_gid"), user))
    assert is_private_group.__wrapped__(7, 1) is private


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_folders_above_are_made_private(tmp_path):
    with tapec.settings(cache_dir=str(tmp_path / "a" / "b" / "kept")):
        wave()(X)
    assert [(tmp_path / p).stat().st_mode & 0o777 for p in ("a", "a/b", "a/b/kept")] == [0o700] * 3


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_folder_is_made_private(folder):
    wave()(X)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert all(os.stat(folder / name).st_mode & 0o777 == 0o600 for name in os.listdir(folder))


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702, 0o777])
def test_folder_that_others_can_write_to_is_not_used(folder, mode, shared_group):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(tapec.TapecWarning) as caught:
        wave()(X)
        wave()(X)
    assert [str(w.message) for w in caught] == [
        f"the cache on disk {folder} is not used: others can write to it. Fix: chmod 700 {folder}"
    ]
    assert os.listdir(folder) == []
    folder.chmod(0o700)
    wave()(X)
    assert len(entries(folder)) == 1


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_folder_of_somebody_else_is_not_used(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(folder).st_uid + 1)
    with pytest.warns(tapec.TapecWarning, match="it belongs to somebody else. Fix: set TAPEC_CACHE_DIR to a folder"):
        wave()(X)
    assert os.listdir(folder) == []


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_entry_that_others_can_write_to_is_not_used(folder, mode, shared_group):
    wave()(X)
    [name] = entries(folder)
    (folder / name).chmod(mode)
    with pytest.warns(tapec.TapecWarning) as caught:
        f = wave()
        f(X)
    assert [str(w.message) for w in caught] == [
        f"{folder / name} in the cache on disk is not used: others can write to it. It is written anew."
    ]
    assert f.cache_info().loaded == 0
    assert os.stat(folder / name).st_mode & 0o777 == 0o600


@pytest.mark.skipif(not POSIX, reason="rights of another kind")
def test_entry_of_somebody_else_is_not_used(folder, monkeypatch):
    """Left there when the folder stood open."""
    wave()(X)
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result([0o100600, 0, 0, 1, os.getuid() + 1, 0, 0, 0, 0, 0]))
    with pytest.warns(tapec.TapecWarning, match="not used: it belongs to somebody else. It is written anew"):
        f = wave()
        f(X)
    assert f.cache_info().loaded == 0


def test_systems_without_users(folder, monkeypatch):
    monkeypatch.delattr(os, "getuid", raising=False)
    functions = [wave() for _ in range(2)]
    for f in functions:
        f(X)
    assert functions[1].cache_info().loaded == 1


def test_a_file_in_place_of_the_folder(folder):
    folder.write_text("")
    with pytest.warns(tapec.TapecWarning, match="Fix: set TAPEC_CACHE_DIR to a folder"):
        assert wave()(X)[1].shape == (3,)


def test_a_name_that_no_folder_has(tmp_path):
    disk._told.clear()
    with tapec.settings(cache_dir=str(tmp_path / "no\0name")), pytest.warns(tapec.TapecWarning, match="null"):
        assert wave()(X)[1].shape == (3,)


def test_a_file_above_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with tapec.settings(cache_dir=str(tmp_path / "file" / "kept")):
        assert refused(tmp_path / "file" / "kept").startswith("Not a directory. Fix: set TAPEC_CACHE_DIR to a folder")


def test_write_that_fails_is_told_once(folder, monkeypatch):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk.os, "replace", refuse)
    with pytest.warns(tapec.TapecWarning) as caught:
        wave()(X)
        wave(2)(X)
    assert [str(w.message) for w in caught] == [
        f"the cache on disk {folder} cannot be written to: No space left on device. "
        f"Fix: make room there, or unset TAPEC_CACHE_DIR."
    ]
    assert os.listdir(folder) == []


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert disk.Folder("~/kept").path == str(tmp_path / "kept")


# -- damage --------------------------------------------------------------------------------------------------------
def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def foreign(data: bytes) -> bytes:
    about = {**entry.described(data), "key": "0" * 40}
    return entry.packed(about, [], {})


def rewritten(data: bytes, code: Any = None, **about: Any) -> bytes:
    """An entry with a right checksum."""
    head, rest = entry._opened(data)
    parts = [json.dumps({k: v for k, v in {**head, **about}.items() if v is not None}).encode(), code or bytes(rest)]
    body = b"".join(parts)
    return b"%s %s %d\n%s" % (entry.MAGIC, hashlib.sha256(body).hexdigest().encode(), len(parts[0]), body)


def without_arrays(data: bytes) -> bytes:
    return rewritten(data, arrays=None)


def with_other_code(data: bytes) -> bytes:
    return rewritten(data, b"no code at all")


def with_unknown_helper(data: bytes) -> bytes:
    return rewritten(data, helpers={"_f": "op no_such_op"})


def older(data: bytes) -> bytes:
    return data.replace(b"tapec cache 2 ", b"tapec cache 1 ", 1)


def misled(data: bytes) -> bytes:
    """The first line is wrong about how long the description is."""
    line, _, rest = data.partition(b"\n")
    return line[:-1] + b"\n" + rest


def mistyped(data: bytes) -> bytes:
    line, _, rest = data.partition(b"\n")
    return line[:-1] + b"x\n" + rest


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (misled, "its first line is wrong"),
        (mistyped, "its first line is wrong"),
        (cut, "its checksum is wrong"),
        (flipped, "its checksum is wrong"),
        (foreign, "it belongs to another key"),
        (without_arrays, "its content is wrong \\('arrays'\\)"),
        (with_other_code, "its content is wrong \\(.*\\)"),
        (with_unknown_helper, "its content is wrong \\('no_such_op'\\)"),
        (older, "it is no entry of this cache"),
        (lambda data: b"", "it is no entry of this cache"),
        (lambda data: b"import os\n", "it is no entry of this cache"),
        (lambda data: b"tapec cache 2 x y\n", "its checksum is wrong"),
    ],
)
def test_damaged_entries_are_told_and_written_anew(folder, damage, reason):
    expected = wave()(X)
    [name] = entries(folder)
    whole = read(folder / name)
    (folder / name).write_bytes(damage(whole))
    with pytest.warns(tapec.TapecWarning) as caught:
        f = wave()
        found = f(X)
    [warning] = caught
    start = re.escape(f"{folder / name} in the cache on disk is not used: ")
    assert re.fullmatch(f"{start}{reason}. It is written anew.", str(warning.message))
    np.testing.assert_array_equal(found[1], expected[1])
    assert f.cache_info().loaded == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = wave()
        g(X)
    assert g.cache_info().loaded == 1


def test_what_often_runs_keeps_its_key(folder):
    """Python 3.11 tells another place in an instruction once it has adapted it."""
    for _ in range(20):
        wave()(X)
    assert len(entries(folder)) == 1


def test_another_version_is_another_key(folder, monkeypatch):
    wave()(X)
    old = key._versions()
    monkeypatch.setattr(key, "_versions", lambda: {**old, "numpy": "3.0.0"})
    f = wave()
    f(X)
    assert f.cache_info().loaded == 0 and len(entries(folder)) == 2


def test_the_digest_depends_on_names_and_contents_of_python_files(tmp_path):
    def digest(files):
        folder = tmp_path / "package"
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
            os.utime(folder / name, (1, 1))  # an installer may give all files the same time
        return key.digest_of_files(str(folder))

    first = digest({"a.py": "x = 1", "inner/b.py": ""})
    assert digest({"inner/b.py": "", "a.py": "x = 1", "__pycache__/a.py": "", "py.typed": ""}) == first
    assert len({first, digest({"a.py": "x = 2", "inner/b.py": ""}), digest({"a.py": "x = 1", "b.py": ""})}) == 3


def test_a_changed_file_of_an_installed_package_is_another_key(folder, tmp_path):
    """Code written before an update that keeps the version is not taken for the updated package's own."""
    place = tmp_path / "site-packages"
    shutil.copytree(Path(tapec.__path__[0]), place / "tapec", ignore=shutil.ignore_patterns("__pycache__"))
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, tapec\n"
        f"assert tapec.__file__.startswith({str(place)!r})\n"
        "f = tapec.grad(lambda x: np.sum(np.sin(x)))\n"
        "f(np.ones(3))\n"
        "print(f.cache_info().loaded)\n"
    )

    def loaded():
        environment = {**os.environ, "PYTHONPATH": str(place), "TAPEC_CACHE_DIR": str(folder)}
        words = [sys.executable, str(program)]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert [loaded(), loaded()] == [0, 1]
    changed = place / "tapec" / "errors.py"
    state = changed.stat()
    before = changed.read_text()
    changed.write_text(before.replace(" the ", " THE ", 1))
    os.utime(changed, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert changed.stat().st_size == state.st_size and changed.read_text() != before
    assert [loaded(), loaded()] == [0, 1]


# -- many at once --------------------------------------------------------------------------------------------------
def test_threads_write_and_read_at_once(folder):
    expected = wave()(X)[1]
    wrong = []

    def work():
        with tapec.settings(cache_dir=str(folder)):
            for k in range(30):
                if not np.array_equal(wave()(X)[1], expected):
                    wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):
        for name in entries(folder):
            disk.Folder(str(folder)).remove(name.removesuffix(".tapec"))
    for t in threads:
        t.join()
    assert not wrong
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]


@pytest.mark.thorough
def test_processes_write_at_once(tmp_path):
    folder = tmp_path / "kept"
    (tmp_path / "many.py").write_text(
        textwrap.dedent("""
        import numpy as np, tapec
        for k in range(20):
            f, x = tapec.grad(lambda x: np.sum(np.sin(x) * 2.0)), np.ones(3 + k % 5)
            np.testing.assert_allclose(f(x), np.cos(x) * 2.0)
        """)
    )
    env = {**os.environ, "TAPEC_CACHE_DIR": str(folder)}
    running = [
        subprocess.Popen([sys.executable, "-W", "error", str(tmp_path / "many.py")], stderr=subprocess.PIPE, env=env)
        for _ in range(3)
    ]
    assert [p.communicate()[1] for p in running] == [b""] * 3
    assert [p.returncode for p in running] == [0] * 3
    assert len(entries(folder)) == 5


KILLED = """\
import os, signal, sys, time
from tapec.runtime.disk_cache import entry
from tapec.runtime.disk_cache.folder import Folder

folder, rounds = Folder(sys.argv[1]), int(sys.argv[2])
assert folder.usable()
data = entry.packed({"key": "0" * 40}, [], {"a": __import__("numpy").linspace(0.0, 1.0, 100_000)})
for k in range(rounds):
    child = os.fork()
    if not child:
        while True:
            folder.write("0" * 40, data)
    time.sleep(1e-4 * (1 + k % 50))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kept = folder.read("0" * 40)
    assert kept is None or kept == data
print(len([name for name in os.listdir(sys.argv[1]) if name.endswith(".part")]), kept == data)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork to make many writers quickly")
def test_killed_writers_leave_whole_entries_or_none(folder, tmp_path):
    words = [sys.executable, "-c", KILLED, str(folder), "200"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    left, whole = done.stdout.split()
    assert int(left) > 0 and whole == "True"  # some were killed while they wrote
    accepted()
    for name in os.listdir(folder):
        if name.endswith(".part"):
            os.utime(folder / name, (1000, 1000))
    disk.Folder(str(folder)).shrink(10**9)
    assert [name for name in os.listdir(folder) if name.endswith(".part")] == []


FULL = """\
import resource, warnings
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as if the disk had no more room
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in (1.0, 2.0):
        print(tapec.grad(lambda x: n * np.sum(np.sin(x)))(np.zeros(3)))
    print(*[w.message for w in caught])
"""


@pytest.mark.skipif(not POSIX, reason="no limit of this kind")
def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "kept"
    done = process(folder, "import numpy as np, tapec\n" + FULL)
    assert done.stdout.splitlines() == [
        "[1. 1. 1.]",
        "[2. 2. 2.]",
        f"the cache on disk {folder} cannot be written to: File too large. "
        f"Fix: make room there, or unset TAPEC_CACHE_DIR.",
    ]
    assert os.listdir(folder) == []
    with tapec.settings(cache_dir=str(folder)):
        accepted()


# -- size ----------------------------------------------------------------------------------------------------------
def test_what_was_not_used_for_longest_is_dropped(folder):
    folder.mkdir(mode=0o700)
    there = disk.Folder(str(folder))
    for k in range(6):
        there.write(f"{k:040}", bytes(300_000))
        os.utime(there.file(f"{k:040}"), (1000 + k, 1000 + k))
        if k == 2:
            there.read(f"{0:040}")  # used now, so it stays
    with tapec.settings(cache_dir_size=1):
        there.room = 0
        there.write(f"{6:040}", bytes(100))
    assert {int(f.key) for f in there.files()} == {0, 6, 5}
    assert there.files()[-1].key == f"{5:040}"


def test_half_written_files_of_the_dead_are_removed(folder):
    folder.mkdir(mode=0o700)
    there = disk.Folder(str(folder))
    (folder / "dead.part").write_bytes(b"x")
    os.utime(folder / "dead.part", (1000, 1000))
    (folder / "living.part").write_bytes(b"x")
    (folder / "notes.txt").write_text("the user's own")
    there.write("0" * 40, b"data")
    assert sorted(os.listdir(folder)) == ["0" * 40 + ".tapec", "living.part", "notes.txt"]


# -- the key -------------------------------------------------------------------------------------------------------
def test_every_op_of_ours_can_be_kept(folder):
    """In a process of its own: other tests define ops."""
    program = """
import tapec.ops.core.lazy
from tapec.ir.op import OPS
from tapec.runtime.disk_cache import key

tapec.ops.core.lazy.import_all()
print(len(OPS), [op.name for op in OPS.values() if not key.is_ours(op)])
"""
    count, others = process(folder, program).stdout.split(maxsplit=1)
    assert int(count) > 200 and others.strip() == "[]"


def test_unknown_parameters_have_no_key():
    with pytest.raises(key.NoKey):
        key.value_text(object())
    with pytest.raises(key.NoKey):
        key.value_text(np.array([None]))
    texts = [
        key.value_text(v) for v in (1, 1.0, True, 1j, "1", np.float64(1), np.float32(1), np.ones(1), np.ones((1, 1)))
    ]
    assert len(set(texts)) == len(texts)


def test_without_a_folder_there_is_the_pipeline_alone():
    graph = tapec.grad(lambda x: np.sum(np.sin(x))).ir(X, stage="gradient")
    compiled = CompiledGraph(graph, Options("f"))
    assert compiled.entry is None and compiled.reads == [0]
    np.testing.assert_array_equal(compiled.code.function(X)[0], np.cos(X))
