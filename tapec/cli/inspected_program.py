"""Resolve what a command looks at: a TARGET with arguments, transformed, and its description."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec
from tapec.api.transforms.directional import ByCount
from tapec.cli import tuning
from tapec.cli.argument_parsing import parse_words
from tapec.cli.error_messages import Problem
from tapec.cli.target import Target, as_if_there, load_target
from tapec.cli.terminal import working
from tapec.cli.transform_options import ON_GRAPHS, TRANSFORMS, argnums_of, inputs_of, positions_of
from tapec.codegen import Compiled
from tapec.codegen.target import TARGETS
from tapec.ir import Graph
from tapec.ir.checks.sample_values import sample_values
from tapec.ir.decision_tree import Tree
from tapec.pytree import flatten, unflatten
from tapec.runtime.compile import CompiledGraph, Options

__all__ = [
    "FunctionSubject",
    "GraphSubject",
    "Subject",
    "add_target",
    "add_writer",
    "arguments_of",
    "subject_of",
    "undecorated",
]


def add_target(parser: argparse.ArgumentParser, transform: bool = True, wrt: str = "0") -> None:
    """The words that all commands on a TARGET share."""
    parser.add_argument("target", metavar="TARGET", help="model.py:loss, package.module:loss, a graph-text file, or -")
    parser.add_argument(
        "--args",
        nargs="*",
        metavar="WORD",
        help="the arguments to trace it with: types ('f64[32,4]'), expressions ('np.ones(3)'), or NAME=WORD; "
        "without it, the function's attribute example_args serves, or the defaults of all parameters",
    )
    told = f"differentiate with respect to these arguments, by name or position (default: {wrt})"
    parser.add_argument("--wrt", metavar="W,B", help=told)
    if transform:
        parser.add_argument(
            "--transform",
            metavar="NAME",
            choices=TRANSFORMS,
            help=f"what to compute: {', '.join(TRANSFORMS)} (default: grad, or what the function is already); of a "
            f"function that is a gradient already, that of what was decorated; vmap is shown for {tuning.BATCH_SIZE} "
            f"examples of the arguments",
        )


def add_writer(parser: argparse.ArgumentParser) -> None:
    """The word by which commands that write code choose who writes it."""
    parser.add_argument(
        "--target",
        dest="writer",
        choices=sorted(TARGETS),
        help="who writes the code: numpy on arrays, floats on Python's numbers, portable for any library of the array "
        "API (default: what runs)",
    )


class Subject:
    """Has the graphs, source and running code of what a command looks at."""

    name: str

    @property
    def forward(self) -> Graph:
        """The recorded graph."""
        return self.stage("forward")

    @property
    def gradient(self) -> Graph:
        """The graph that the transform made of the recorded one."""
        return self.stage("gradient")

    @property
    def optimized(self) -> Graph:
        """The graph after all passes but those of the target."""
        return self.stage("optimized")

    @property
    def source(self) -> str:
        """The generated code that runs."""
        return self.written(None).source

    def written(self, target: str | None) -> Compiled:
        """The generated code as a target writes it; None for what runs."""
        raise NotImplementedError

    def text(self, target: str | None, lines: bool = False) -> str:
        """The text of that code as a person reads it; with `lines`, the user's lines beside what computes them."""
        code = self.written(target)
        return code.lined_source if lines else code.source

    @property
    def given(self) -> int:
        """The number of values that are arguments; the others are captured."""
        return len(self.generated()[2])

    @property
    def compilation(self) -> CompiledGraph:
        """The compilation that made the code."""
        raise NotImplementedError

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The recorded paths, each with its tests, where control flow depends on values."""
        return []

    @property
    def recorded(self) -> tuple[Graph, Tree | None]:
        """The graph of all recorded paths, and the decision tree over it where the program branches."""
        return self.forward, None

    def stage(self, name: str) -> Graph:
        raise NotImplementedError

    def generated(self) -> tuple[Callable[..., Any], str, list[Any]]:
        """The generated function, the source of its module, and the values it is called with."""
        raise NotImplementedError


class FunctionSubject(Subject):
    """Holds a transformed function with arguments.

    `own` are the arguments of the function itself, which hvp and vmap call with others.
    """

    def __init__(
        self,
        compiled: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        function: Any,
        own: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ):
        self.own = (args, kwargs) if own is None else own
        if isinstance(compiled, ByCount):
            compiled, args, kwargs = compiled.compiled(args, kwargs)
        self.compiled, self.args, self.kwargs, self.function = compiled, args, kwargs, function
        self.name = getattr(function, "__name__", None) or type(function).__name__

    def stage(self, name: str) -> Graph:
        return self._call(lambda: self.compiled.ir(*self.args, stage=name, **self.kwargs))

    def written(self, target: str | None) -> Compiled:
        compilation = self.compilation
        return compilation.code if target is None else compilation.renamed(target=target)

    def text(self, target: str | None, lines: bool = False) -> str:
        _, program, _ = self._call(lambda: self.compiled.locate(*self.args, **self.kwargs))
        return self._call(lambda: self.compiled._shown(self.written(target), program, target, lines))

    def explain(self) -> Any:
        return self._call(lambda: self.compiled.explain(*self.args, **self.kwargs))

    def export(self, path: str, target: str | None = None) -> None:
        more = {} if target is None else {"target": target}
        try:
            self._call(lambda: self.compiled.export(path, *self.args, **more, **self.kwargs))
        except OSError as error:
            if error.filename != path:  # one of the user's own
                raise
            raise Problem(f"{path}: {error.strerror}") from None

    def _call(self, call: Callable[[], Any]) -> Any:
        with working(f"tracing and compiling {self.name}"):
            return as_if_there(self.function, call)

    @property
    def compilation(self) -> CompiledGraph:
        _, program, _ = self._call(lambda: self.compiled.locate(*self.args, **self.kwargs))
        assert program is not None and program.compiled is not None
        return program.compiled

    @property
    def paths(self) -> list[dict[str, Any]]:
        return self.explain().paths

    @property
    def recorded(self) -> tuple[Graph, Tree | None]:
        _, program, path = self._call(lambda: self.compiled.locate(*self.args, **self.kwargs))
        assert program is not None and path is not None
        return program.recorded_paths() if program.branches else (path.forward, None)

    @property
    def given(self) -> int:
        return len(self._call(lambda: self.compiled.locate(*self.args, **self.kwargs))[0].info.types)

    def generated(self) -> tuple[Callable[..., Any], str, list[Any]]:
        code, values = self._call(lambda: self.compiled.generated(*self.args, **self.kwargs))
        return code.function, code.source, values


class GraphSubject(Subject):
    """Holds a graph, and what a transform makes of it."""

    def __init__(self, name: str, forward: Graph, gradient: Graph):
        self.name = name
        self._compiled = compiled = CompiledGraph(gradient, Options(name), forward)
        self.stages = {"forward": forward, "gradient": gradient, "optimized": compiled.optimized}
        self.code, self.compiled = compiled.code, compiled

    @property
    def compilation(self) -> CompiledGraph:
        return self._compiled

    def stage(self, name: str) -> Graph:
        return self._compiled.written if name == "target" else self.stages[name]

    def written(self, target: str | None) -> Compiled:
        return self.code if target is None else self.compiled.renamed(target=target)

    def generated(self) -> tuple[Callable[..., Any], str, list[Any]]:
        return self.code.function, self.source, sample_values(self.optimized)


def subject_of(
    options: argparse.Namespace, transform: str | None = None, functions: bool = False, target: Target | None = None
) -> Subject:
    """Return what the words on the command line stand for. `transform` wins over --transform; `target` is that of the
    options, where it is loaded already.

    With `functions`, graph text is a function whatever is computed of it.
    """
    target = load_target(options.target) if target is None else target
    transform = transform or getattr(options, "transform", None)
    args, kwargs = arguments_of(target, options.args)
    if target.graph is None:
        return function_subject(target, transform, options.wrt, args, kwargs)
    if not functions and transform in (None, "compile", *ON_GRAPHS):
        return graph_subject(target.graph, transform, options.wrt)
    return function_subject(target, transform or "compile", positions_of(target.graph, options.wrt), args, kwargs)


def arguments_of(target: Target, words: list[str] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments from --args, from `example_args`, or as the parameters have them when nothing is given."""
    if target.graph is not None and words:
        raise Problem("--args are for functions; the inputs of a graph have their types in its text")
    if words is not None:
        return parse_words(words, target.names)
    example = getattr(target.function, "example_args", None)
    if example is None:
        parameters = _parameters(target.function)
        if parameters is not None and all([p.default is not p.empty for p in parameters]):
            by_name = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
            return tuple([p.default for p in parameters if p.name not in by_name]), by_name
        shown = "..." if parameters is None else ", ".join(map(_spelled, parameters))
        name = target.word.rpartition(":")[2].rpartition(".")[2]
        raise Problem(
            f"{target.word} is {name}({shown}): which arguments? Give types or values, "
            f"--args 'f64[3]' 'np.eye(3)', or set {_place_of(target)}.example_args = (...) in its file"
        )
    found = example() if callable(example) else example
    return (tuple(found), {}) if isinstance(found, (tuple, list)) else ((found,), {})


