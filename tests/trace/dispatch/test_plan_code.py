"""The functions that follow plans, as they are written out."""

import ast

from tapec.trace.dispatch import plan_code
from tapec.trace.dispatch.plan_code import Line, Text, written
from tests.properties import calls, has, names, nodes


def text(*args):
    return "\n".join(plan_code._function(Text(*args)))


def made_of(*args):
    """Return the code of a function that follows a plan."""
    return "def make():\n" + text(*args)


def asked(code):
    """Return what the `if` statements ask whether operands are recorded."""
    return [n.test for n in nodes(code, ast.If) if has(n.test, "_._mark is mark")]


def test_the_one_that_the_module_shows():
    lines = (Line((0,), (2,), (), (), False, True), Line((2, 1), (3,), (), (), False, True))
    shown = plan_code.__doc__.split("product:\n\n")[1].rstrip()
    assert text(2, 0, (), lines, (3,), (None,), False) == shown + "\n    return follow"


def test_one_op_of_one_operand_records_its_operands():
    made = made_of(1, 0, (), (Line((0,), (1,), (), (), False, True),), (1,), (0,), False)
    assert has(made, "append((o0, operands, p0, x1, code, offset))") and has(made, "share(x1, operands[0], s0)")


def test_one_op_of_several_operands_looks_for_changed_arrays():
    made = made_of(2, 0, (), (Line((0, 1), (2,), (), (), False, True),), (2,), (None,), False)
    assert has(made, "if type(a1) is ndarray: a1 = rec.log.seen(a1)")
    assert has(made, "type(a0) is Tensor and a0._mark is mark or type(a1) is Tensor and a1._mark is mark")


def test_of_what_each_op_depends_on_one_must_be_watched():
    own = (Line((0,), (2,), (), (), False, True), Line((1,), (3,), (), (), False, True))
    made = made_of(2, 0, (), (*own, Line((2, 3), (4,), (), (), False, True)), (4,), (None,), False)
    (condition,) = asked(made)
    for name in ("a0", "a1"):
        assert has(condition, f"type({name}) is Tensor and {name}._mark is mark")
    assert not nodes(condition, ast.Or) and not calls(made, "seen")


def test_what_depends_on_no_operand_is_not_recorded():
    lines = (Line((1,), (2,), (), (), False, False), Line((0, 2), (3, 4), (4,), (4,), True, True))
    made = made_of(1, 1, (1,), lines, (3,), (None,), True)
    assert "o0" not in names(made) and has(made, "append((o1, (a0, v2), p1, (x3, h4), code, offset))")
    assert has(made, "return arrange([x3])")


def test_what_depends_on_plain_operands_is_not_recorded():
    lines = (Line((1,), (2,), (), (), False, False), Line((0, 2), (3,), (), (), False, True))
    made = made_of(2, 0, (), lines, (3,), (None,), False)
    beside, both = [n for n in nodes(made, ast.If) if has(n.test, "_._mark is mark")]
    assert has(beside.test, "type(a0) is Tensor and a0._mark is mark")
    assert has(beside.test, "type(a1) is not Tensor or a1._mark is None")
    assert has(beside.body, "if type(v2) is ndarray and v2.base is not None: v2 = v2.copy()")
    assert "o0" not in names(beside.body) and has(beside.body, "append((o1, (a0, v2), p1, x3, code, offset))")
    assert beside.orelse == [both] and has(both.test, "type(a1) is Tensor and a1._mark is mark")
    assert has(both, "append((o0, (a1,), p0, v2, code, offset))") and not calls(both, "copy")
    alone = made_of(2, 0, (), lines[:1], (2,), (None,), False)
    assert has(alone, "rec.trace is not None or type(a1) is Tensor") and not calls(alone, "append")


def test_what_is_made_of_nothing_is_for_traced_functions():
    made = made_of(1, 0, (), (Line((), (1,), (), (), False, False),), (1,), (None,), False)
    assert has(made, "rec.trace is not None") and not calls(made, "append")


def test_a_result_may_be_an_operand_itself():
    assert has(made_of(2, 0, (), (), (1,), (None,), False), "return operands[1]")


def test_equal_texts_are_compiled_once():
    args = (3, 0, (), (Line((0, 1, 2), (3,), (), (), False, True),), (3,), (None,), False)
    assert written(Text(*args)) is written(Text(*args))
