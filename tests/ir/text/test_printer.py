"""Graph text: there and back, and what the errors of the reader say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.errors import ParseError
from tapec.ir import CT, ITEM, OPS, Builder, Graph, Node, Op, constant, get_op, input_node, parse
from tapec.ir.param_types import ParamType
from tapec.ir.static_index import Slice, Slot
from tapec.ir.text.printer import constant_table, print_graph
from tapec.ir.types import Type

F3 = Type((3,), "f8")


def round_trip(graph):
    """The text of a graph, after checking that it reads back to an equal one."""
    text = str(graph)
    again = parse(text, constant_table(graph))
    assert again.fingerprint == graph.fingerprint
    assert again == graph
    assert str(again) == text
    assert [n.name for n in again.inputs] == [n.name for n in graph.inputs]
    return text


EXAMPLE = """\
graph loss(%x: f64[3], %w: f64[3]) {
  %0: f64[3] = multiply %x, %w
  %1: f64[] = sum %0 {axis=(0,), keepdims=False}
  return %1
}"""


def test_the_example_of_the_design():
    graph = parse(EXAMPLE)
    assert str(graph) == EXAMPLE
    assert graph.name == "loss"
    assert [str(n.type) for n in graph.nodes] == ["f64[3]", "f64[]"]
    assert [n.name for n in graph.inputs] == ["x", "w"]
    assert graph.nodes[1].params == (("axis", (0,)), ("keepdims", False))


@pytest.mark.parametrize(
    "value",
    [2.0, -0.0, 0, -3, True, False, 1e300, 5e-324, float("inf"), float("-inf"), 1j, -1j, complex(-0.0, -2.5)]
    + [complex(float("inf"), -1), 10**30, float("nan"), complex(float("nan"), 0)],
)
def test_literals_stand_where_they_are_used(value):
    builder = Builder()
    x = input_node("x", F3)
    literal = builder.constant(value)
    graph = builder.graph([x], [builder.emit(get_op("stack"), (literal, literal), (("axis", 0),)), literal])
    text = round_trip(graph)
    assert f"stack {value!r}, {value!r} {{axis=0}}" in text
    again = parse(text).nodes[0].value
    assert type(again) is type(value) and repr(again) == repr(value)


def test_where_a_literal_stands_makes_no_difference():
    x = input_node("x", F3)
    one, add = constant(1.0), get_op("add")
    early = Node(add, (x, x), (), F3)
    late = Node(add, (early, one), (), F3)
    assert Graph([x], [one, early, late], [late]) == Graph([x], [early, one, late], [late])


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, -0.0, np.nan]), "[1.0, -0.0, nan]"),
        (np.array([[1, 2], [3, 4]], np.int8), "[[1, 2], [3, 4]]"),
        (np.array([0.1, 2.0], np.float32), "[0.1, 2.0]"),
        (np.array([1 + 2j, np.inf], np.complex64), "[(1+2j), (inf+0j)]"),
        (np.array([True, False]), "[True, False]"),
        (np.zeros((0, 3)), "[]"),
        (np.zeros((2, 0)), "[[], []]"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.float16(0.1), "0.1"),
        (np.bool_(True), "True"),
    ],
)
def test_small_constants_are_written_out(array, text):
    node = constant(array, "c")
    printed = round_trip(Graph([], [node], [node]))
    assert printed.splitlines()[1] == f"  %c: {node.type} = constant {{value={text}}}"


@pytest.mark.parametrize(
    "array",
    [np.arange(100.0), np.array([1, 2], np.longdouble) / 3, -np.array([np.nan]), np.float64(np.inf) * np.zeros(2)],
    ids=["big", "extended", "signed nan", "made nan"],
)
def test_other_constants_are_named(array):
    node = constant(array, "weights")
    graph = Graph([], [node], [node])
    table = constant_table(graph)
    text = round_trip(graph)
    if table:  # the sign of a made nan differs from machine to machine
        assert "{value=@weights}" in text and table["weights"] is node.value


def test_names_of_constants_are_distinct():
    nodes = [constant(np.arange(20.0) + k, name) for k, name in enumerate(["w", "w", None, None, "self.w[0]"])]
    graph = Graph([], nodes, nodes)
    round_trip(graph)
    assert list(constant_table(graph)) == ["w", "w_1", "c", "c_1", "self_w_0"]


class AnyParams(dict):
    """The declaration of an op that takes parameters of any names and values."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return ParamType("anything", lambda value: True)


