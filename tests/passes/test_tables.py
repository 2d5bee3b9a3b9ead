"""Tables of rules, and lazy passes: what they are about, and when they are imported."""

import subprocess
import sys

import numpy as np
import pytest

from tapec.ir import CT, parse
from tapec.ir.pattern import Call, Number, Some, variables
from tapec.ops.linalg.solve_and_inv import INV
from tapec.passes import rules
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.engine.rule import Rule
from tapec.passes.engine.rule_table import Table
from tapec.passes.pipeline import GUARDS, INVERSES, PIPELINE
from tapec.passes.whole_graph.reuse_inverse import shared_inverses
from tapec.passes.zero_safety.placed_cotangents import SOURCES
from tests.passes.support import text

TABLES = {name: getattr(rules, name) for name in rules.__all__}
BY_CONDITION = {  # what the condition of a rule looks for, further down than its pattern goes
    "part-cleared-last": {"setitem"},
    "part-put-back": {"setitem"},
    "part-written-at-once": {"setitem"},
    "whole-before-parts": {"scatter"},
    "part-reshaped-times": {"scatter"},
    "sum-of-scatter-beside-number": {"scatter"},
}


def asked(pattern):
    """For each place of a pattern, the ops of which there must be one, or one on another."""
    if isinstance(pattern, Call):
        pairs = [{f"{pattern.name}({part.name})"} for part in pattern.args if isinstance(part, Call)]
        return [{pattern.name}, *pairs, *[ops for part in pattern.args for ops in asked(part)]]
    if isinstance(pattern, Some):
        pairs = {f"{outer}({inner})" for outer in pattern.heads for inner in pattern.operand}
        return [set(pattern.heads), set(pattern.operand), pairs] if pattern.operand else [set(pattern.heads)]
    return [{"constant", "full"}] if isinstance(pattern, Number) else []


@pytest.mark.parametrize("name", rules.__all__)
def test_each_rule_asks_for_an_op_that_its_table_is_about(name):
    table = TABLES[name]
    for rule in table if table.about else ():
        ops = [*asked(rule.pattern), BY_CONDITION.get(rule.name, {rule.changes})]
        assert any(found <= table.about for found in ops), rule.name


def test_a_set_has_each_name_once():
    for run in [p.run for p in PIPELINE]:
        if isinstance(run, RuleSet):
            names = [rule.name for rule in run.rules]
            assert len(set(names)) == len(names)


def test_a_program_imports_the_rules_that_it_may_need():
    """And so does one that comes later."""
    code = """if True:
        import sys
        import tapec

        def imported():
            return {name.rpartition(".")[2] for name in sys.modules if name.startswith("tapec.passes.")}

        tapec.grad(lambda x: x * x + 1.0)(3.0)
        few = imported()
        assert "algebra" in few
        rare = {"cholesky_gradient", "masks", "scaled_matmul", "sums_of_sums"}
        rare |= {"guard_products", "reuse_inverse", "hoist_constants"}
        assert few.isdisjoint(rare), few & rare
        import numpy as np
        tapec.value_and_grad(lambda x: np.sum(np.where(x > 0, x, 0.0) ** 2))(np.ones(3))
        assert {"masks", "sums_of_sums"} < imported()
        assert "guard_products" not in imported()  # what is selected meets no factor
        tapec.grad(lambda x: np.cumsum(np.sqrt(x))[1])(np.ones(3))
        assert "guard_products" in imported() and "cholesky_gradient" not in imported()
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_lazy_passes_are_about_what_they_look_for():
    assert GUARDS.about == SOURCES.names
    assert INVERSES.about == {INV.name}
    for run in (GUARDS, INVERSES):
        graph = parse(text("%x: f64[2,2]", "exp %x; return %0"))
        assert run(graph) is graph
    graph = parse(text("%a: f64[2,2], %b: f64[2]", "inv %a; solve %a, %b; return %0, %1"))
    graph.nodes[1].role = CT
    assert names(INVERSES(graph)) == names(shared_inverses(graph)) == ["inv", "matmul"]


# -- with tables of our own ---------------------------------------------------------------------------------------
(x,) = variables("x")


def table(about, *rules):
    return Table("NOTHING", lambda: rules, about)


def names(graph):
    return [node.op.name for node in graph.nodes if node.inputs]


def test_rules_wait_for_what_a_rule_makes():
    """Also those at nodes that were looked at before."""
    first = Rule("tan", np.tan(x), np.cos(x))
    waiting = table("cos", Rule("cos", np.exp(np.sin(np.cos(x))), np.sqrt(x)))
    rules = RuleSet("", [first], waiting)
    without = parse(text("%x: f64[3]", "sinh %x; sin %0; exp %1; return %2"))
    assert rules(without) is without
    assert names(rules(parse(text("%x: f64[3]", "tan %x; sin %0; exp %1; return %2")))) == ["sqrt"]


def test_a_table_may_be_about_an_op_on_another():
    rules = RuleSet(
        "",
        [Rule("tan", np.tan(x), np.cos(x))],
        table("sin(cos)", Rule("both", np.sin(np.cos(x)), np.sqrt(x))),
    )
    for program in ("sin %x; cos %0; return %1", "sin %x; cos %x; add %0, %1; return %2"):
        graph = parse(text("%x: f64[3]", program))
        assert rules(graph) is graph
        assert len(rules._ready) == 1
    assert names(rules(parse(text("%x: f64[3]", "tan %x; sin %0; return %1")))) == ["sqrt"]
    assert names(rules(parse(text("%x: f64[3]", "cos %x; sin %0; return %1")))) == ["sqrt"]


def test_rules_are_tried_in_their_order_whenever_they_came():
    early = table("exp", Rule("early", np.sin(np.exp(x)), np.cos(x)))
    late = Rule("late", np.sin(x), np.sqrt(x))
    rules = RuleSet("", early, [late])
    assert names(rules(parse(text("%x: f64[3]", "sin %x; return %0")))) == ["sqrt"]
    assert names(rules(parse(text("%x: f64[3]", "exp %x; sin %0; return %1")))) == ["cos"]


def test_two_rules_of_one_name_are_refused_when_they_meet():
    rules = RuleSet("", [Rule("same", np.sin(x), x)], table("cos", Rule("same", np.cos(x), x)))
    with pytest.raises(ValueError, match="two rules of one name"):
        rules(parse(text("%x: f64[3]", "cos %x; return %0")))
