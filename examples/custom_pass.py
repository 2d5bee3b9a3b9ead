"""A pass of one's own: rewrite rules as data, run on the graph of a gradient.

The rule says what the optimiser cannot know: this program's angles are small, so sin(x) is x and cos(x) is 1.

    python examples/custom_pass.py
"""

import numpy as np

import tapec
from tapec.codegen import compile_graph
from tapec.ir.pattern import variables
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.engine.rule import Rule
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import optimize

(x,) = variables("x")

SMALL_ANGLES = RuleSet(
    "Angles are small.",
    (
        Rule("small-sine", np.sin(x), lambda x: x),
        Rule("small-cosine", np.cos(x), lambda y: np.ones(y.shape)),
    ),
)


@tapec.value_and_grad
def energy(angles):
    """Of a chain of pendulums."""
    return np.sum(1.0 - np.cos(angles)) + 0.5 * np.sum((np.sin(angles[1:]) - np.sin(angles[:-1])) ** 2)


energy.example_args = (np.linspace(-0.02, 0.02, 5),)


def main():
    angles = energy.example_args[0]
    graph = energy.ir(angles, stage="gradient")
    fired = []
    small = optimize(SMALL_ANGLES(graph, fired.append))
    print("rules fired:", ", ".join(sorted({rewrite.rule for rewrite in fired})))

    report = Report()
    optimize(graph, report)
    print(f"{len(energy.ir(angles).nodes)} nodes without the pass, {len(small.nodes)} with it")

    code = compile_graph(small, "energy_small_angles")
    print(code.source)
    exact, approximate = energy(angles)[1], code.function(angles)[1]
    print(f"gradients differ by {np.max(np.abs(exact - approximate)):.1e}")


if __name__ == "__main__":
    main()
