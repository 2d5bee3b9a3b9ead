"""The engine: order, types, roles, uses, endless rules, and what it tells of its work."""

import numpy as np
import pytest

import tapec
from tapec.errors import GraphError
from tapec.ir import CT, Builder, get_op, input_node, parse, verify
from tapec.ir.pattern import Some, number, variables
from tapec.ir.types import Type
from tapec.ops import Symbol
from tapec.passes.engine.rewrite import Rewriter, RuleSet
from tapec.passes.engine.rule import Rule
from tapec.passes.engine.use_counts import Uses
from tapec.passes.engine.value_numbering import heads
from tapec.passes.rules import CONSTANT_SCALES, SCALED_MATMUL, SUMS_WITH_OTHER_KEEPDIMS
from tapec.testing.rewrites import ordered
from tests.passes.support import text

a, b, x = variables("a b x")
k = number("k")
X = "%x: f64[3], %y: f64[3]"


def rewritten(body, *rules, inputs=X):
    """The graph after the rules, in the order of its own text."""
    return ordered(verify(RuleSet("", rules)(parse(text(inputs, body)))))


def expect(body, after, *rules, inputs=X):
    assert rewritten(body, *rules, inputs=inputs) == ordered(parse(text(inputs, after)))


def test_a_graph_without_a_match_is_given_back_itself():
    graph = parse(text(X, "sin %x; cos %0"))
    assert RuleSet("", [Rule("", np.exp(x), x)])(graph) is graph
    assert RuleSet("", [Rule("", np.sin(np.cos(x)), x)])(graph) is graph


def test_what_a_rule_makes_is_rewritten_too():
    rules = [
        Rule("tan", np.tan(x), np.sin(x) / np.cos(x)),
        Rule("sin", np.sin(x), np.sqrt(x)),
        Rule("root", np.sqrt(x), -x),
    ]
    expect("tan %x", "negative %x; cos %x; divide %0, %1", *rules)


def test_operands_are_in_their_final_form_first():
    rules = [Rule("exp", np.exp(x), x), Rule("double", x + x, x * 2.0)]
    expect("exp %x; exp %0; add %1, %x", "multiply %x, 2.0", *rules)


def test_rules_are_tried_in_their_order():
    expect("sin %x", "cos %x", Rule("one", np.sin(x), np.cos(x)), Rule("two", np.sin(x), np.tan(x)))


def test_rules_of_names_and_of_kinds_are_tried_in_one_order():
    named = Rule("name", np.sin(x), np.tan(x))
    operand = lambda y: -Symbol(y.node.inputs[0], y.builder)
    kind = Rule("kind", Some(kinds=("elementwise",)), operand, lambda y: y.op.name == "sin")
    expect("sin %x", "tan %x", named, kind)
    expect("sin %x", "negative %x", kind, named)


@pytest.mark.parametrize(
    "pattern, op", [(x > 0.0, "greater"), (x >= 0.0, "greater_equal"), (x < 0.0, "less"), (x <= 0.0, "less_equal")]
)
def test_patterns_compare_as_code_does(pattern, op):
    rule = Rule("", np.where(pattern, x, 0.0), np.tan(x), kinds="fb")
    expect(f"{op} %x, 0.0; where %0, %x, 0.0", "tan %x", rule)
    other = "less" if op != "less" else "greater"
    expect(f"{other} %x, 0.0; where %0, %x, 0.0", f"{other} %x, 0.0; where %0, %x, 0.0", rule)


def test_operands_of_commutative_ops_match_in_both_orders():
    rule = Rule("", np.exp(a) * np.sin(b) + 1.0, a - b)
    for body in ("multiply %0, %1; add %2, 1.0", "multiply %1, %0; add %2, 1.0", "multiply %1, %0; add 1.0, %2"):
        expect(f"exp %x; sin %y; {body}", "subtract %x, %y", rule)


