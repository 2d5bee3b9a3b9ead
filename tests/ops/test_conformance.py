"""Every op of the table, against NumPy, against differences, and through every representation it can have.

Each check is one function of (op, case); `CHECKS` lists them, and every op goes through all of them with every one of
its cases. What an op needs to be checked stands in its definition: see `Op.sample`.
"""

from __future__ import annotations

import numpy as np
import pytest

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.forward import jvp_graph
from tapec.codegen import compile_graph
from tapec.ir import OPS, Graph, Op, Type, type_of
from tapec.ir.checks.interpreter import interpret
from tapec.ir.text.parser import parse
from tapec.ir.text.printer import constant_table, print_graph
from tapec.ir.types import is_differentiable, weak_type
from tapec.ops.core.sample_domains import Case
from tests.ops.cases import (
    COMPLEX,
    OF_SCIPY,
    REAL,
    SPECIAL,
    WITHOUT_SAMPLE,
    cases,
    cast,
    domain_case,
    graph_of,
    takes_complex,
)
from tests.ops.numerics import check_gradient, directions, gradient_graph, inner, like, loss_graph, slope

# the shape of a dynamic op's result depends on values: it has no type rule, and is tested on tensors
DOUBLE = (np.float64, np.complex128)
TESTED = sorted(
    name
    for name, op in OPS.items()
    if op.kind not in WITHOUT_SAMPLE and op.kind != "dynamic" and name not in SPECIAL  # which test_special.py checks
)


def generator(op: Op) -> np.random.Generator:
    return np.random.default_rng(len(op.name))


def same(found: object, expected: object, what: str = "") -> None:
    """The same type, and the same numbers to the last bit."""
    a, b = np.asarray(found), np.asarray(expected)
    assert (a.shape, a.dtype) == (b.shape, b.dtype), what
    assert isinstance(found, np.ndarray) == isinstance(expected, np.ndarray) or not a.shape, what
    np.testing.assert_array_equal(a, b, what)


def moves(graph: Graph) -> bool:
    """Is there a real or complex input, and a real or complex output?"""
    inputs, outputs = ([is_differentiable(n.type) for n in nodes] for nodes in (graph.inputs, graph.outputs))
    return any(inputs) and any(outputs)


# -- checks -------------------------------------------------------------------------------------------------------
def check_type(op: Op, case: Case) -> None:
    """The type rule says what NumPy gives."""
    types = [type_of(x) for x in case.inputs]
    with np.errstate(all="ignore"):
        value = op.run(*case.inputs, **case.params)
    rule = op.rule(*types, **case.params)
    values, rules = (value, rule) if op.multi else ((value,), (rule,))
    for v, t in zip(values, rules, strict=True):
        given = type_of(v) if t.weak else Type(np.shape(v), np.asarray(v).dtype)
        assert given == t, (types, case.params)


def check_reverse(op: Op, case: Case) -> None:
    """Reverse mode, to order two; None on the tape for what has no gradient."""
    graph = graph_of(op, case)
    if op.gradient == "none" or not moves(graph):
        return
    rng = generator(op)
    first = check_gradient(loss_graph(graph, rng), case.inputs, rng)
    check_gradient(loss_graph(first, rng), case.inputs, rng, 1e-5)


