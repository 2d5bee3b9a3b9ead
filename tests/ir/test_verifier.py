"""The verifier: each broken rule is found, and shown with what stands around it."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from tapec.errors import VerifyError
from tapec.ir import Graph, Node, Op, constant, get_op, input_node, parse, verify
from tapec.ir.checks import verifier
from tapec.ir.static_index import Slot
from tapec.ir.types import Type

F3 = Type((3,), "f8")
ADD, SUM, MULTIPLY = get_op("add"), get_op("sum"), get_op("multiply")

LONG = "graph long(%x: f64[3]) {\n  %0 = add %x, 1.0\n" + "".join(
    f"  %{k} = add %{k - 1}, %x\n" for k in range(1, 30)
) + "  return %29\n}"  # fmt: skip


def broken(graph):
    """What the verifier says of a graph, line by line."""
    with pytest.raises(VerifyError) as e:
        verify(graph)
    return str(e.value).splitlines()


def test_a_good_graph_is_given_back():
    graph = parse(LONG)
    assert verify(graph) is graph


def test_several_results_constants_and_calls_are_good():
    inner = parse("graph f(%a: f64[3]) {\n  %c = constant {value=[1.0, 2.0, 3.0]}\n  return %c\n}")
    call = Node(get_op("call"), (x := input_node("x", F3),), (), (F3,), bodies=(inner,))
    item = Node(get_op("item"), (call,), (("index", 0),), F3)
    literal = constant(2.0)
    product = Node(MULTIPLY, (item, literal), (), F3)
    verify(Graph([x], [literal, call, item, product], [product, literal, x]))


def test_wrong_type_is_shown_with_ten_lines_around_it():
    graph = parse(LONG)
    graph.nodes[15].type = Type((4,), "f8")
    lines = broken(graph)
    assert lines[0] == "graph long: <add f64[4]> should have the type f64[3]"
    assert len(lines) == 12
    assert lines[6] == "  %14: f64[4] = add %13, %x  # <- should have the type f64[3]"
    assert lines[1] == "  %9: f64[3] = add %8, %x" and lines[-1] == "  %19: f64[3] = add %18, %x"


def test_a_use_before_the_definition():
    x = input_node("x", F3)
    first = Node(ADD, (x, x), (), F3)
    second = Node(ADD, (first, x), (), F3)
    assert broken(Graph([x], [second, first], [second]))[0] == (
        "graph graph: <add f64[3]> uses a value that comes later: <add f64[3]>"
    )


def test_a_use_of_what_is_not_there():
    x, y = input_node("x", F3), input_node("y", F3)
    node = Node(ADD, (x, y), (), F3)
    assert broken(Graph([x], [node], [node]))[0] == (
        "graph graph: <add f64[3]> uses a value that is not in the graph: <input f64[3]>"
    )


def test_an_output_that_is_not_there():
    x, y = input_node("x", F3), input_node("y", F3)
    (line,) = broken(Graph([x], [], [x, y]))
    assert line == "graph graph: output 1 is a value that is not in the graph: <input f64[3]>"


def test_a_node_twice():
    x = input_node("x", F3)
    node = Node(ADD, (x, x), (), F3)
    assert broken(Graph([x], [node, node], [node]))[0] == "graph graph: <add f64[3]> stands twice in the graph"


def test_an_input_twice_or_an_input_that_is_none():
    x = input_node("x", F3)
    assert broken(Graph([x, x], [], []))[0] == "graph graph: <input f64[3]> is an input twice"
    assert broken(Graph([Node(ADD, (x, x), (), F3)], [], []))[0] == "graph graph: <add f64[3]> is no input"
    assert broken(Graph([], [x], []))[0] == "graph graph: <input f64[3]> has the unknown op 'input'"


def test_an_unknown_op():
    x = input_node("x", F3)
    other = Op(name="add", run=np.add, rule=lambda *types: F3, kind="elementwise")
    node = Node(other, (x, x), (), F3)
    assert broken(Graph([x], [node], [node]))[0] == "graph graph: <add f64[3]> has the unknown op 'add'"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (lambda x: Node(ADD, (x,), (), F3), "does not fit its operands: "),
        (lambda x: Node(ADD, (x, constant(np.ones(2))), (), F3), "uses a value that is not in the graph"),
        (
            lambda x: Node(SUM, (x,), (("axis", [0]), ("keepdims", False)), F3),
            "has [0] as axis, which should be a tuple",
        ),
        (lambda x: Node(SUM, (x,), (), F3), "lacks the parameter axis"),
        (lambda x: Node(SUM, (x,), (("axis", (0,)),), F3), "lacks the parameter keepdims"),
        (lambda x: Node(SUM, (x,), (("axis", (0,)), ("axis", (0,))), F3), "has the parameter axis twice"),
        (lambda x: Node(SUM, (x,), (("axes", (0,)),), F3), "has the parameter 'axes', which sum does not take"),
        (lambda x: Node(ADD, (x, x), (("axis", 0),), F3), "has the parameter 'axis', which add does not take"),
        (lambda x: Node(get_op("constant"), (), (("value", 2.0),), F3), "should have the type float"),
        (lambda x: Node(ADD, (x, x), (), Type((3,), "f4")), "should have the type f64[3]"),
        (lambda x: Node(ADD, (x, x), (), Type((3,), "f8", weak=True)), "should have the type f64[3]"),
        (lambda x: Node(ADD, (x, x), (), None), "should have the type f64[3]"),
        (
            lambda x: Node(SUM, (x,), (("axis", (1,)), ("keepdims", False)), F3),
            "has (1,) as axis, which should be a tuple",
        ),
        (lambda x: Node(SUM, (x,), (("axis", (0, 0)), ("keepdims", True)), F3), "has (0, 0) as axis, which should be"),
        (lambda x: Node(get_op("reshape"), (x,), (("shape", (2, 2)),), F3), "does not fit its operands: the shapes"),
        (lambda x: Node(get_op("transpose"), (x,), (("axes", ()),), F3), "does not fit its operands: axes ()"),
        (lambda x: Node(get_op("broadcast_to"), (x,), (("shape", (4,)),), F3), "does not fit its operands: "),
        (
            lambda x: Node(get_op("reshape"), (x,), (("shape", (-3, -1)),), Type((-3, -1), "f8")),
            "has (-3, -1) as shape",
        ),
        (
            lambda x: Node(get_op("getitem"), (x,), (("index", (Slot(0),)),), F3),
            "has ($0,) as index, which names other index arrays than there are",
        ),
        (
            lambda x: Node(get_op("getitem"), (x, x), (("index", (Slot(0),)),), F3),
            "has ($0,) as index, whose index arrays should have integers",
        ),
        (lambda x: Node(get_op("nonzero"), (x,), (), (Type((-1,), "i8"),)), "has a type that is no type"),
        (lambda x: Node(get_op("nonzero"), (x,), (), F3), "should have several results"),
        (lambda x: Node(get_op("call"), (x,), (), (F3,)), "has 0 bodies, and call has 1"),
        (lambda x: Node(ADD, (x, x), (), F3, bodies=(parse(LONG),)), "has 1 body, and add has none"),
        (lambda x: Node(get_op("call"), (x,), (), (F3,), bodies=(print,)), "has a body that is no graph"),
    ],
)
def test_nodes_that_are_wrong_by_themselves(node, message):
    x = input_node("x", F3)
    bad = node(x)
    assert f"> {message}" in broken(Graph([x], [bad], [bad]))[0]


def test_the_users_line_is_named():
    x = input_node("x", F3)
    code = compile("y = (x +\n x)", "no_such_file.py", "exec")
    offset = next(start for start, _, line in code.co_lines() if line == 1)
    node = Node(ADD, (x, x), (), Type((4,), "f8"), (code, offset))
    assert broken(Graph([x], [node], [node]))[0] == (
        "graph graph: <add f64[4]> (from no_such_file.py:1) should have the type f64[3]"
    )


CALLED = """graph inner(%a: f64[3], %b: f64[]) {
  %0: f64[3] = multiply %a, %b
  return %0
}
graph(%x: f64[3], %y: f64[]) {
  %0: (f64[3],) = call %x, %y @inner
  %1: f64[3] = %0[0]
  return %1
}"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "%0: f64[3] = mul",
            "%9: f64[4] = exp %a\n  %0: f64[3] = mul",
            "graph inner: <exp f64[4]> should have the type",
        ),
        ("call %x, %y", "call %x", "does not fit its operands: graph inner takes [f64[3], f64[]]"),
        ("call %x, %y", "call %y, %x", "does not fit its operands: graph inner takes [f64[3], f64[]]"),
        ("call %x, %y", "call", "does not fit its operands: graph inner takes [f64[3], f64[]]"),
        ("return %1", "return %0", "output 0 has several parts"),
    ],
)
def test_bodies_are_checked_too(old, new, message):
    verify(parse(CALLED))
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(parse(CALLED.replace(old, new, 1)))