PROBE = Op(name="probe_of_test", run=None, rule=lambda t, **params: t, kind="test", params=AnyParams())


@pytest.fixture(scope="module")
def probe():
    """Make a graph with one node that has these parameters."""

    def made(*params):
        x = input_node("x", F3)
        return Graph([x], [node := Node(PROBE, (x,), params, F3)], [node])

    OPS[PROBE.name] = PROBE
    yield made
    del OPS[PROBE.name]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3"),
        (-2.5, "-2.5"),
        (float("-inf"), "-inf"),
        (1e-05, "1e-05"),
        ((1 + 2j), "(1+2j)"),
        ("ij,jk->ik", "'ij,jk->ik'"),
        ('it\'s \n "x" # { = }', repr('it\'s \n "x" # { = }')),
        ((), "()"),
        ((1,), "(1,)"),
        ((1, (2, (3.0, None)), "a"), "(1, (2, (3.0, None)), 'a')"),
        (np.dtype(np.float32), "f32"),
        (np.dtype(bool), "bool"),
        ((np.dtype(np.int64), np.dtype(np.complex128)), "(i64, c128)"),
        (np.float32(0.5), "f32(0.5)"),
        (np.int64(-3), "i64(-3)"),
        ((Slice(None, None, None), Slice(1, -1, None), Slice(None, None, -1)), "(:, 1:-1, ::-1)"),
        ((Slice(5, None, -2), Slot(0), Slot(12), None, ..., 0), "(5::-2, $0, $12, None, ..., 0)"),
    ],
)
def test_parameters(probe, value, text):
    graph = probe(("index", value))
    assert round_trip(graph).splitlines()[1] == f"  %0: f64[3] = probe_of_test %x {{index={text}}}"
    again = parse(str(graph)).nodes[0].param("index")
    assert type(again) is type(value) and repr(again) == repr(value)


def test_objects_without_text_are_named(probe):
    def rule(x):
        return x

    graph = probe(("f", rule), ("g", rule), ("h", frozenset({1})))
    assert "{f=@rule, g=@rule, h=@p}" in round_trip(graph)


def test_several_results():
    pair = Op(name="pair_of_test", run=None, rule=lambda t: (t, t), kind="test", multi=True)
    OPS[pair.name] = pair
    try:
        builder = Builder()
        x = input_node("x", F3)
        first, second = builder.items(builder.emit(pair, (x,)))
        text = round_trip(builder.graph([x], [second, first]))
    finally:
        del OPS[pair.name]
    assert text.splitlines()[1:4] == [
        "  %0: (f64[3], f64[3]) = pair_of_test %x",
        "  %1: f64[3] = %0[0]",
        "  %2: f64[3] = %0[1]",
    ]


def test_called_graphs_stand_before_their_callers():
    call = get_op("call")
    inner = parse("graph double(%a: f64[3]) {\n  %0: f64[3] = add %a, %a\n  return %0\n}")
    builder = Builder()
    x = input_node("x", F3)
    (once,) = builder.items(builder.emit(call, (x,), (("bodies", (inner,)),)))
    (twice,) = builder.items(builder.emit(call, (once,), (("bodies", (inner,)),)))
    middle = builder.graph([x], [twice], "fourfold")
    builder = Builder()
    (y,) = builder.items(builder.emit(call, (x,), (("bodies", (middle,)),)))
    graph = builder.graph([x], [y])
    text = round_trip(graph)
    assert [line for line in text.splitlines() if "graph" in line or "@" in line] == [
        "graph text 2",
        "graph double(%a: f64[3]) {",
        "graph fourfold(%x: f64[3]) {",
        "  %0: (f64[3],) = call %x @double",
        "  %2: (f64[3],) = call %1 @double",
        "graph(%x: f64[3]) {",
        "  %0: (f64[3],) = call %x @fourfold",
    ]
    assert parse(text).nodes[0].bodies[0].name == "fourfold"