def test_a_variable_stands_for_one_value():
    rule = Rule("", a * b - a, b)
    expect("multiply %x, %y; subtract %0, %x", "%y", rule)
    expect("multiply %x, %y; subtract %0, %y", "%x", rule)
    expect("multiply %x, %y; sin %x; subtract %0, %1", "multiply %x, %y; sin %x; subtract %0, %1", rule)


def test_a_number_variable_is_one_number():
    rule = Rule("", x * k + k, lambda x, k: x - k)
    expect("multiply %x, 2.0; add %0, 2.0", "subtract %x, 2.0", rule)
    expect("multiply %x, 2.0; add %0, 3.0", "multiply %x, 2.0; add %0, 3.0", rule)
    expect("multiply %x, 2.0; add %0, 2", "multiply %x, 2.0; add %0, 2", rule)


def test_the_type_of_a_result_stays():
    """A smaller shape is spread out again; another dtype is not accepted, and leaves nothing behind."""
    rule = Rule("", a + b * 0.0, a)
    inputs = "%x: f64[3], %m: f64[2,3], %h: f32[3]"
    expect("multiply %m, 0.0; add %x, %0", "broadcast_to %x {shape=(2, 3)}", rule, inputs=inputs)
    expect("multiply %m, 0.0; add %h, %0", "multiply %m, 0.0; add %h, %0", rule, inputs=inputs)
    expect("multiply %x, 0.0; add %m, %0", "%m", rule, inputs=inputs)


def test_kinds_hold_for_every_node_of_the_pattern():
    rule = Rule("", a + -b, a - b)
    inputs = "%x: f64[3], %n: u8[3]"
    expect("negative %n; add %x, %0", "negative %n; add %x, %0", rule, inputs=inputs)


def test_the_least_size_of_the_result():
    rule = Rule("", np.exp(x), -x, least=4)
    inputs = "%x: f64[3], %m: f64[2,3]"
    expect("exp %x; exp %m; return %0, %1", "exp %x; negative %m; return %0, %1", rule, inputs=inputs)


def test_the_smaller_of_two_operands():
    rule = Rule("", a * b * k, a * (b * k), smaller=("b", "a"))
    inputs = "%x: f64[3], %y: f64[3], %m: f64[2,3]"
    for product in ("multiply %x, %m", "multiply %m, %x"):
        for whole in ("multiply %0, 2.0", "multiply 2.0, %0"):
            expect(f"{product}; {whole}", "multiply %x, 2.0; multiply %m, %0", rule, inputs=inputs)
    expect("multiply %x, %y; multiply %0, 2.0", "multiply %x, %y; multiply %0, 2.0", rule, inputs=inputs)
    rule = Rule("", a - b, b - a, smaller=("b", "a"))
    with pytest.raises(ValueError, match="no operand of it is of b and a"):
        expect("subtract %x, %y", "", rule)


def test_constants_are_told_apart_by_class_sign_and_last_bit():
    numbers = [0.1, 0.1 + 2e-17, 1, 1.0, True, 1 + 0j, 0.0, -0.0, complex(-0.0, 0.0), complex(0.0, -0.0), 0, False]
    numbers += [float("nan"), 2**80, 0.1 + 0.2, 0.3, np.float64(0.3), np.float32(0.3), np.int64(1), np.array(1)]
    builder = Builder()
    nodes = [builder.constant(value) for value in numbers]
    assert len(set(nodes)) == len({repr((type(value), value)) for value in numbers})
    assert all([builder.constant(value) is node for value, node in zip(numbers, nodes)])


def test_twins_are_one_before_anything_fires():
    """The numbering is made before the walk: what equals an earlier node is found, in either order of operands."""
    rule = Rule("", x - x, np.cos(x))
    expect("multiply %x, %y; multiply %y, %x; subtract %0, %1", "multiply %x, %y; cos %0", rule)


