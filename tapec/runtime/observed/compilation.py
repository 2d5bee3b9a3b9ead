"""`Compilation` runs each step of one compilation, writes down what the step made, and compares the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen import Compiled
from tapec.codegen.list_inputs import arguments, with_lists
from tapec.config import settings
from tapec.errors import GraphError, TapecError, VerifyError
from tapec.ir import Graph, Node
from tapec.ir.checks.step_observer import StepObserver
from tapec.runtime.observed.dump_folder import DumpFolder
from tapec.runtime.observed.trials import CodeTrial, PassTrial, Step, failure, is_targets
from tapec.runtime.observed.value_checks import changed_by_code, changed_by_pass, starting_values

if TYPE_CHECKING:
    from tapec.runtime.compile import CompiledGraph

__all__ = ["generate_observed"]

ON_FLOATS = (ArithmeticError, ValueError, IndexError)  # what they raise where arrays have inf and nan
_FIX = "Fix: please report it; `tapec bisect` prints the smallest graph that shows it, TAPEC_DUMP=folder writes all."


def generate_observed(wanted: CompiledGraph, recorded: Graph | None, at_hand: Mapping[Node, Any]) -> None:
    """Generate the code that is wanted as `settings.dump` and `settings.verify` ask for."""
    graph, recorded = wanted.graph, wanted.graph.past if recorded is None else recorded
    dump = DumpFolder(settings.dump, wanted.options.name) if settings.dump else None
    if dump is not None:
        is_made = recorded is not None and recorded != graph
        dump.graph("recorded", recorded if is_made else graph, "the recorded graph")  # type: ignore[arg-type]
        if is_made:
            dump.graph("gradient", graph, "what the transform made of it")
    values = starting_values(graph, at_hand) if settings.verify == "values" else None
    Compilation(wanted, dump, values).run()


class Compilation(StepObserver):
    """Runs the steps of one compilation.

    `dump` takes their graphs, `values` are those of the inputs; both may be None. `code_steps` are the steps of code
    generation that changed the graph.
    """

    def __init__(self, wanted: CompiledGraph, dump: DumpFolder | None, values: list[Any] | None):
        self.wanted, self.dump, self.values = wanted, dump, values
        self.code_steps: list[str] = []
        self.on_floats = False  # until that step comes
        self.error: Exception | None = None  # of a step that failed

    def run(self) -> None:
        """Generate the code, and check it."""
        try:
            self.wanted.generate(self)
        except TapecError:
            raise
        except Exception as error:
            if error is self.error:  # of a step, which is told already
                raise
            self.failed("writing the code", error, CodeTrial([*self.code_steps, "floats"], self.wanted))
            raise
        if self.dump is not None:
            self.dump.source(self.wanted.code.source)
        if self.values is not None:
            self.check_code(self.values)

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        is_pass = not self.wanted.is_optimized
        what = f"the pass {name!r}" if is_pass else _code_step(name)
        self.on_floats |= name == "floats"
        try:
            after = run(graph)
        except Exception as error:  # whatever a step that is broken raises
            if isinstance(error, GraphError) or not isinstance(error, TapecError):  # others are refusals
                self.failed(what, error, self.trial(name), graph)
            raise
        if after is graph or after == graph:
            return after
        if self.dump is not None:
            self.dump.graph(name, after, f"after {what}")
        if not is_pass:
            self.code_steps.append(name)
        if self.values is not None and (is_pass or self.wanted.options.tree is None):
            values = self.values_of(graph, self.values)
            wrong = changed_by_pass(graph, after, values, () if name != "floats" else ON_FLOATS)
            if wrong is not None:
                self.refuse(Step(what, graph, values, wrong, self.trial(name)))
        return after

    def trial(self, name: str) -> PassTrial | CodeTrial:
        """Return what does a step to any graph; code shows what a step does that needs more than a graph."""
        if not self.wanted.is_optimized or (is_targets(name) and self.wanted.options.tree is None):
            return PassTrial(name)
        return CodeTrial([*self.code_steps, name], self.wanted)

    def failed(self, what: str, error: Exception, trial: PassTrial | CodeTrial, graph: Graph | None = None) -> None:
        """Write down that a step failed; where values are compared, raise an error that names it."""
        self.error = error
        if self.dump is not None:
            self.dump.failure(f"{self.wanted.options.name}: {what} {failure(error)}")
        if self.values is None:
            return
        if isinstance(trial, CodeTrial) or graph is None:
            graph = self.wanted.optimized
        values = self.values_of(graph, self.values)
        self.refuse(Step(what, graph, values, failure(error), trial), error)

    def refuse(self, step: Step, cause: Exception | None = None) -> None:
        refusal = VerifyError(f"{self.wanted.options.name}: {step.what} {step.wrong}. {_FIX}")
        refusal.step = step
        raise refusal from cause

    def values_of(self, graph: Graph, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values of the inputs of a graph, of which the last may have lists as inputs."""
        if not self.wanted.is_optimized:
            return values
        values = self.values_read(values)
        if graph is self.wanted.optimized:
            return values
        return arguments(values, with_lists(self.wanted.optimized, self.wanted.options.lists)[1])

    # -- code ----------------------------------------------------------------------------------------------------
    def values_read(self, values: Sequence[Any]) -> list[Any]:
        """Return the values of the inputs that the code reads."""
        return [values[k] for k in self.wanted.reads]

    def check_code(self, values: Sequence[Any]) -> None:
        """Compare what the code computes with what the graph does; find the step that makes it differ."""
        if not self.on_floats:
            self.compare_code(self.wanted.code, self.code_steps, values)
            return
        self.compare_code(self.wanted.code, ["floats"], values)
        arrays = OnArrays()  # which takes over where `math` raises errors
        self.compare_code(self.wanted.emitted(arrays), arrays.changed, values)

    def compare_code(self, code: Compiled, steps: list[str], values: Sequence[Any]) -> None:
        wanted, given = self.wanted, self.values_read(values)
        wrong = changed_by_code(wanted.optimized, wanted.options.tree, code, given)
        for count in range(len(steps) + 1) if wrong is not None else ():
            trial = CodeTrial(steps[:count], wanted)
            found = trial.wrong(wanted.optimized, given)
            if found is not None or count == len(steps):
                what = _code_step(steps[count - 1]) if count else "writing the code"
                self.refuse(Step(what, wanted.optimized, given, found or str(wrong), trial))


class OnArrays(StepObserver):
    """Keeps code generation to arrays; `changed` are the steps that changed the graph."""

    def __init__(self) -> None:
        self.changed: list[str] = []

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        after = graph if name == "floats" else run(graph)
        if after is not graph:
            self.changed.append(name)
        return after


def _code_step(name: str) -> str:
    return f"the step {name!r} of code generation"