def test_names_of_values():
    builder = Builder()
    inputs = [input_node(name, F3) for name in ("x", "x", "params['w']", "self.w", "1")]
    h = Node(get_op("add"), (inputs[0], inputs[1]), (), F3, None, "h")
    graph = Graph(inputs, [builder.append(h)], [h])
    text = print_graph(graph)
    assert text.splitlines()[0] == (
        'graph(%x: f64[3], %x_1: f64[3], %"params[\'w\']": f64[3], %self.w: f64[3], %"1": f64[3]) {'
    )
    again = parse(text)
    assert again == graph
    assert [n.name for n in again.inputs] == ["x", "x_1", "params['w']", "self.w", "1"]
    assert again.nodes[0].name == "h"


def test_numbered_inputs_have_no_names():
    text = "graph(%0: f64[3], %x: f64[3], %1: f64[3]) {\n  %2: f64[3] = add %0, %1\n  return %2\n}"
    graph = parse(text)
    assert [n.name for n in graph.inputs] == [None, "x", None]
    assert str(graph) == text


def test_a_name_of_digits_is_no_number():
    text = 'graph(%"0": f64[3], %"2": f64[3]) {\n  %0: f64[3] = add %"0", %"2"\n  return %0, %"0"\n}'
    graph = parse(text)
    assert [n.name for n in (*graph.inputs, *graph.nodes)] == ["0", "2", None]
    assert list(graph.outputs) == [graph.nodes[0], graph.inputs[0]]
    assert str(graph) == text


def test_long_headers_are_broken():
    inputs = [input_node(f"input_number_{k}", F3) for k in range(20)]
    text = round_trip(Graph(inputs, [], inputs[:1], "a<b>"))
    assert text.startswith('graph "a<b>"(\n  %input_number_0: f64[3],\n')


def test_weak_inputs_and_no_outputs():
    text = "graph(%s: float, %n: int, %z: complex) {\n  return\n}"
    graph = parse(text)
    assert str(graph) == text
    assert all(i.type.weak for i in graph.inputs)


def test_role():
    graph = parse("graph(%x: f64[]) {\n  %0: f64[] = multiply %x, 2.0 !ct\n  %1: f64[] = negative %0\n  return %1\n}")
    assert graph.nodes[1].role is CT and graph.nodes[2].role is None
    round_trip(graph)
    assert graph != parse(str(graph).replace(" !ct", ""))


def test_comments_blanks_and_missing_types():
    graph = parse(
        """
        # what it is
        graph ( %x : f64[3] ,   # an input
                %w: f64[3] ) {

          %0 = multiply %x,%w   # its type comes from the rule
          %1=sum %0 {axis = (0,) , keepdims=False}  # done
          return %1  # this

        }
        # end"""
    )
    assert graph == parse(EXAMPLE)


def test_comments_of_nodes():
    text = print_graph(parse(EXAMPLE), lambda node: f"kind {node.op.kind}")
    assert text.splitlines()[1] == "  %0: f64[3] = multiply %x, %w  # kind elementwise"
    assert parse(text) == parse(EXAMPLE)