def check_forward(op: Op, case: Case) -> None:
    """Forward mode against differences, and as the transpose of reverse mode; forward over reverse for order two."""
    graph = graph_of(op, case)
    if op.gradient == "none" or not moves(graph):
        return
    rng = generator(op)
    loss = loss_graph(graph, rng)
    gradients, moving = gradient_graph(loss)
    ds = directions(case.inputs, rng)
    given = [ds[k] for k in moving]
    tangent = interpret(jvp_graph(loss, moving), *case.inputs, *given)[1]
    found = interpret(gradients, *case.inputs)
    expected = sum(inner(ds[k], g) for k, g in zip(moving, found, strict=True))
    scale = float(sum(np.sum(np.abs(ds[k] * g)) for k, g in zip(moving, found, strict=True)))
    rtol = 1e-9 if loss.outputs[0].type.dtype == float else 1e-5
    assert abs(tangent - expected) <= rtol * max(1.0, scale), (tangent, expected)

    second = loss_graph(gradients, rng)
    if second.outputs[0].type.dtype != float:
        return  # differences of single precision say nothing
    tangent = interpret(jvp_graph(second, moving), *case.inputs, *given)[1]
    expected = slope(lambda *xs: float(interpret(second, *xs)[0]), case.inputs, ds)
    assert abs(tangent - expected) <= 1e-5 * max(1.0, abs(expected), scale), (tangent, expected)


def check_batch(op: Op, case: Case) -> None:
    """A batch of three examples, first of all inputs and then of each alone, is three times one example."""
    graph = graph_of(op, case)
    count = len(graph.inputs)
    if not count:
        return
    rng = generator(op)
    for flags in dict.fromkeys([(True,) * count, *[tuple(k == j for j in range(count)) for k in range(count)]]):
        rows = [[nudged(x, rng) if b else x for x, b in zip(case.inputs, flags, strict=True)] for _ in range(3)]
        stacked = [np.stack([r[k] for r in rows]) if b else rows[0][k] for k, b in enumerate(flags)]
        batched, marks = batch_graph(graph, flags, 3)
        found = interpret(batched, *stacked)
        each = [interpret(graph, *r) for r in rows]
        for k, (y, mark) in enumerate(zip(found, marks, strict=True)):
            assert mark
            np.testing.assert_allclose(y, np.stack([e[k] for e in each]), rtol=1e-12, atol=1e-12)


