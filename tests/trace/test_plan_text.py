"""The functions that follow plans, as they are written out."""

from tapec.trace import plan_text
from tapec.trace.plan_text import Line, Text, written


def text(*args):
    return "\n".join(plan_text._function(Text(*args)))


def test_the_one_that_the_module_shows():
    lines = (Line((0,), (2,), (), (), False, True), Line((2, 1), (3,), (), (), False, True))
    shown = plan_text.__doc__.split("product:\n\n")[1].rstrip()
    assert text(2, 0, (), lines, (3,), (None,), False) == shown + "\n    return follow"


def test_one_op_of_one_operand_records_the_operands_as_they_came():
    made = text(1, 0, (), (Line((0,), (1,), (), (), False, True),), (1,), (0,), False)
    assert "append((o0, operands, p0, x1, code, offset))" in made
    assert "share(x1, operands[0], s0)" in made


def test_one_op_of_several_operands_looks_whether_arrays_have_changed():
    made = text(2, 0, (), (Line((0, 1), (2,), (), (), False, True),), (2,), (None,), False)
    assert "if type(a1) is ndarray: a1 = rec.log.seen(a1)" in made
    assert "(type(a0) is Tensor and a0._mark is mark or type(a1) is Tensor and a1._mark is mark)" in made


def test_of_what_each_op_hangs_on_one_must_be_watched():
    own = (Line((0,), (2,), (), (), False, True), Line((1,), (3,), (), (), False, True))
    made = text(2, 0, (), (*own, Line((2, 3), (4,), (), (), False, True)), (4,), (None,), False)
    assert "(type(a0) is Tensor and a0._mark is mark) and (type(a1) is Tensor and a1._mark is mark):" in made
    assert "seen" not in made


def test_what_hangs_on_no_operand_is_not_recorded():
    lines = (Line((1,), (2,), (), (), False, False), Line((0, 2), (3, 4), (4,), (4,), True, True))
    made = text(1, 1, (1,), lines, (3,), (None,), True)
    assert "o0" not in made
    assert "append((o1, (a0, v2), p1, (x3, h4), code, offset))" in made
    assert "return arrange([x3])" in made


def test_what_hangs_on_plain_operands_is_not_recorded_unless_they_are_tensors():
    lines = (Line((1,), (2,), (), (), False, False), Line((0, 2), (3,), (), (), False, True))
    made = text(2, 0, (), lines, (3,), (None,), False)
    assert "(type(a0) is Tensor and a0._mark is mark) and (type(a1) is not Tensor or a1._mark is None):" in made
    beside, both = made.split("elif ")
    assert "if type(v2) is ndarray and v2.base is not None: v2 = v2.copy()" in beside
    assert "o0" not in beside and "append((o1, (a0, v2), p1, x3, code, offset))" in beside
    assert "(type(a1) is Tensor and a1._mark is mark):" in both and ".copy()" not in both
    assert "append((o0, (a1,), p0, v2, code, offset))" in both
    alone = text(2, 0, (), lines[:1], (2,), (None,), False)
    assert "if rec.trace is not None or type(a1) is Tensor:" in alone
    assert "append" not in alone


def test_what_is_made_of_nothing_is_for_traced_functions():
    made = text(1, 0, (), (Line((), (1,), (), (), False, False),), (1,), (None,), False)
    assert "if rec.trace is not None:" in made
    assert "append" not in made


def test_a_result_may_be_an_operand_itself():
    made = text(2, 0, (), (), (1,), (None,), False)
    assert "return operands[1]" in made


def test_equal_texts_are_compiled_once():
    args = (3, 0, (), (Line((0, 1, 2), (3,), (), (), False, True),), (3,), (None,), False)
    assert written(Text(*args)) is written(Text(*args))
