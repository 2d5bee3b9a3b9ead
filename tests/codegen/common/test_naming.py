"""What users call things, and what values are, becomes the names of Python variables."""

import ast
import keyword
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.codegen import tuning
from tapec.codegen.common.made_names import made_name, words_for
from tapec.codegen.common.naming import RESERVED, SHADOWED, Names, identifier
from tapec.ir import CT, Node, constant, get_op, input_node
from tapec.ir.types import Type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x", "x"),
        ("params['w']", "params_w"),
        ("1", "v1"),
        ("", "x"),
        ("if", "if_"),
        ("None", "None_"),
        ("np", "np_"),
        ("open", "open_"),
        ("a\nb", "a_b"),
        ("__import__('os')", "import___os"),
        ("é", "é"),
        ("ﬁ", "fi"),  # Python reads this ligature as two letters in a name
        ("𝐢𝐟", "if_"),
        ("𝐓𝐫𝐮𝐞", "True_"),
        ("x²", "x2"),
        ("²", "v2"),
        ("𐄇", "v"),
    ],
)
def test_names(text, name):
    assert identifier(text) == name


@given(st.text(max_size=12))
def test_any_text_becomes_a_name_that_python_keeps(text):
    name = identifier(text)
    assert name.isidentifier() and not keyword.iskeyword(name)
    assert name not in RESERVED and name not in SHADOWED
    assert unicodedata.normalize("NFKC", name) == name


MATRIX = Type((3, 3), np.dtype("f8"))


def made(name, *operations):
    """Return the name of what the operations make, one after the other, of a matrix of that name."""
    node = input_node(name, MATRIX)
    for op in operations:
        node = Node(get_op(op), (node, node) if op == "multiply" else (node,), (), MATRIX)
    return made_name(node)


@pytest.mark.parametrize(
    ("operations", "name"),
    [
        (["exp"], "exp_z"),
        (["exp", "log"], "log_exp_z"),
        (["negative", "exp"], "exp_neg_z"),
        (["multiply"], "sq_z"),
        (["inv"], "zinv"),
        (["negative"], "neg_z"),
        (["exp"] * 3, "exp_exp_exp_z"),
        (["exp"] * 4, None),  # the name would be too long
    ],
)
def test_values_without_a_name_are_called_after_what_they_are(operations, name):
    assert made("z", *operations) == name


def test_no_value_is_called_after_what_it_is_a_multiple_of_or_shifted_from():
    z, one = input_node("z", MATRIX), constant(1.0)
    shifted = Node(get_op("subtract"), (one, z), (), MATRIX)
    doubled = Node(get_op("multiply"), (constant(3.0), z), (), MATRIX)
    for x in shifted, doubled:
        assert made_name(Node(get_op("exp"), (x,), (), MATRIX)) is None


def test_a_shift_by_something_smaller_does_not_change_a_name():
    z = input_node("z", MATRIX)
    largest = Node(get_op("max"), (z,), (("axis", (1,)), ("keepdims", True)), Type((3, 1), MATRIX.dtype))
    shifted = Node(get_op("subtract"), (z, largest), (), MATRIX)
    slope = Node(get_op("multiply"), (z, z), (), MATRIX, role=CT)
    slope.of = shifted
    assert made_name(Node(get_op("exp"), (shifted,), (), MATRIX)) == "exp_z" and made_name(slope) == "d_z"
    assert words_for(shifted)[0] == "shifted"


def test_deviations_and_what_is_divided_by_them_are_called_so():
    z = input_node(None, MATRIX)
    column = Type((3, 1), MATRIX.dtype)
    params = ("axis", (1,)), ("keepdims", True)
    centred = Node(get_op("subtract"), (z, Node(get_op("mean"), (z,), params, column)), (), MATRIX)
    square = Node(get_op("multiply"), (centred, centred), (), MATRIX)
    for variance in (
        Node(get_op("mean"), (square,), params, column),
        Node(get_op("divide"), (Node(get_op("sum"), (square,), params, column), constant(2.0)), (), column),
    ):
        deviation = Node(get_op("sqrt"), (variance,), (), column)
        normed = Node(get_op("divide"), (centred, deviation), (), MATRIX)
        assert [words_for(n)[0] for n in (variance, deviation, normed)] == ["var", "std", "normed"]


