"""From a graph to a function: through the passes and emission, or from the cache on disk.

`Build` is that step for one graph. What is kept on disk is the generated code; graphs and long source are made anew,
and are the same again, when somebody looks.
"""

from __future__ import annotations

import sys
import time
from types import CodeType
from typing import Any

from tapec.codegen import Compiled, compile_graph
from tapec.codegen.branches import leaves_of
from tapec.codegen.emit import WATCHERS, facts
from tapec.config import settings
from tapec.ir import Graph
from tapec.ir.tree import Branch, Tree
from tapec.passes.pipeline import optimize
from tapec.runtime.disk import Folder, folder_now, tell_once
from tapec.runtime.entry import Damaged, packed, unpacked
from tapec.runtime.key import Key, NoKey, key_of, settings_now, versions
from tapec.runtime.loaded import Loaded, helper_words, origin_table

__all__ = ["Build"]

LONG = 2000  # lines of source up to which the text is kept too: printing it takes longer than making the code


class Build:
    """A graph and the function generated for it.

    `used` lists the inputs that are parameters of the function: all of them, or with `whole=False` those that are read.
    `entry` is the key of what was loaded from disk, None when it was generated.
    """

    __slots__ = ("_lean", "compiled", "entry", "graph", "name", "tree", "used", "whole")

    def __init__(self, graph: Graph, name: str, tree: Tree | None = None, whole: bool = True):
        self.graph, self.name, self.tree, self.whole = graph, name, tree, whole
        self._lean: Graph | None = None
        self.entry: str | None = None
        folder = folder_now()
        key = None if folder is None else self.key()
        if folder is None or key is None or not self.load(folder, key):
            lean = self.lean
            position = {node: k for k, node in enumerate(graph.inputs)}
            self.used = [position[i] for i in lean.inputs]
            self.compiled = self.generated()
            if folder is not None and key is not None:
                self.save(folder, key)

    @property
    def lean(self) -> Graph:
        """The graph after the passes."""
        if self._lean is None:
            self._lean = optimize(self.graph)
            if not self.whole:
                self._lean = with_inputs_read(self._lean)
        return self._lean

    def generated(self, told: bool = True) -> Compiled:
        return compile_graph(self.lean, self.name, self.tree, told)

    def key(self) -> Key | None:
        try:
            return key_of(self.graph, self.name, self.tree, self.whole)
        except NoKey:
            return None

    # -- the cache on disk ------------------------------------------------------------------------------------------
    def load(self, folder: Folder, key: Key) -> bool:
        data = folder.read(key.text)
        if data is None:
            return False
        try:
            about, codes, arrays = unpacked(data, key.text)
        except Damaged as reason:
            path = folder.file(key.text)
            tell_once(path, f"{path} in the cache on disk is not used: {reason}. It is written anew.")
            return False
        self.used, self.entry = about["used"], key.text
        self.compiled = Loaded(self, about, codes, arrays, key.codes)
        if settings.debug:
            print(f"tapec: {self.name}: from the cache on disk, entry {key.text[:12]}", file=sys.stderr)
        for watch in WATCHERS:
            watch(self.compiled)
        return True

    def save(self, folder: Folder, key: Key) -> None:
        try:
            about, codes, arrays = self.described(key)
            folder.write(key.text, packed(about, codes, arrays))
        except ValueError:
            return  # it calls, or holds, what cannot be kept

    def described(self, key: Key) -> tuple[dict[str, Any], list[CodeType], dict[str, Any]]:
        """The entry's parts."""
        compiled, lean = self.compiled, self.lean
        source = compiled.source if compiled.lines <= LONG else None
        functions = compiled.space.functions()
        given = range(len(lean.outputs)) if self.tree is None else leaves_of(self.tree)
        about = {
            "key": key.text,
            "name": compiled.name,
            "made": time.time(),
            "versions": versions(),
            "settings": settings_now(),
            "inputs": [f"{i.name or 'x'}: {i.type}" for i in lean.inputs],
            "outputs": [str(lean.outputs[k].type) for k in given],
            "nodes": [len(self.graph.nodes), len(lean.nodes)],
            "paths": paths_of(self.tree),
            "cost": list(compiled.cost),
            "imports": sorted(set(facts(compiled.graph, "imports"))),
            "helpers": helper_words(compiled),
            "waiting": compiled.space.waiting(),
            "used": self.used,
            "source": source,
        }
        arrays = {f"constant {name}": value for name, value in compiled.constants.items()}
        arrays["origins"] = origin_table(compiled, key.codes)
        return about, [f.__code__ for f in functions], arrays


def with_inputs_read(graph: Graph) -> Graph:
    """The same graph without inputs that nothing reads."""
    read = {i for n in graph.nodes for i in n.inputs} | set(graph.outputs)
    return Graph([i for i in graph.inputs if i in read], graph.nodes, graph.outputs, graph.name)


def paths_of(tree: Tree | None) -> int:
    """How many ways lead through a function."""
    count, stack = 0, [tree]
    while stack:
        t = stack.pop()
        if isinstance(t, Branch):
            stack.extend(case for _, case in t.cases)
        else:
            count += 1
    return count
