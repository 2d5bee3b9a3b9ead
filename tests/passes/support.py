"""Short writing for tests of rules, and a table that each rule must stand in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from tapec.ir import interpret, parse, verify
from tapec.passes.engine.rewrite import RuleSet
from tapec.testing import check_rewrite, check_unchanged
from tapec.testing.rewrites import ordered


class Case(NamedTuple):
    """Where a rule fires, and where it must not.

    Each entry is a body in short form, `op operands; op operands; ...`: the first line's value is `%0`, and so on, the
    last is returned, or what stands there with a `%` in front. `fires` pairs bodies before and after.
    """

    inputs: str
    fires: Sequence[tuple[str, str]]
    stays: Sequence[str] = ()
    others: Sequence[tuple[str, str]] = ()  # (inputs, body) that must stay, where the inputs differ


def text(inputs, body):
    """Graph text from its short form."""
    lines = [line.strip() for line in body.split(";")]
    returned = lines.pop().removeprefix("return ") if lines[-1].startswith(("%", "return ")) else f"%{len(lines) - 1}"
    named = [f"  %{k} = {line}" for k, line in enumerate(lines)]
    return "\n".join([f"graph({inputs}) {{", *named, f"  return {returned}", "}"])


def check_case(name, case, rules):
    """The rule fires where it should, with the result that it should have; and nowhere else."""
    (rule,) = [r for r in rules if r.name == name]
    for before, after in case.fires:
        fired = check_rewrite(text(case.inputs, before), text(case.inputs, after), [rule])
        assert fired[name] > 0, f"{name} did not fire at {before}"
    for body in case.stays:
        check_unchanged(text(case.inputs, body), [rule])
    for inputs, body in case.others:
        check_unchanged(text(inputs, body), [rule])


def check_regular_case(name, case, rules):
    """The same for rules on inverses and factors: all matrices are positive definite, and none has a nan."""
    (rule,) = [r for r in rules if r.name == name]
    for before, after in case.fires:
        start, end = (verify(parse(text(case.inputs, body))) for body in (before, after))
        result = verify(RuleSet("", [rule])(start))
        assert ordered(result) == ordered(end), f"{ordered(result)}\nbut expected:\n{ordered(end)}"
        values = [_regular(i.type) for i in start.inputs]
        for x, y in zip(interpret(start, *values), interpret(result, *values), strict=True):
            assert np.allclose(x, y, rtol=1e-11, atol=1e-12)
    for body in case.stays:
        check_unchanged(text(case.inputs, body), [rule])


def _regular(t):
    rng = np.random.default_rng(t.size)
    x = rng.standard_normal(t.shape)
    return (x @ x.T / len(x) + np.eye(len(x)) if x.ndim == 2 and len(x) == len(x.T) else x).astype(t.dtype)


def check_table(cases, rules):
    """Each rule has a case in which it fires and one in which it stays away."""
    missing = {r.name for r in rules} - set(cases)
    assert not missing, f"rules without a test: {missing}"
    assert not set(cases) - {r.name for r in rules}
    for name, case in cases.items():
        assert case.fires and (case.stays or case.others), name


def table_tests(cases, rules, check=check_case):
    """The two tests of a module with a table: each rule by its case, and that none is left out."""

    @pytest.mark.parametrize("name", cases)
    def test_rule(name):
        check(name, cases[name], rules)

    def test_each_rule_has_a_case():
        check_table(cases, rules)

    return test_rule, test_each_rule_has_a_case