def _parameters(function: Any) -> list[inspect.Parameter] | None:
    """Return a function's parameters; None where it does not tell them, as some of Python's own do not."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _spelled(parameter: inspect.Parameter) -> str:
    """A parameter; of one whose default would take many words, the name."""
    text = str(parameter)
    return text if len(text) <= tuning.PARAMETER_MAX_COLUMNS else f"{parameter.name}=..."


def _place_of(target: Target) -> str:
    """The name by which the function's file can give it an attribute, which bound methods do not take."""
    name: str = target.word.rpartition(":")[2]
    if not inspect.ismethod(target.function):
        return name
    return f"{name}.__func__" if isinstance(target.function.__self__, type) else target.function.__func__.__qualname__


def function_subject(
    target: Target, transform: str | None, wrt: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Subject:
    function = target.function
    done = getattr(function, "_transform", None)
    name = getattr(done, "name", done)
    if transform is None:
        if name:
            if wrt is not None:
                raise Problem(f"{target.word} is a {name} already: drop --wrt, or apply another with --transform")
            return FunctionSubject(function, args, kwargs, function)
        transform = "grad"
    function, its_argnums = undecorated(function)
    argnums = argnums_of(wrt) if wrt is not None or its_argnums is None else its_argnums
    if transform in ("jvp", "vjp"):  # they take tangents and cotangents besides: shown as graphs
        forward = FunctionSubject(tapec.compile(function), args, kwargs, function).forward
        return graph_subject(forward, transform, wrt)
    if transform == "vmap":
        if wrt is not None:
            raise Problem("--wrt is for derivatives: vmap computes none")
        many, by_name = batch_of((args, kwargs))
        return FunctionSubject(tapec.vmap(function), many, by_name, function, (args, kwargs))
    if transform == "compile":
        made = function if name == "" else tapec.compile(function)
    else:
        made = getattr(tapec, transform)(function, argnums=argnums)
    if transform == "hvp":
        args = with_direction(function, argnums, args, kwargs)
        return FunctionSubject(made, args, kwargs, function, (args[:-1], kwargs))
    return FunctionSubject(made, args, kwargs, function)


def undecorated(function: Any) -> tuple[Any, Any]:
    """The function that a decorator was put on, and the argnums given there: another transform is meant for that one.

    What is decorated twice, returns something besides, or has static arguments is taken as it is.
    """
    done = getattr(function, "_transform", None)
    inner = getattr(function, "_function", None)
    if getattr(done, "name", "") not in ("grad", "value_and_grad") or hasattr(inner, "_transform"):
        return function, None
    if done.has_aux or function._static != ((), ()):  # type: ignore[union-attr]
        return function, None
    return inner, done.argnums  # type: ignore[union-attr]


def batch_of(arguments: Any) -> Any:
    """Return arguments for many examples: each array and number, repeated along a first axis."""

    def repeated(x: Any) -> Any:
        is_data = isinstance(x, (float, complex, np.number, np.ndarray)) or type(x) is int
        return np.stack([x] * tuning.BATCH_SIZE) if is_data else x

    leaves: list[Any] = []
    tree = flatten(arguments, leaves)
    return unflatten(tree, [repeated(x) for x in leaves])


def with_direction(function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of an hvp: the function's own and a direction, which is the argument itself when none is given."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:  # there is one more argument than the function takes
        return args
    given = list(bound.arguments.values())

    def one(which: Any) -> Any:
        return given[which] if isinstance(which, int) else bound.arguments[which]

    return (*args, tuple(map(one, argnums)) if isinstance(argnums, tuple) else one(argnums))


def graph_subject(graph: Graph, transform: str | None, wrt: str | None) -> GraphSubject:
    """A graph as it is, or transformed."""
    if transform in (None, "compile"):
        if wrt is not None:
            raise Problem("--wrt needs a --transform: graph text is shown as it is")
        return GraphSubject(graph.name, graph, graph)
    return GraphSubject(f"{graph.name}_{transform}", graph, ON_GRAPHS[transform](graph, inputs_of(graph, wrt)))