def test_the_numbering_goes_on_to_the_next_rules():
    """What the first rules left behind is not found by the second, and what comes later is not found too early."""
    first = RuleSet("", [Rule("one", np.sin(np.exp(x)), np.cos(x))])
    second = RuleSet("", [Rule("two", np.tan(x), np.sin(np.exp(x))), Rule("three", np.sqrt(x), np.log(x) + np.exp(x))])
    graph = parse(text(X, "exp %x; sin %0; sqrt %y; tan %x; log %y; return %1, %2, %3, %4"))
    result = ordered(verify(second(verify(first(graph)))))
    after = "cos %x; log %y; exp %y; add %1, %2; exp %x; sin %4; return %0, %3, %5, %1"
    assert result == ordered(parse(text(X, after)))


def test_once_counts_what_is_left():
    rule = Rule("", np.exp(x) - 1, np.expm1(x), once=True)
    twice = "exp %x; subtract %0, 1; add %0, %1"
    expect(twice, twice, rule)
    other = Rule("other", np.exp(x) * 0, lambda x: x)  # its use of the exponential goes away
    expect("exp %x; multiply %0, 0; subtract %0, 1; add %1, %2", "expm1 %x; add %x, %0", other, rule)


def test_once_counts_outputs():
    rule = Rule("", np.exp(x) - 1, np.expm1(x), once=True)
    expect("exp %x; subtract %0, 1; return %0, %1", "exp %x; subtract %0, 1; return %0, %1", rule)


def test_uses_go_to_what_takes_the_place():
    """The product is used twice, once under each of two names."""
    same = Rule("same", np.positive(x), x)
    once = Rule("", -(a * b), a - b, once=True)
    body = "multiply %x, %y; positive %0; negative %1; add %2, %0"
    expect(body, "multiply %x, %y; negative %0; add %1, %0", same, once)


def test_cotangents_only():
    rule = Rule("", np.exp(x) * a, x, only="cotangents")
    expect("exp %x !ct; multiply %0, %y !ct", "%x", rule)
    for body in ("exp %x; multiply %0, %y !ct", "exp %x !ct; multiply %0, %y"):
        expect(body, body, rule)


def test_what_is_made_has_the_role_and_the_origin_of_what_it_replaces():
    origin = (test_cotangents_only.__code__, 0)
    for role in (None, CT):
        builder = Builder()
        start = input_node("x", Type((3,), "f8"))
        builder.origin, builder.role = origin, role
        graph = builder.graph([start], [builder.emit(get_op("tan"), (start,))])
        result = RuleSet("", [Rule("", np.tan(x), np.sin(x) / np.cos(x))])(graph)
        assert [(n.op.name, n.role, n.origin) for n in result.nodes] == [
            (name, role, origin) for name in ("sin", "cos", "divide")
        ]


def test_what_the_user_computes_too_is_the_users():
    """A rule among cotangents makes what forward code makes later: that code's exact value is kept."""
    rule = Rule("", np.exp(x), np.sin(x))
    result = rewritten("exp %x !ct; exp %x; return %0, %1", rule)
    assert [n.role for n in result.nodes] == [None]


def test_guards_and_replacements_take_what_they_name():
    seen = []

    def condition(y, k):
        seen.append((y.op.name, k))
        return k > 2

    rule = Rule("", x * k, lambda k, y, x: np.reshape(x, y.shape) + k, condition)
    expect("multiply %x, 2.0", "multiply %x, 2.0", rule)
    expect("multiply %x, 3.0", "add %x, 3.0", rule)
    assert set(seen) == {("multiply", 2.0), ("multiply", 3.0)}


def test_a_guard_may_count_uses_and_tell_the_replacement():
    rule = Rule("", np.exp(x), lambda x, fact: x * float(fact), when=lambda x, uses: uses(x))
    expect("exp %x", "multiply %x, 1.0", rule)
    expect("exp %x; add %0, %x", "multiply %x, 2.0; add %0, %x", rule)


def test_a_replacement_may_decline():
    expect("sin %x", "sin %x", Rule("", np.sin(x), lambda x: None))


