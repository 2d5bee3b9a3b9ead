"""Fingerprints: equal for equal meaning, in every process; different for anything else."""

import subprocess
import sys

import numpy as np
import pytest

from tapec.ir import Graph, constant, parse

TEXT = """
graph(%x: f64[3], %s: float) {
  %0: f64[3] = multiply %x, 2.0
  %c: f64[3] = constant {value=[1.0, 2.0, 3.0]}
  %1: f64[3] = add %0, %c
  %2: f64[] = sum %1 {axis=(0,), keepdims=False}
  return %2, %s
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [("%0", "%h"), ("graph(", "graph named("), ("%s", "%t"), ("\n  ", "  # said\n  ")],
)
def test_names_do_not_count(old, new):
    assert parse(TEXT.replace(old, new)) == parse(TEXT)
    assert hash(parse(TEXT.replace(old, new))) == hash(parse(TEXT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f64[3]", "f32[3]"),
        ("multiply %x, 2.0", "multiply 2.0, %x"),
        ("2.0", "2"),
        ("2.0", "-2.0"),
        ("2.0\n", "2.0 !ct\n"),
        ("multiply %x", "multiply %s"),
        ("add", "subtract"),
        ("3.0]", "4.0]"),
        ("3.0]", "nan]"),
        ("keepdims=False", "keepdims=True"),
        ("return %2, %s", "return %2"),
        ("return %2, %s", "return %s, %2"),
        ("%s: float", "%s: int"),
        ("%s: float", "%s: float, %unused: f64[]"),
    ],
)
def test_everything_else_counts(old, new):
    changed = TEXT.replace(old, new)
    if new in ("f32[3]", "keepdims=True"):
        changed = changed.replace(": f64[] =", " =").replace(": f64[3] = a", " = a").replace(": f64[3] = m", " = m")
    assert parse(changed) != parse(TEXT)


def test_graphs_inside_count_by_meaning():
    def caller(body):
        inner = f"graph f(%a: f64[]) {{\n  %0 = {body}\n  return %0\n}}\n"
        return parse(inner + "graph(%x: f64[]) {\n  %0 = call %x @f\n  %1 = %0[0]\n  return %1\n}")

    assert caller("sin %a") == caller("sin %a") != caller("cos %a")


def test_bytes_of_constants_count():
    def holding(value):
        node = constant(value)
        return Graph([], [node], [node])

    rows = np.arange(6.0).reshape(2, 3)
    assert holding(rows) == holding(np.asfortranarray(rows))
    assert holding(rows) != holding(rows + 1)
    assert holding(np.array([0.0])) != holding(np.array([-0.0]))
    assert holding(np.float64(1)) != holding(1.0)


def test_the_same_in_another_process():
    script = f"from tapec.ir import parse; import tapec; print(parse({TEXT!r}).fingerprint)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == parse(TEXT).fingerprint


def test_other_things_are_not_equal():
    assert parse(TEXT) != TEXT
