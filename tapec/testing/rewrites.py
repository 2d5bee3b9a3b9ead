"""Check rewrite rules: a text before, a text after, and equal values.

check_rewrite(
    "graph(%x: f64[3]) {\\n  %0 = multiply %x, 1.0\\n  return %0\\n}",
    "graph(%x: f64[3]) {\\n  return %x\\n}",
    ALGEBRA,
)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir import Graph, Node, interpret, parse, verify
from tapec.passes.engine.rewrite import Rewrite, RuleSet
from tapec.passes.engine.rule import Rule

__all__ = ["assert_same_values", "check_rewrite", "check_unchanged", "ordered", "sample_inputs"]

LEVELS = ("", "rounding", "zeros", "fast-math")
TINY, HUGE = 5e-324, 1.7e308
ORDINARY = [0.5, -0.75, 1.25, -2.0, 3.5, -0.125]
SPECIAL = {
    "": [*ORDINARY, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, TINY, -TINY, HUGE, -HUGE],
    "rounding": [*ORDINARY, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf],
    "zeros": ORDINARY,
    "fast-math": [abs(v) for v in ORDINARY],
}


def check_rewrite(before: str | Graph, after: str | Graph, rules: Sequence[Rule], **constants: Any) -> Counter[str]:
    """Apply rewrite rules to a graph, and compare the result with another graph, and the values of both.

    The values of drawn inputs must be equal as far as the rules that fired promise: to the last bit, to rounding, or
    for ordinary numbers alone.

    Parameters
    ----------
    before : str or tapec.ir.Graph
        The graph to rewrite, or its text.
    after : str or tapec.ir.Graph
        What it must become.
    rules : sequence of tapec.passes.engine.rule.Rule
        The rules.
    **constants : array
        The arrays that the texts refer to as `@name`.

    Returns
    -------
    collections.Counter
        How often each rule fired, by name.

    Raises
    ------
    AssertionError
        If the graph becomes another one, or values differ.

    Examples
    --------
    >>> import tapec
    >>> from tapec.passes.listed_pass import named
    >>> from tapec.passes.pipeline import PIPELINE
    >>> rules = named(PIPELINE, ["algebra"])[0].run.rules
    >>> before = '''graph(%x: f64[3]) {
    ...   %0: f64[3] = multiply %x, 1.0
    ...   return %0
    ... }'''
    >>> after = '''graph(%x: f64[3]) {
    ...   return %x
    ... }'''
    >>> tapec.testing.check_rewrite(before, after, rules)
    Counter({'times-one': 1})

    See Also
    --------
    tapec.testing.check_unchanged : that no rule fires
    tapec.ir.parse : reads the texts
    """
    start, end = graph_of(before, constants), graph_of(after, constants)
    fired: Counter[str] = Counter()
    result = verify(RuleSet("", rules)(start, lambda rewrite: count(fired, rewrite)))
    found, wanted = ordered(result), ordered(end)
    if found != wanted:
        raise AssertionError(f"after {dict(fired)}:\n{found}\nbut expected:\n{wanted}")
    level = max([rule.changes for rule in rules if fired[rule.name]], key=LEVELS.index, default="")
    assert_same_values(start, result, level)
    return fired


def check_unchanged(text: str | Graph, rules: Sequence[Rule], **constants: Any) -> None:
    """Check that no rewrite rule fires at a graph.

    Parameters
    ----------
    text : str or tapec.ir.Graph
        The graph, or its text.
    rules : sequence of tapec.passes.engine.rule.Rule
        The rules.
    **constants : array
        The arrays that the text refers to as `@name`.

    Raises
    ------
    AssertionError
        If one fires.

    Examples
    --------
    >>> import tapec
    >>> from tapec.passes.listed_pass import named
    >>> from tapec.passes.pipeline import PIPELINE
    >>> rules = named(PIPELINE, ["algebra"])[0].run.rules
    >>> text = '''graph(%x: f64[3]) {
    ...   %0: f64[3] = exp %x
    ...   return %0
    ... }'''
    >>> tapec.testing.check_unchanged(text, rules)

    See Also
    --------
    tapec.testing.check_rewrite : that a rule makes the right graph
    """
    fired: Counter[str] = Counter()
    graph = graph_of(text, constants)
    RuleSet("", rules)(graph, lambda rewrite: count(fired, rewrite))
    if fired:
        raise AssertionError(f"{', '.join(fired)} fired at\n{graph}")


def count(fired: Counter[str], rewrite: Rewrite) -> None:
    fired[rewrite.rule] += 1


def graph_of(text: str | Graph, constants: dict[str, Any]) -> Graph:
    return verify(parse(text, constants) if isinstance(text, str) else text)


def ordered(graph: Graph) -> Graph:
    """The graph without what is not needed, each node as late as its first use asks: one order for equal programs."""
    done: dict[Node, None] = {}
    stack = list(reversed(graph.outputs))
    while stack:
        node = stack[-1]
        waiting = [] if node in done else [i for i in reversed(node.inputs) if i not in done]
        stack.extend(waiting)
        if not waiting:
            done.setdefault(stack.pop())
    inputs = set(graph.inputs)
    return Graph(graph.inputs, [n for n in done if n not in inputs], graph.outputs, graph.name)


def assert_same_values(before: Graph, after: Graph, level: str = "", times: int = 5) -> None:
    """Assert equal outputs for drawn inputs: to the last bit (level ""), to rounding, or only for ordinary numbers."""
    rng = np.random.default_rng(0)
    for _ in range(times):
        values = sample_inputs(before, rng, SPECIAL[level])
        for x, y in zip(interpret(before, *values), interpret(after, *values), strict=True):
            assert_same(x, y, level)


def sample_inputs(graph: Graph, rng: np.random.Generator, pool: Sequence[float]) -> list[Any]:
    return [_sample(node.type, rng, pool) for node in graph.inputs]


def _sample(t: Any, rng: np.random.Generator, pool: Sequence[float]) -> Any:
    kind = t.dtype.kind
    with np.errstate(all="ignore"):
        if kind == "b":
            value: Any = rng.integers(0, 2, t.shape).astype(bool)
        elif kind in "iu":
            value = rng.integers(0 if kind == "u" else -5, 6, t.shape).astype(t.dtype)
        else:
            value = rng.choice(pool, t.shape).astype(t.dtype)
            if kind == "c":
                value = value + 1j * rng.choice(pool, t.shape)
    if t.weak:
        return value.item()
    return np.asarray(value, t.dtype)[()]


def assert_same(x: Any, y: Any, level: str) -> None:
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        raise AssertionError(f"{x.dtype}{x.shape} became {y.dtype}{y.shape}")
    if x.dtype.kind not in "fc":
        same = np.array_equal(x, y)
    elif level:
        eps = float(np.finfo(x.dtype).eps)
        same = np.allclose(x, y, rtol=100 * eps, atol=100 * eps, equal_nan=True)
    else:
        same = _bits(x) == _bits(y)
    if not same:
        raise AssertionError(f"values differ:\n{x}\nbecame\n{y}")


def _bits(x: np.ndarray) -> bytes:
    """The bytes, all nans alike."""
    parts = np.ascontiguousarray(x).reshape(-1).view(x.real.dtype)
    return np.where(np.isnan(parts), np.nan, parts).astype(parts.dtype).tobytes()
