"""Graph text may come from anybody: what is changed in it is read, or refused, and never runs."""

from __future__ import annotations

import ast
import builtins
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapec
from tapec.errors import ParseError, VerifyError
from tapec.ir import Graph, parse, verify
from tapec.runtime.compile import CompiledGraph, Options
from tests.ir.test_param_types import cases, graph_of

pytest.importorskip("scipy")

SMALL = 10_000  # elements; graphs with more are not compiled, since constants of that size would be made

# code that leaves a trace behind, however it is put into an expression
CODE = "__import__('builtins').__dict__.__setitem__('canary', 1)"
EVIL = [repr(CODE), repr(f"0, {CODE}"), repr(f"0)+({CODE}"), repr(f"x\n{CODE}\n"), f'%"{CODE}"', CODE]
WORDS = """None True False -1 0 1 99999999999999999999 1e400 nan -inf (1+2j) 3.0 (0,) () (0,0) ((),) ('a',1) [1] [] ...
    $0 $1 $9 ::0 : 1: f32(0.5) u8(300) f64 bool f64[] c128[2,3] (f64[],f64[3]) 'same' 'x' '' @g !ct !other # % %x0 %0
    %0[0] %np %"if" %"ﬁ" %"²" %"a\\nb" graph return constant guard custom call map length unique sin sum axis= {axis=0}
    {value=None} {value=@g} {flags=(('return_index',True),)}"""
VALUES = WORDS.split()
# builtins that generated source may call
BUILTINS = "abs bool complex float int len list max min range round slice sum tuple zip ArithmeticError ValueError"
HARMLESS = set(BUILTINS.split())
TOKEN = re.compile(r"'[^'\n]*'|[A-Za-z_]\w*(?:\.\w+)*|%\w+|-?\d+\.?\d*|\S")
CHARACTERS = [*"%{}()[]=,:!@$'\"\\#\n 09_-.jex²é\0\ud800"]


def texts() -> list[str]:
    """Return the texts of real programs, and of each op in its samples."""
    x = np.linspace(0.1, 0.9, 3)
    programs = [tapec.grad(lambda x, k=k: np.sum(np.sin(x[:k]) * x[0] ** 2 + np.cumsum(x)[-1])).ir(x) for k in (1, 3)]
    programs.append(tapec.vmap(lambda x: np.linalg.norm(x) * np.sort(x)).ir(np.ones((4, 3))))
    found = [str(graph) for graph in [*programs, *[graph_of(op, case) for op, case in cases()]]]
    return [*[text for text in found if "@" not in text], *CALLS]


CALLS = [
    """graph double(%a: f64[3]) {
  %0: f64[3] = add %a, %a
  return %0
}
graph twice(%a: f64[3]) {
  %0: (f64[3],) = call %a @double
  %1: f64[3] = %0[0]
  return %1
}
graph(%x: f64[3]) {
  %0: (f64[3],) = NAME %x @twice
  %1: f64[3] = %0[0]
  return %1
}""".replace("NAME", name)
    for name in ("call", "checkpoint")
]
CALLS.append("""graph back(%ct: f64[3], %c: f64[3]) {
  %0: f64[3] = multiply %ct, %c
  return %0
}
graph(%x: f64[3]) {
  %0: f64[3] = sin %x
  %1: f64[3] = cos %x
  %2: (f64[3],) = custom_graph %x, %0, %1 {args=1, results=1, gives=(0,)} @back
  %3: f64[3] = %2[0]
  return %3
}""")
CALLS.append("""graph rate(%x0: f64[2], %x1: f64[], %x2: f64[2]) {
  %0: f64[2] = getitem %x0 {index=(::-1,)}
  %1: f64[2] = multiply %x1, %0
  %2: f64[2] = subtract %1, %x2
  return %2
}
graph(%x0: f64[2], %x1: f64[3], %x2: f64[2]) {
  %0: f64[3,2] = odeint %x0, %x1, %x2 {moving=(0,), options=(('atol', 1e-12), ('method', 'RK45'))} @rate
  return %0
}""")

TEXTS = texts()


def changed(rng, text: str) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        what = rng.random()
        if what < 0.6:
            tokens = list(TOKEN.finditer(text)) or [re.match("", text)]
            old = rng.choice(tokens)
            new = rng.choice((*EVIL, *VALUES, *[t.group() for t in tokens[:40]]))
            text = text[: old.start()] + new + text[old.end() :]
        elif what < 0.8:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(("", *CHARACTERS)) + text[at + rng.randrange(2) :]
        else:
            start, stop = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
            text = text[:start] + (text[start : start + 20] * 2 if rng.random() < 0.5 else "") + text[stop:]
    return text


def is_small(graph: Graph) -> bool:
    types = [t for n in (*graph.inputs, *graph.nodes) for t in (n.type if isinstance(n.type, tuple) else (n.type,))]
    return all(t.size <= SMALL for t in types)


def check_source(compiled: CompiledGraph) -> None:
    """Source uses NumPy, helpers, plain builtins and its own names alone, and no attribute that is private."""
    code = compiled.code
    tree = ast.parse(code.source)
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)} | {"np", "math", "scipy"}
    own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    own |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    foreign = {n.id for n in names} - own - {*code.constants, *code.helpers} - HARMLESS
    assert not foreign, foreign
    assert not [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")]
    assert not [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) and "builtins" in ast.dump(n)]


def try_out(text: str) -> str:
    """Read, check, print and compile a text; return how far it came."""
    try:
        graph = parse(text)
    except ParseError as e:
        str(e).encode()
        return "refused by the parser"
    try:
        verify(graph)
    except VerifyError:
        return "refused by the verifier"
    assert parse(str(graph)) == graph
    if not is_small(graph):
        return "large"
    check_source(CompiledGraph(graph, Options("f")))
    return "compiled"


@pytest.fixture(autouse=True)
def no_canary():
    yield
    assert not hasattr(builtins, "canary")


@given(st.randoms(use_true_random=False), st.sampled_from(TEXTS))
@settings(max_examples=300, deadline=None)
def test_changed_texts_are_read_or_refused(rng, text):
    for _ in range(5):
        try_out(changed(rng, text))


@pytest.mark.thorough
@given(st.randoms(use_true_random=False), st.sampled_from(TEXTS))
@settings(max_examples=3000, deadline=None)
def test_many_changed_texts(rng, text):
    for _ in range(20):
        try_out(changed(rng, text))


def test_unchanged_texts_compile():
    assert {try_out(text) for text in TEXTS} <= {"compiled", "large"}


@pytest.mark.parametrize("evil", EVIL)
def test_code_in_the_place_of_each_token_does_not_run(evil):
    for text in TEXTS[::7]:
        for token in TOKEN.finditer(text):
            try_out(text[: token.start()] + evil + text[token.end() :])


def test_names_are_names():
    x = ", ".join(f'%"{name}": f64[3]' for name in ("import", "np", "ﬁ", "fi", "²", "a b", "a_b", "True", CODE))
    text = f'graph "{CODE}"({x}) {{\n  %"if": f64[3] = add %np, %"{CODE}"\n  return %"if", %"ﬁ", %fi\n}}'
    graph = verify(parse(text))
    compiled = CompiledGraph(graph, Options(graph.name))
    check_source(compiled)
    ones = [np.full(3, float(k)) for k in range(len(graph.inputs))]
    space = {"np": np}
    exec(compiled.code.source, space)
    (function,) = [value for name, value in space.items() if callable(value) and name != "np"]
    for found in (compiled.code.function(*ones), function(*ones)):
        assert [v.tolist() for v in found] == [[9.0] * 3, [2.0] * 3, [3.0] * 3]
