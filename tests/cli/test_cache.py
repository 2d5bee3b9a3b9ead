"""`tapec cache`: what is on disk, one entry of it, and getting rid of it."""

import json
import os
import time

import numpy as np
import pytest

import tapec as tp
from tapec.runtime.disk_cache import entry, key
from tapec.runtime.disk_cache import folder as disk


@pytest.fixture
def folder(tmp_path):
    """A cache with two entries: a gradient, and a function with two paths."""
    disk._told.clear()
    with tp.settings(cache_dir=str(tmp_path / "kept")):
        tp.grad(wave)(np.ones(3))
        f = tp.compile(huber)
        f(0.5), f(2.0)
        yield tmp_path / "kept"


def wave(x):
    return np.sum(np.sin(x))


def huber(x):
    return x * x if x < 1.0 else 2.0 * x - 1.0


def keys_of(folder, name: str) -> list[str]:
    files = disk.Folder(str(folder)).files()
    return [f.key for f in files if entry.described((folder / f"{f.key}.tapec").read_bytes())["name"] == name]


def test_list(tapec, folder):
    result = tapec("cache", "list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["key", "function", "nodes", "size", "made", "last", "used"]
    assert sorted(line.split()[1] for line in lines[1:-1]) == ["huber", "huber", "wave_grad"]
    assert all(line.endswith("just now") for line in lines[1:-1])
    assert lines[-1].startswith("3 entries, ") and lines[-1].endswith(f"kB of 256 MB, in {folder}")


def test_list_for_programs(tapec, folder):
    found = json.loads(tapec("cache", "list", "--json").out)
    assert {e["name"] for e in found} == {"huber", "wave_grad"}
    [wave_entry] = [e for e in found if e["name"] == "wave_grad"]
    assert wave_entry["inputs"] == ["x: f64[3]"] and wave_entry["outputs"] == ["f64[3]"]
    given = {"check_nan": False, "composite": True, "fast_math": False, "optimize": True, "threads": 1}
    assert wave_entry["settings"] == given
    assert wave_entry["versions"]["numpy"] == np.__version__ and wave_entry["other_versions"] == {}
    assert "source" not in wave_entry


def test_explain_an_entry(tapec, folder):
    [name] = keys_of(folder, "wave_grad")
    result = tapec("cache", "explain", name[:8])
    assert result.code == 0
    head, _, source = result.out.partition("\n\n")
    lines = dict(line.strip().split("  ", 1) for line in head.splitlines()[1:])
    assert head.splitlines()[0] == "wave_grad"
    assert lines["key"].strip() == name
    assert lines["arguments"].strip() == "x: f64[3]"
    assert f"numpy {np.__version__}" in lines["versions"]
    assert source == tp.grad(wave).source(np.ones(3))
    assert json.loads(tapec("cache", "explain", name, "--json").out)["source"] == source


def test_explain_counts_paths(tapec, folder):
    texts = [tapec("cache", "explain", k).out for k in keys_of(folder, "huber")]
    assert sorted("2 paths" in t for t in texts) == [False, True]


def test_explain_the_folder(tapec, folder):
    result = tapec("cache", "explain")
    assert result.code == 0
    assert result.out.splitlines()[:2] == [str(folder), "  it is used"]
    assert json.loads(tapec("cache", "explain", "--json").out)["entries"] == 3
    if hasattr(os, "getuid"):
        folder.chmod(0o777)
        assert f"  it is not used: others can write to it. Fix: chmod 700 {folder}" in tapec("cache", "explain").out
        assert json.loads(tapec("cache", "explain", "--json").out)["usable"] is False


def test_folder_that_does_not_exist(tapec, tmp_path):
    result = tapec("cache", "explain", "--dir", str(tmp_path / "none"))
    assert result.code == 0 and "does not exist yet" in result.out
    assert tapec("cache", "list", "--dir", str(tmp_path / "none")).out.startswith("0 entries, 0 B")
    assert not (tmp_path / "none").exists()


def test_other_versions_and_damage_are_told(tapec, folder, monkeypatch):
    [name] = keys_of(folder, "wave_grad")
    (folder / f"{name}.tapec").write_bytes(b"half")
    old = key._versions()
    monkeypatch.setattr(key, "_versions", lambda: {**old, "numpy": "3.0.0"})
    listed = tapec("cache", "list").out
    assert "damaged: it is no entry of this cache" in listed
    assert listed.count(f"not used here: numpy {np.__version__}") == 2
    assert "damaged" in tapec("cache", "explain", name).out
    told = tapec("cache", "explain").out
    assert "2 of other versions" in told and "1 damaged" in told


def test_clear(tapec, folder):
    [name] = keys_of(folder, "wave_grad")
    assert tapec("cache", "clear", name[:10]).out.startswith("removed 1 entry, ")
    assert tapec("cache", "clear", "--older-than", "1h").out == "removed 0 entries, 0 B\n"
    old = keys_of(folder, "huber")[0]
    os.utime(folder / f"{old}.tapec", (time.time() - 90000, time.time() - 90000))
    assert json.loads(tapec("cache", "clear", "--older-than", "1d", "--json").out)["removed"] == [old]
    assert tapec("cache", "clear").out.startswith("removed 1 entry, ")
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "zz"), "no entry's key begins with zz; tapec cache list shows them all"),
        (("clear", "zz"), "no entry's key begins with zz; tapec cache list shows them all"),
        (("clear", "--older-than", "soon"), "--older-than soon: write a number and h, d or w, such as 12h or 30d"),
        (("list", "--older-than", "1d"), "--older-than goes with clear"),
        (("list", "ab"), "list takes no KEY; tapec cache explain ab tells of one entry"),
    ],
)
def test_wrong_calls(tapec, folder, words, message):
    result = tapec("cache", *words)
    assert (result.code, result.out, result.err) == (2, "", f"tapec cache: {message}\n")


def test_without_a_folder(tapec):
    with tp.settings(cache_dir=""):
        result = tapec("cache", "list")
    assert result.code == 2
    assert result.err == (
        "tapec cache: there is no cache on disk: TAPEC_CACHE_DIR is not set (or name a folder by --dir)\n"
    )


def test_environment_names_the_folder(tapec_process, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy as np, tapec\ntapec.grad(lambda x: np.sum(x * x))(np.ones(2))\n")
    env = {"TAPEC_CACHE_DIR": str(tmp_path / "kept")}
    first = tapec_process("run", str(script), env=env)
    second = tapec_process("run", str(script), env=env)  # what was loaded is listed like what was compiled
    assert first == second and "function_grad" in first.out
    assert "function_grad" in tapec_process("cache", "list", env=env).out