# ---------------------------------------------------------------------------------------------------------------
# errors
# ---------------------------------------------------------------------------------------------------------------
def body(line, after="return %x"):
    return f"graph(%x: f64[3]) {{\n  {line}\n  {after}\n}}"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "expected 'graph', found the end"),
        ("graph(%x: f64[3]) {\n\ud800", 2, 1, "'\\ud800' is no character"),
        ("graf(%x: f64[3]) {", 1, 1, "expected 'graph', found 'graf'"),
        ("graph(x: f64[3]) {", 1, 7, "expected an input such as '%x: f64[3]', found 'x:'"),
        ("graph(%x f64[3]) {", 1, 10, "expected ':', found 'f64[3]'"),
        ("graph(%x: f63[3]) {", 1, 11, "no dtype is called 'f63'"),
        ("graph(%x: f64) {", 1, 11, "a type has a shape: write 'f64[]' for a scalar"),
        ("graph(%x: f64[], %x: f64[]) {", 1, 18, "%x is defined twice"),
        ("graph(%x: (f64[],)) {", 1, 7, "an input has one type"),
        ("graph(%x: f64[3])", 1, 18, "expected '{', found the end"),
        ("graph(%x: f64[3]) {\n  %0 = sin %x\n", 3, 1, "expected '%name: type = op ...' or 'return ...'"),
        (body("%0: f64[3] = choleski %x, %x"), 2, 16, "no op is called 'choleski'. Did you mean cholesky?"),
        (body("%0: f64[3] = multiply %x, %y"), 2, 29, "%y is not defined before it is used"),
        (body("%0: f64[3] = multiply %x,"), 2, 28, "expected an operand: '%name' or a number, found"),
        (body("%0: f64[3] = multiply %x %x"), 2, 28, "expected the end of the line, found '%x'"),
        (body("%0: f64[3 = sin %x"), 2, 7, "a type has a shape: write 'f64[]' for a scalar"),
        (body("%0 = add %x, 1.0.0"), 2, 19, "expected the end of the line, found '.0'"),
        (body("%0 = sum %x {axis=(0, keepdims=False}"), 2, 25, "expected a value, found 'keepdims'"),
        (body("%0 = sum %x {axis (0,)}"), 2, 21, "expected '=', found '('"),
        (body("%0 = sum %x {axis=(0,)"), 2, 25, "expected '}', found the end of the line"),
        (body("%0 = reshape %x {shape=(2,"), 2, 29, "expected a value, found the end of the line"),
        (body("%0 = input %x"), 2, 8, "no op is called 'input'"),
        (body("%x = sin %x"), 2, 3, "%x is defined twice"),
        (body("%0 = einsum %x {subscripts='a->b'}"), 2, 8, "einsum does not fit its operands: "),
        (body("%0 = sum %x {axis=(1,), keepdims=False}"), 2, 8, "sum does not fit its operands: axes (1,)"),
        (body("%0 = matmul %x, 2.0"), 2, 8, "matmul does not fit its operands: "),
        (body("%0 = constant {value=@w}"), 2, 24, "@w was not given: pass it as parse(text, constants={'w': ...})"),
        (body("%0: f64[2] = constant {value=[1.0]}"), 2, 16, "the value is no f64[2]: "),
        (body("%0 = constant {shape=(1,)}"), 2, 8, "a constant is written 'constant {value=...}'"),
        (body("%0 = sin %x", "return %1"), 3, 10, "%1 is not defined before it is used"),
        (body("%0 = sin %x", "returns"), 3, 9, "expected an operand"),
        (body("%0 = multiply %x, 1_"), 2, 22, "expected the end of the line, found '_'"),
        (body("%0 = multiply %x, 1__0"), 2, 22, "expected the end of the line, found '__0'"),
        (body("%0 = multiply %x, 21_.0"), 2, 23, "expected the end of the line, found '_.0'"),
        (body(f"%0 = multiply %x, {'1' * 4301}"), 2, 21, "the number has 4301 digits, more than 640"),
        (body(f"%{'1' * 4301} = sin %x"), 2, 3, "the number has 4301 digits, more than 640"),
        (body(f"%0: f64[{'9' * 700}] = sin %x"), 2, 7, "the number has 700 digits"),
        (body("%0: f64[99999999999999999999] = sin %x"), 2, 7, "no array has such a shape"),
        (body(f"%0: f64[{'1,' * 70}] = sin %x"), 2, 7, "no array has such a shape"),
        (body("%0 = multiply %x, (1+j2j)"), 2, 21, "expected a number, found '(1+j2j)'"),
        (body("%0 = sum %x {axis=u8(300)}"), 2, 21, "the value is no u8: "),
        (body("%0 = sum %x {axis=f64('a')}"), 2, 21, "expected a number in f64(...)"),
        (body(f"%0 = sum %x {{axis={'(' * 20000}}}"), 2, 72, "more than 50 parentheses stand in each other"),
        (body("%0 = sum %x {axis='\\N{nothing}'}"), 2, 21, "'\\N{nothing}' is no text"),
        (body("%0 = sum %x {axis='\\ud800'}"), 2, 21, "'\\ud800' is no text"),
        (body('%"\\q" = sin %x'), 2, 3, '"\\q" is no name'),
        (body('%"\\ud800" = sin %x'), 2, 3, '"\\ud800" is no name'),
        (body("%0 = sin %x !other"), 2, 16, "expected the role 'ct', found 'other'"),
        (body("%0 = constant {value='a'}"), 2, 8, "the value is no number, and no array of numbers"),
        (body("%0 = constant {value=None}"), 2, 8, "the value is no number, and no array of numbers"),
        (body("%0: (f64[],) = constant {value=1.0}"), 2, 18, "a constant has one type"),
        (body("%0 = round %x {decimals='print(1)'}"), 2, 8, "round has 'print(1)' as decimals, which should be an"),
        (body("%0 = round %x"), 2, 8, "round lacks the parameter decimals"),
        (body("%0 = sin %x @x"), 2, 16, "@x was not given"),
        (body("%0 = call %x"), 2, 8, "call has 0 bodies, and call has 1"),
        ("graph text 1\n" + body("%0 = sin %x"), 1, 1, "graph text 1 is not known: this tapec reads 2"),
        (body("%0 = sin %x {decimals=1}"), 2, 8, "sin has the parameter 'decimals', which sin does not take"),
    ],
)
def test_errors_have_line_and_column(text, line, column, message):
    with pytest.raises(ParseError) as e:
        parse(text)
    assert str(e.value).startswith(f"line {line}, column {column}: {message}"), str(e.value)
    assert (e.value.line, e.value.column) == (line, column)


