"""The cases of an op: its sample over shapes, layouts and dtypes, and the graph that does it alone."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from tapec.ir import OPS, Builder, Graph, Op, input_node, type_of
from tapec.ops import Symbol
from tapec.ops.core.sample_domains import Case, Domain
from tapec.ops.special.ufunc_definitions import define_all

# ops of SciPy come with their modules; here all are there, whatever ran before
for module in (
    "ops.scipy.cosine_transforms",
    "ops.scipy.recursive_filter",
    "ops.scipy.matrix_functions",
    "ops.scipy.lu",
    "ops.scipy.convolve_nd",
    "ops.scipy.sparse_products",
    "scipy.ode_solution",
):
    import_module(f"tapec.{module}")
SPECIAL = {op.name for op in define_all()}
OF_SCIPY = {name for name in OPS if name.startswith("scipy.")} | {"odeint"}
# what a program is made of, not what it does
WITHOUT_SAMPLE = {"input", "constant", "item", "call", "guard", "loop", "custom", "barrier", "shape", "implicit"}
WITHOUT_SAMPLE |= {"float", "unpack", "pack", "starred"}  # on Python's numbers: tests/codegen/floats/test_float_ops.py
REAL = [np.dtype(c) for c in "efdg"]
COMPLEX = [np.dtype(c) for c in "FD"]
_SHAPES = {  # of as many inputs as there are
    "base": [(2, 3), (2, 3), (2, 3), (2, 3)],
    "0-d": [(), (), (), ()],
    "empty": [(0, 3), (0, 3), (0, 3), (0, 3)],
    "one": [(1,), (1,), (1,), (1,)],
    "empty and one": [(1, 0), (1, 1), (1,), ()],
    "broadcast": [(2, 1), (1, 3), (3,), ()],
    "0-d and more": [(), (2, 2), (2,), ()],
    "4-d": [(2, 1, 3, 2), (1, 2, 3, 1), (2,), (1, 1)],
}


def draw(domain: Domain, shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Numbers of a domain; complex ones have their real part there."""
    if domain.kind == "i":
        return rng.integers(int(domain.low), int(domain.high), shape, endpoint=True)
    x = rng.uniform(domain.low, domain.high, shape)
    if domain.hole:
        x = np.where(np.abs(x) < domain.hole, np.copysign(domain.hole + np.abs(x), x), x)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(-0.8, 0.8, shape)
    return np.asarray(x, dtype)


def odd(x: np.ndarray) -> np.ndarray:
    """The same numbers, read-only, and neither contiguous nor aligned with how they are indexed."""
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim:
        wide = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype, order="F")
        wide[..., ::-2] = x
        x = wide[..., ::-2]
    x = x.view()
    x.flags.writeable = False
    return x


def takes_complex(op: Op) -> bool:
    """Has the op a meaning for complex numbers?"""
    if isinstance(op.numpy, np.ufunc):
        loops = [t.split("->")[0] for t in op.numpy.types]
        return "D" * op.numpy.nin in loops
    return any(d.kind == "c" for d in op.sample) if isinstance(op.sample, tuple) else False


def domain_case(op: Op, shapes: list[tuple[int, ...]], dtype: np.dtype, rng: np.random.Generator) -> Case:
    pairs = list(zip(op.sample, shapes, strict=False))
    kinds = [np.dtype(complex) if d.kind == "c" and dtype.kind != "c" else dtype for d in op.sample]
    return Case(tuple([draw(d, s, t, rng) for (d, s), t in zip(pairs, kinds, strict=True)]))


def cases(op: Op) -> dict[str, Case]:
    """float64 and complex128 cases of an op, by what is particular about them."""
    rng = np.random.default_rng(sum(map(ord, op.name)))
    if isinstance(op.sample, tuple):
        found = {name: domain_case(op, shapes, np.dtype(float), rng) for name, shapes in _SHAPES.items()}
        found["NumPy scalars"] = Case(tuple([x[()] for x in found["0-d"].inputs]))
        found["a scalar and an array"] = Case((found["0-d"].inputs[0][()], *found["base"].inputs[1:]))
        found["odd layout"] = Case(tuple(map(odd, found["base"].inputs)))
        if takes_complex(op):
            found["complex"] = domain_case(op, _SHAPES["broadcast"], np.dtype(complex), rng)
        return found
    found = {f"case {k}": case for k, case in enumerate(op.sample(rng))}
    return found | {f"{k}, odd layout": Case(tuple(map(odd, c.inputs)), c.params) for k, c in found.items() if c.inputs}


def cast(case: Case, dtype: np.dtype) -> Case:
    """The case with its real inputs in another real dtype, its complex ones in the complex dtype of that size."""
    to = {"f": dtype, "c": np.result_type(dtype, np.complex64)}
    return Case(
        tuple([x.astype(to[x.dtype.kind]) if x.dtype.kind in to else x for x in map(np.asarray, case.inputs)]),
        case.params,
    )


def graph_of(op: Op, case: Case) -> Graph:
    """The graph of one operation on inputs of the case's types; all its results are outputs."""
    builder = Builder()
    inputs = [input_node(f"x{k}", type_of(x)) for k, x in enumerate(case.inputs)]
    given = [hermitian(Symbol(i, builder)).node for i in inputs] if op.facts.get("hermitian") else inputs
    node = builder.emit(op, tuple(given), tuple(case.params.items()))
    outputs = builder.items(node) if op.multi else [node]
    return builder.graph(inputs, outputs, op.name)


def hermitian(x: Symbol) -> Symbol:
    """For an op that takes Hermitian matrices alone, and whose gradient is one."""
    return 0.5 * (x + np.conj(np.swapaxes(x, -1, -2)))


def symbols_of(graph: Graph, builder: Builder) -> list[Symbol]:
    return [Symbol(o, builder) for o in graph.outputs]