def test_a_body_is_closed():
    x = input_node("x", F3)
    y = Node(ADD, (x, x), (), F3)
    reaching = Graph([inner := input_node("a", F3)], [z := Node(ADD, (inner, y), (), F3)], [z], "reaching")
    call = Node(get_op("call"), (x,), (), (F3,), bodies=(reaching,))
    item = Node(get_op("item"), (call,), (("index", 0),), F3)
    message = broken(Graph([x], [y, call, item], [item]))[0]
    assert message == "graph reaching: <add f64[3]> uses a value that is not in the graph: <add f64[3]>"


def test_the_page_about_graphs_lists_every_rule_and_each_is_broken_here():
    page = (Path(__file__).parents[2] / "docs" / "ir.md").read_text(encoding="utf-8")
    table = page.partition("| rule | what the error says |\n| --- | --- |\n")[2]
    said = [line.rsplit("| `", 1)[1].removesuffix("` |") for line in table.splitlines()]
    here = Path(__file__).read_text(encoding="utf-8")
    assert len(said) > 15 and [text for text in said if text not in here] == []
    tree = ast.parse(inspect.getsource(verifier))  # each error that the verifier can raise is in the table
    words = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    errors = [w.strip() for w in words if re.match(r"(has|is|uses|stands|should|does) ", w.strip()) and len(w) < 60]
    assert [w for w in errors if not any([w in text or text in w or w.split("{")[0] in text for text in said])] == []


