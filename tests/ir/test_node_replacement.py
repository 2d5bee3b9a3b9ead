"""Other nodes in the place of some."""

from tapec.ir import Node, get_op, parse, replaced, verify

GRAPH = parse("""
graph(%x: f64[3], %y: f64[3]) {
  %0: f64[3] = negative %y
  %1: f64[3] = subtract %x, %y
  %2: f64[3] = subtract %1, %0
  return %2, %1, %x
}
""")


def as_sum(node, moved, nodes):
    a, b = moved.inputs
    nodes.append(Node(get_op("negative"), (b,), (), b.type))
    nodes.append(Node(get_op("add"), (a, nodes[-1]), (), node.type))
    return nodes[-1]


def test_readers_read_what_takes_the_place():
    found = [n for n in GRAPH.nodes if n.op.name == "subtract"]
    made = verify(replaced(GRAPH, found, as_sum))
    assert [n.op.name for n in made.nodes] == ["negative", "negative", "add", "negative", "add"]
    first, second = [n for n in made.nodes if n.op.name == "add"]
    assert second.inputs[0] is first and made.outputs == (second, first, made.inputs[0])


def test_what_nothing_reads_any_more_is_left_out():
    last = GRAPH.nodes[-1]
    made = verify(replaced(GRAPH, {last}, lambda node, moved, nodes: moved.inputs[0]))
    assert [n.op.name for n in made.nodes] == ["subtract"] and made.outputs[0] is made.outputs[1]


def test_others_stay_the_nodes_that_they_are():
    made = replaced(GRAPH, {GRAPH.nodes[-1]}, as_sum)
    assert made.nodes[:2] == GRAPH.nodes[:2] and made.nodes[0] is GRAPH.nodes[0]