def test_some_node_with_some_operand():
    rule = Rule("", Some("sin", "cos", kinds=("reduction",), of=("exp",)), lambda y: np.zeros_like(y))
    zeros = "full {{shape=({}), value=0.0, dtype=f64}}".format
    expect("exp %x; cos %0", zeros("3,"), rule)
    expect("exp %x; sum %0 {axis=(0,), keepdims=False}", zeros(""), rule)
    expect("exp %x; tan %0", "exp %x; tan %0", rule)
    expect("sin %x; cos %0", "sin %x; cos %0", rule)


def test_some_node_with_every_operand():
    rule = Rule("", Some(kinds=("elementwise",), of=("exp", "sin"), every=True), lambda y: np.zeros_like(y))
    zeros = "full {shape=(3,), value=0.0, dtype=f64}"
    expect("exp %x; sin %x; multiply %0, %1", zeros, rule)
    expect("exp %x; multiply %0, %x", "exp %x; multiply %0, %x", rule)


def test_rules_that_undo_one_another():
    rules = [Rule("out", -a * b, -(a * b)), Rule("in", -(a * b), -a * b)]
    graph = parse(text(X, "negative %x; multiply %0, %y"))
    with (
        tapec.settings(verify=True),
        pytest.raises(GraphError, match="rules undo one another; the last to fire would be"),
    ):
        RuleSet("", rules)(graph)
    with tapec.settings(verify=False):
        verify(RuleSet("", rules)(graph))


def test_rules_that_go_down_a_long_chain_do_not_undo_one_another():
    lines = ["sin %x", *[f"sin %{k}" for k in range(99)], "negative %99"]
    graph = parse(text(X, "; ".join(lines)))
    rules = [Rule("in", -np.sin(a), np.sin(-a))]
    with tapec.settings(verify=True):
        found = RuleSet("", rules)(graph)
    assert len(found.nodes) == len(graph.nodes)


def test_operands_of_a_result_are_not_dropped(monkeypatch):
    """Its operands would be used again at once: at each of many places, down to the inputs."""
    dropped, drop = [], Uses.drop_operands

    def counted(self, node):
        before = len(self._unused)
        drop(self, node)
        dropped.append(len(self._unused) - before)

    monkeypatch.setattr(Uses, "drop_operands", counted)
    n = 100
    steps = [f"sin %{3 * k - 1 if k else 'x'}; cos %{3 * k}; negative %{3 * k + 1}" for k in range(n)]
    undo = Rule("undo", Some("negative", of=("cos",)), lambda y: Symbol(y.node.inputs[0].inputs[0], y.builder))
    assert len(RuleSet("", [undo])(parse(text(X, "; ".join(steps)))).nodes) == n
    assert sum(dropped) < 3 * n


def test_an_op_that_is_not_defined_matches_nothing():
    from tapec.ir.pattern import call

    expect("sin %x", "sin %x", Rule("", call("no_such_op", x), x), Rule("other", np.sin(call("no_such_op", x)), x))


def test_two_rules_of_one_name():
    with pytest.raises(ValueError, match="two rules of one name"):
        RuleSet("", [Rule("same", np.sin(x), x)], [Rule("same", np.cos(x), x)])


def test_rules_say_what_they_change():
    with pytest.raises(ValueError, match="rule odd: 'colour', None"):
        Rule("odd", np.sin(x), x, changes="colour")


def test_it_tells_of_each_firing():
    told = []
    graph = parse(text(X, "exp %x; exp %0; sin %1; exp %x; cos %3; return %2, %4"))
    RuleSet("", [Rule("drop_operands", np.exp(x), x)])(graph, told.append)
    fired = [(r.rule, r.before.op.name, r.after.op.name) for r in told]
    assert fired == [("drop_operands", "exp", "input")]  # once for equal nodes


@pytest.mark.thorough
def test_long_chains_need_no_recursion():
    builder = Builder()
    start = v = input_node("x", Type((3,), "f8"))
    for _ in range(20_000):
        v = builder.emit(get_op("negative"), (v,))
        v = builder.emit(get_op("multiply"), (v, start))
    graph = builder.graph([start], [v])
    result = RuleSet("", [Rule("out", -a * b, -(a * b), once=True), Rule("twice", np.negative(-x), x)])(graph)
    assert len(result.nodes) == 20_000