def test_a_derivative_is_called_after_what_it_is_by():
    z = input_node("z", MATRIX)
    exp = Node(get_op("exp"), (z,), (), MATRIX)
    slope = Node(get_op("multiply"), (z, exp), (), MATRIX, role=CT)
    slope.of = exp
    assert made_name(slope) == "d_exp_z" and made_name(Node(get_op("tanh"), (slope,), (), MATRIX)) == "tanh_d_exp_z"


def test_a_multiple_of_a_derivative_has_the_factor_before_its_name():
    dt, slope = input_node("dt", MATRIX), input_node("d_x", MATRIX)
    assert made_name(Node(get_op("multiply"), (slope, dt), (), MATRIX, role=CT)) == "dt_d_x"
    assert made_name(Node(get_op("multiply"), (constant(2.0), slope), (), MATRIX, role=CT)) == "two_d_x"


def test_a_quotient_by_a_whole_number_tells_the_number():
    h = input_node("h", MATRIX)
    assert made_name(Node(get_op("divide"), (h, constant(6.0)), (), MATRIX)) == "h_over_6"
    assert made_name(Node(get_op("divide"), (h, constant(0.3)), (), MATRIX)) is None


def test_names_of_the_users_are_never_made_by_numbers():
    """`d_b2` is the derivative of a bias `b2`, and no second `d_b`."""
    names = Names()
    names.wished |= {"d_b2"}
    assert [names.take("d_b") for _ in range(3)] == ["d_b", "d_b3", "d_b4"]


def test_a_word_is_taken_again_only_when_there_is_no_other():
    names = Names()
    names.wished |= {"gap"}
    assert names.take_first(("diff", "gap", "rest")) == "diff"
    names.release("diff")
    assert names.take_first(("diff", "gap", "rest")) == "rest"
    names.release("rest")
    assert names.take_first(("diff", "gap", "rest")) == "diff"


@given(st.text(min_size=1, max_size=15), st.lists(st.sampled_from(["exp", "log", "negative", "multiply", "inv"])))
def test_names_that_are_made_are_short(text, operations):
    name = made(text, *operations)
    assert name is None or len(name) <= tuning.MADE_NAME_MAX_CHARACTERS
    assert made("", *operations[:1]) is None  # of what has no name, nothing is made


def softmax(x):
    z = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0])


def polynomial(x):
    return 3.0 * x**3 - 2.0 * x**2 + x - 5.0 + np.sin(2.0 * x) * x


def quotient(u, v, w):
    return np.sum(np.exp(u * v) / np.sqrt(w) + np.tanh(w) * u) + np.sum(np.log(w)) ** 3


def layer(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


PROGRAMS = {
    softmax: (np.ones((300, 40)),),
    polynomial: (1.5,),
    quotient: (np.ones(40), np.ones(40), np.ones(40)),
    layer: (np.ones((60, 50)), np.ones((400, 60)), np.ones((400, 50))),
}


def assigned(function):
    """Return the names that the value and the gradient of a program assign, and the value that it returns."""
    values = PROGRAMS[function]
    gradient = tapec.value_and_grad(function)
    gradient(*values)
    body = ast.parse(str(gradient.source(*values))).body[0]
    names = [n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return names, ast.unparse(body.body[-1].value.elts[0])


@pytest.mark.parametrize("function", PROGRAMS)
def test_no_temporary_is_numbered(function):
    names, _ = assigned(function)
    assert names and not [n for n in names if n[0] in "tvzsmel" and n[1:].isdigit()]


@pytest.mark.parametrize("function", [polynomial, layer])
def test_what_is_differentiated_is_the_value(function):
    names, value = assigned(function)
    assert "value" in names and value.removeprefix("np.float64(").removesuffix(")") == "value"