def nudged(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A nearby example: integers, which may be indices, stay."""
    return x + np.asarray(1e-3 * like(type_of(x), rng), x.dtype) if x.dtype.kind in "fc" else x


def check_source(op: Op, case: Case) -> None:
    """Generated code gives what the interpreter gives, for the op and its gradient, and leaves its inputs alone."""
    graph = graph_of(op, case)
    programs = [graph]
    if op.gradient != "none" and moves(graph):
        programs.append(gradient_graph(loss_graph(graph, generator(op)))[0])
    for program in programs:
        kept = [x.copy() for x in case.inputs]
        with np.errstate(all="ignore"):
            found = compile_graph(program, "f").function(*case.inputs)
        for y, expected in zip(found, interpret(program, *case.inputs), strict=True):
            assert (np.shape(y), np.asarray(y).dtype) == (np.shape(expected), np.asarray(expected).dtype)
            np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
        for x, k in zip(case.inputs, kept, strict=True):
            np.testing.assert_array_equal(x, k)


def check_text(op: Op, case: Case) -> None:
    """Text there and back."""
    graph = graph_of(op, case)
    programs = [graph]
    if op.gradient != "none" and moves(graph):
        programs.append(gradient_graph(loss_graph(graph, generator(op)))[0])
    for program in programs:
        assert parse(print_graph(program), constant_table(program)) == program


CHECKS = [check_type, check_reverse, check_forward, check_batch, check_source, check_text]


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", TESTED)
def test_op(name, check):
    op = OPS[name]
    for label, case in cases(op).items():
        case = Case(tuple(x if isinstance(x, np.generic) else np.asarray(x) for x in case.inputs), case.params)
        try:
            check(op, case)
        except Exception as error:
            error.add_note(f"{op.name}, {label}: {[str(type_of(x)) for x in case.inputs]} {case.params}")
            raise


# -- dtypes -------------------------------------------------------------------------------------------------------
def dtype_cases(op: Op):
    """Every case in every dtype that NumPy takes there."""
    found = list(cases(op).values())
    if isinstance(op.sample, tuple):
        found = [found[0]] + ([found[-1]] if takes_complex(op) else [])
    for case in found:
        for dtype in REAL if op.name not in OF_SCIPY else (np.dtype("f"), np.dtype("d")):  # those SciPy has
            yield dtype, cast(case, dtype)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")  # to 1e-8, of numbers in single precision
@pytest.mark.parametrize("name", TESTED)
def test_dtypes(name):
    """Types as NumPy's in every dtype; what NumPy refuses, it refuses."""
    op = OPS[name]
    for _, case in dtype_cases(op):
        try:
            with np.errstate(all="ignore"):
                op.run(*case.inputs, **case.params)
        except TypeError:
            continue  # no loop for this dtype
        check_type(op, case)


@pytest.mark.parametrize("name", [n for n in TESTED if isinstance(OPS[n].numpy, np.ufunc) and OPS[n].numpy.nin > 1])
def test_weak_scalars(name):
    """A Python number takes on the other operand's dtype, as NEP 50 has it."""
    op = OPS[name]
    if op.kind != "elementwise" or "dd" not in [t.split("->")[0] for t in op.numpy.types]:
        return
    for dtype in [*REAL, *(COMPLEX if takes_complex(op) else [])]:
        case = domain_case(op, [(2,)] * 3, dtype, generator(op))
        for k in range(len(case.inputs)):
            values = [float(abs(x[0])) if j == k else x for j, x in enumerate(case.inputs)]
            types = [weak_type(float) if j == k else type_of(x) for j, x in enumerate(case.inputs)]
            with np.errstate(all="ignore"):
                expected = op.run(*values)
            rules = op.rule(*types)
            for y, t in zip(expected if op.multi else [expected], rules if op.multi else [rules], strict=True):
                assert (y.shape, y.dtype) == (t.shape, t.dtype), types


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name", [n for n in TESTED if OPS[n].gradient != "none"])
def test_single_precision_stays(name):
    """A gradient of float32 is computed in float32 (complex64) throughout."""
    op = OPS[name]
    for dtype, case in dtype_cases(op):
        if dtype != np.float32:
            continue
        try:
            op.run(*case.inputs, **case.params)
        except TypeError:
            continue
        graph = graph_of(op, case)
        if not moves(graph) or any(o.type.dtype in DOUBLE for o in graph.outputs):
            continue  # an op that computes in double precision by definition
        gradients, _ = gradient_graph(loss_graph(graph, generator(op)))
        wide = [n for n in gradients.nodes if not n.op.multi and not n.type.weak and n.type.dtype in DOUBLE]
        assert not wide, [(n.op.name, n.type, [i.type for i in n.inputs]) for n in wide]


# -- the table, and the checks themselves ---------------------------------------------------------------------------
def test_every_op_says_everything():
    for op in OPS.values():
        if op.kind in WITHOUT_SAMPLE:
            continue
        assert op.sample is not None, f"{op.name} has no sample"
        assert op.gradient in ("yes", "zero", "none"), op.name
        if op.gradient == "yes":
            assert op.vjp or op.partials, f"{op.name} has no derivative rule"


@pytest.mark.parametrize("name", ["tanh", "multiply", "divide", "matmul", "sum", "std", "abs", "getitem", "where"])
def test_a_rule_wrong_by_a_thousandth_is_found(name):
    op = OPS["absolute" if name == "abs" else name]
    rule = "vjp" if op.vjp else "partials"

    def wrong(*args, **params):
        return tuple(None if p is None else 1.001 * p for p in getattr(op, rule)(*args, **params))

    broken = Op(**vars(op) | {rule: wrong})
    case = Case(tuple(map(np.asarray, (found := next(iter(cases(op).values()))).inputs)), found.params)
    check_reverse(op, case)
    with pytest.raises(AssertionError):
        check_reverse(broken, case)


def test_a_wrong_type_rule_is_found():
    op = OPS["exp"]
    with pytest.raises(AssertionError):
        check_type(Op(**vars(op) | {"rule": lambda t: t.with_dtype(np.float32)}), Case((np.ones(2),)))