def test_graphs_that_call_each_other_too_deep():
    text = "graph g0(%a: f64[3]) {\n  return %a\n}\n" + "".join(
        f"graph g{k}(%a: f64[3]) {{\n  %0 = call %a @g{k - 1}\n  %1 = %0[0]\n  return %1\n}}\n" for k in range(1, 60)
    )
    with pytest.raises(ParseError, match="line 255, column 17: graphs call each other more than 50 deep"):
        parse(text)


def test_a_given_constant_of_the_wrong_type():
    text = body("%0: f64[2] = constant {value=@w}")
    with pytest.raises(ParseError, match="line 2, column 16: the value is f64\\[5\\], not f64\\[2\\]"):
        parse(text, {"w": np.zeros(5)})


def test_two_graphs_of_one_name():
    with pytest.raises(ParseError, match="line 6, column 1: graph loss is defined twice"):
        parse(f"{EXAMPLE}\n{EXAMPLE}")


# ---------------------------------------------------------------------------------------------------------------
# laws
# ---------------------------------------------------------------------------------------------------------------
numbers = st.one_of(st.booleans(), st.integers(), st.floats(), st.complex_numbers())
indices = st.one_of(
    st.builds(Slice, *[st.none() | st.integers(-9, 9)] * 3), st.builds(Slot, st.integers(0, 9)), st.just(...)
)
plain = st.one_of(st.none(), numbers, st.text(), indices, st.sampled_from([np.dtype(c) for c in "?bhilBHILefdFD"]))
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), values, max_size=3))
def test_any_parameters_come_back(probe, params):
    graph = probe(*params.items())
    text = str(graph)
    again = parse(text)
    assert repr(again.nodes[0].params) == repr(graph.nodes[0].params)
    assert str(again) == text


@given(st.text(max_size=60) | st.lists(st.sampled_from(EXAMPLE.split()), max_size=20).map(" ".join))
def test_any_text_is_read_or_refused(text):
    try:
        round_trip(parse(text))
    except ParseError as e:
        assert e.line >= 1 and e.column >= 1


@given(st.integers(0, len(EXAMPLE) - 1), st.sampled_from(["", " ", "%", "{", "(", "9", "\n", '"', "é"]))
def test_any_slip_is_read_or_refused(at, slip):
    try:
        parse(EXAMPLE[:at] + slip + EXAMPLE[at + 1 :])
    except ParseError as e:
        assert e.line >= 1 and e.column >= 1


def test_a_recorded_gradient_comes_back():
    x = tapec.constant(np.arange(3.0))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        loss = np.sum(np.tanh(x) * x)
    for stage in ("forward", "gradient", "optimized"):
        graph = tape.ir(loss, x, stage=stage)
        text = str(graph)
        again = parse(text)
        assert again == graph
        assert str(again) == text


@pytest.mark.thorough
def test_long_graphs():
    builder = Builder()
    x = v = input_node("x", F3)
    for k in range(100_000):
        v = builder.emit(get_op("multiply" if k % 2 else "add"), (v, x))
    graph = builder.graph([x], [v])
    round_trip(graph)


def test_item_text_needs_several_results():
    assert ITEM.name == "item"
    with pytest.raises(ParseError, match="line 2, column 8: item does not fit its operands"):
        parse(body("%0 = %x[0]"))