@pytest.mark.parametrize(
    "line",
    [
        "%0: f64[2] = getitem %x {index=($0,)}",
        "%0: f64[2] = getitem %x, %i, %i {index=($0,)}",
        "%0: f64[2] = getitem %x, %i {index=($1,)}",
        "%0: f64[2,3] = getitem %x, %x {index=($0,)}",
        "%0: f64[4] = scatter %x, %i {shape=(4,), index=($0,)}",
        "%0: f64[3] = setitem %x, 2 {index=($0,)}",
        "%0: f64[3] = maximum_at %x, 2 {index=($0,)}",
        "%0: f64[3] = roll %x {shift=(1, 2), axis=(0,)}",
        "%0: f64[3] = sort %x {axis=1}",
        "%0: f64[3] = cumsum %x {axis=-1}",
        "%0: f64[3,1] = stack %x {axis=2}",
        "%0: f64[] = tensordot %x, %i {axes=((0,), (0,))}",
        "%0: f64[3] = nonzero %x",
        "%0: f64[] = full {shape=(), value=1j, dtype=f64}",
        "%0: (f64[3],) = nonzero",
    ],
)
def test_parameters_that_do_not_fit_the_operands(line):
    with pytest.raises(VerifyError):
        verify(parse(f"graph(%x: f64[3], %i: i64[2]) {{\n  {line}\n  return %x\n}}"))
