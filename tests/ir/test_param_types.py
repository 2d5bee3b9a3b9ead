"""Each op declares the types of its parameters; parser, verifier and emission let no others through."""

import ast
import inspect

import numpy as np
import pytest

from tapec.codegen import compile_graph
from tapec.errors import ParseError, VerifyError
from tapec.ir import OPS, Builder, Graph, Node, get_op, input_node, parse, verify
from tapec.ir.node import parted
from tapec.ir.op import wrong_params
from tapec.ir.param_types import OBJECT, OP_PARAMS, VALUE
from tapec.ir.types import Type, type_of
from tests.ir import ops_without_rules

SCIPY = pytest.importorskip("scipy")
ops_without_rules.define_all()

CODE = "print('this ran')"
# what none but a parameter that is any text may be: text that is code, and what is no plain value at all
EVIL = (CODE, b"1", object(), print, {}, [1], (CODE,), ((CODE, 1),), (("axis", CODE),), type("Int", (int,), {})(1))

# ops without a sample, with the number of their operands, by which parameters are told from operands
OPERANDS = {"constant": 0, "input": 0, "guard": 1, "item": 1, "root": 1, "linear_solve": 1}

# parameters that may be any text: none of them is written but by `repr`, or looked up in a table
TEXTS = {("checked", "message"), ("length", "op")}


def with_params():
    return [op for _, op in sorted(OPS.items()) if op.params]


def test_each_op_declares_what_it_takes():
    """The parameters in the signature of a type rule are those that the op declares, and no others."""
    undeclared = []
    for name, op in sorted(OPS.items()):
        rule = inspect.signature(op.rule)
        count = OPERANDS.get(name, None if op.sample is None else operands_of(op))
        kinds = [p for p in rule.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        behind = [p.name for p in kinds if p.kind is p.KEYWORD_ONLY]
        if count is not None:
            behind += [p.name for p in kinds[count:] if p.kind is not p.KEYWORD_ONLY]
        undeclared += [f"{name}: {p}" for p in behind if p not in op.params and (p != "bodies" or not op.bodies)]
        open_ended = any(p.kind is p.VAR_KEYWORD for p in rule.parameters.values())
        undeclared += [f"{name} has no {p}" for p in op.params if p not in rule.parameters and not open_ended]
    assert undeclared == []


def operands_of(op):
    """Return the least number of operands in an op's samples."""
    if isinstance(op.sample, tuple):
        return len(op.sample)
    return min(len(case.inputs) for case in op.sample(np.random.default_rng(0)))


def cases():
    for _, op in sorted(OPS.items()):
        if callable(op.sample):
            yield from [(op, case) for case in op.sample(np.random.default_rng(0))]


def test_each_sample_is_of_the_declared_types():
    assert [(op, case) for op, case in cases() if wrong_params(op, parted(tuple(case.params.items()))[0])] == []


@pytest.mark.parametrize("op", with_params(), ids=lambda op: op.name)
def test_no_parameter_takes_code(op):
    for name, t in op.params.items():
        taken = [value for value in EVIL if t.holds(value)]
        if t is VALUE:
            assert taken == []
        elif (op.name, name) in TEXTS:
            assert CODE in taken
        elif t is not OP_PARAMS:  # what they may be is what the other op declares
            assert [v for v in taken if isinstance(v, (str, bytes, tuple))] == [], name
            assert not taken or t.holds is OBJECT.holds, name


def test_objects_are_no_plain_values():
    for value in (None, True, 1, 1.0, 1j, "x", b"x", (), [], ..., np.float64(1.0)):
        assert not OBJECT.holds(value)
    assert OBJECT.holds(print) and OBJECT.holds(int) and OBJECT.holds(object())


def graph_of(op, case):
    """Return a graph that does an op on inputs of the types of a sample."""
    inputs = [input_node(f"x{k}", type_of(v)) for k, v in enumerate(case.inputs)]
    params, bodies = parted(tuple(case.params.items()))
    if op.kind == "dynamic":
        found = op.run(*case.inputs, **case.params)
        t = tuple([type_of(v) for v in found]) if op.multi else type_of(found)
    else:
        t = op.rule(*[i.type for i in inputs], **case.params)
    builder = Builder()
    builder.append(node := Node(op, tuple(inputs), params, t, bodies=bodies))
    return builder.graph(inputs, builder.items(node) if op.multi else [node])


def with_param(graph, name, value):
    node = graph.nodes[0]
    changed = Node(node.op, node.inputs, tuple([(k, value if k == name else v) for k, v in node.params]), node.type)
    changed.bodies = node.bodies
    rest = [Node(n.op, (changed,), n.params, n.type) for n in graph.nodes[1:]]
    return Graph(graph.inputs, [changed, *rest], rest or [changed])


def test_verifier_and_emission_refuse_code_in_each_parameter():
    tried = 0
    for op, case in cases():
        graph = graph_of(op, case)
        verify(graph)
        for name in case.params:
            if name == "bodies" or (op.name, name) in TEXTS or op.params[name] is OP_PARAMS:
                continue
            bad = with_param(graph, name, CODE)
            for step in (verify, compile_graph):
                with pytest.raises(VerifyError, match=f"as {name}, which should be"):
                    step(bad)
            tried += 1
    assert tried > 300


def test_a_parameter_that_is_any_text_is_written_as_text():
    x = input_node("x", Type((3,), np.dtype(float)))
    wrong = input_node("wrong", Type((3,), np.dtype(bool)))
    params = (("error", "ValueError"), ("message", f'\'{CODE}\n"""{CODE}'))
    node = Node(get_op("checked"), (x, wrong), params, x.type)
    source = compile_graph(verify(Graph([x, wrong], [node], [node]))).source
    calls = [n.func.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert calls == ["_checked"]


def test_names_of_other_ops_and_their_parameters_are_looked_up():
    inner = (("op", "round"), ("params", (("decimals", 1),)))
    assert wrong_params(get_op("length"), (*inner, ("index", 0))) is None
    for op, params, message in (
        ("nothing", (), "'nothing' as op, which should be the name of an op"),
        ("round", (("decimals", CODE),), "as decimals, which should be an integer"),
        ("round", (), "lacks the parameter decimals"),
        ("sin", (("decimals", 1),), "which sin does not take"),
        ("length", (("op", "round"), ("params", (("decimals", CODE),)), ("index", 0)), "as decimals"),
    ):
        assert message in wrong_params(get_op("length"), (("op", op), ("params", params), ("index", 0)))


@pytest.mark.parametrize("op", with_params(), ids=lambda op: op.name)
def test_objects_cannot_come_from_text(op):
    """A parameter that is an object has no text; of a graph's own, only what is defined there can be named."""
    for name, t in op.params.items():
        if t is OBJECT:
            for value in ("None", "1", "'print'", "(1,)", "f64", "...", "[1]", "@g", "print"):
                line = f"%0 = {op.name} %x {{{name}={value}}}"
                with pytest.raises(ParseError):
                    parse(f"graph g(%x: f64[]) {{\n  return %x\n}}\ngraph(%x: f64[]) {{\n  {line}\n  return %0\n}}")