def test_patterns_print_as_they_are_read():
    assert repr(np.where(a, -b * 2.0, x**k)) == "where(a, multiply(negative(b), 2.0), power(x, k))"
    assert repr(Some("sum", kinds=("layout",), of=("full",))) == "sum|layout(full ...)"
    assert repr((1 - a) / x @ x[...] + np.reshape(np.sum(a), ...)) == (
        "add(matmul(divide(subtract(1, a), x), getitem(x)), reshape(sum(a)))"
    )


def test_what_stands_before_the_first_rewriting_stays():
    graph = parse(text("%x: f64[3]", "sin %x; cos %0; exp %1; tan %2; exp %3; return %4"))
    made = RuleSet("", [Rule("", np.exp(np.tan(x)), x)])(graph)
    assert made.nodes == graph.nodes[:3] and made.outputs == (graph.nodes[2],)


def test_heads_tell_alike_nodes():
    graph = parse(text("%x: f64[3]", "sin %x; sin %x; cos %0; sin %2; add %0, %3 !ct; return %4"))
    found = {(cotangent, *[op.name for op in ops]): k for (cotangent, ops), k in heads(graph).items()}
    assert found == {
        (False, "sin", "input"): [0, 1],
        (False, "cos", "sin"): [2],
        (False, "sin", "cos"): [3],
        (True, "add", "sin", "sin"): [4],
    }


def test_a_guard_of_the_node_alone_is_asked_about_kinds_of_the_rule_only():
    asked = set()

    def condition(y):
        asked.add(y.type.dtype.char)
        return y.type.size == 3

    rule = Rule("", np.sin(x), lambda x: np.cos(x), condition)
    inputs = "%x: f64[3], %c: c128[3], %m: f64[2]"
    unchanged = "sin %c; sin %m; return %0, %1"
    assert rewritten(unchanged, rule, inputs=inputs) == ordered(parse(text(inputs, unchanged)))
    assert asked == {"d"}
    expect("sin %x; return %0", "cos %x; return %0", rule, inputs=inputs)


def test_each_node_is_looked_at_once():
    """Those before the first at which a rule fires, and those after it, whatever is looked at before."""
    asked = []
    sines = Rule("sin", Some("sin"), x, lambda y: asked.append(y.inputs[0].name))
    rewritten("sin %x; negative %0; negative %1; sin %y", sines, Rule("twice", np.negative(np.negative(x)), x))
    assert asked == ["x", "y"]


@pytest.mark.parametrize(
    ("rules", "body"),
    [
        (SUMS_WITH_OTHER_KEEPDIMS, "sin %x; sum %0 {axis=(0,), keepdims=False}"),
        (CONSTANT_SCALES, "sin %x; divide %x, %y !ct; multiply %1, %0 !ct"),
        (SCALED_MATMUL, "multiply %x, 2.0 !ct; matmul %0, %y !ct"),
    ],
)
def test_what_is_made_of_something_else_that_is_there_asks_for_it_first(rules, body, monkeypatch):
    """Where it is not there, the program is not walked through."""
    names = ("sum-with-other-keepdims", "times-known-quotient", "known-product-of-multiple")
    walked = []
    monkeypatch.setattr(Rewriter, "rewritten", lambda self, node, variants: walked.append(node) or node)
    graph = parse(text(X, body))
    assert RuleSet("", [rule for rule in rules if rule.name in names])(graph) is graph
    assert not walked


def test_a_python_number_that_the_user_computes_stays_one():
    """NumPy's root would make a scalar of it; a guard asks what it is, and would not hold."""
    f = tapec.compile(lambda x: (2.0 * x**2) ** 1.5)
    for x in (1.0, 2.0, 3.0):
        assert f(x) == pytest.approx((2.0 * x**2) ** 1.5)
    assert f.cache_info().compilations == 1 and "recorded anew" not in str(f.explain(1.0))
