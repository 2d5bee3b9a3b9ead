"""`load_or_generate` loads code from the cache on disk, or generates the code and keeps it there."""

from __future__ import annotations

import time
from types import CodeType
from typing import TYPE_CHECKING, Any

from tapec.codegen.branches.decision_tree_code import leaves_of
from tapec.codegen.emit import facts
from tapec.ir.decision_tree import Branch, Tree
from tapec.progress import logger
from tapec.runtime import tuning
from tapec.runtime.disk_cache.entry import Damaged, packed, unpacked
from tapec.runtime.disk_cache.folder import Folder, folder_now, tell_once
from tapec.runtime.disk_cache.key import Key, NoKey, key_of, settings_now, versions
from tapec.runtime.disk_cache.loaded import Loaded, helper_words, origin_table

if TYPE_CHECKING:
    from tapec.runtime.compile import CompiledGraph

__all__ = ["load_or_generate"]

# what is raised by an entry whose checksum is right, and which was written by something else than this
_WRONG_CONTENT = (ArithmeticError, AttributeError, EOFError, ImportError, LookupError, TypeError, ValueError)


def load_or_generate(wanted: CompiledGraph) -> None:
    """Load the code that is wanted; or generate it, and keep it for others."""
    folder = folder_now()
    key = None if folder is None else _key(wanted)
    if folder is None or key is None:
        wanted.generate()
    elif not _load(wanted, folder, key):
        wanted.generate()
        _save(wanted, folder, key)


def _key(wanted: CompiledGraph) -> Key | None:
    try:
        return key_of(wanted.graph, wanted.options)
    except NoKey:
        return None


def _load(wanted: CompiledGraph, folder: Folder, key: Key) -> bool:
    try:
        data = folder.read(key.text)
        if data is None:
            return False
        about, codes, arrays = unpacked(data, key.text)
        reads, code = about["reads"], Loaded(wanted, about, codes, arrays, key.codes)
    except (Damaged, PermissionError, *_WRONG_CONTENT) as reason:
        path = folder.file(key.text)
        why = f"its content is wrong ({reason})" if isinstance(reason, _WRONG_CONTENT) else reason
        tell_once(path, f"{path} in the cache on disk is not used: {why}. It is written anew.")
        return False
    wanted.reads, wanted.entry, wanted.code = reads, key.text, code
    _log("%s is loaded: entry %s", wanted, key)
    return True


def _save(wanted: CompiledGraph, folder: Folder, key: Key) -> None:
    try:
        about, codes, arrays = _described(wanted, key)
        folder.write(key.text, packed(about, codes, arrays))
    except ValueError:  # it calls, or holds, what cannot be kept
        _log("%s is not kept, for it holds what cannot be: entry %s", wanted, key)
    else:
        _log("%s is kept: entry %s", wanted, key)


def _log(text: str, wanted: CompiledGraph, key: Key) -> None:
    log = logger("cache")
    if log is not None:
        log.info(text, wanted.options.name, key.text[:12])


def _described(wanted: CompiledGraph, key: Key) -> tuple[dict[str, Any], list[CodeType], dict[str, Any]]:
    """The entry's parts."""
    code, graph, tree = wanted.code, wanted.optimized, wanted.options.tree
    source = code.source if code.lines <= tuning.TEXT_KEPT_MAX_LINES else None
    functions = code.space.functions()
    given = range(len(graph.outputs)) if tree is None else leaves_of(tree)
    about = {
        "key": key.text,
        "name": code.name,
        "made": time.time(),
        "versions": versions(),
        "settings": settings_now(),
        "inputs": [f"{i.name or 'x'}: {i.type}" for i in graph.inputs],
        "outputs": [str(graph.outputs[k].type) for k in given],
        "nodes": [len(wanted.graph.nodes), len(graph.nodes)],
        "paths": _paths_of(tree),
        "cost": list(code.cost),
        "imports": sorted(set(facts(code.graph, "imports"))),
        "helpers": helper_words(code),
        "errors": [error.__name__ for error in code.errors],
        "reads": wanted.reads,
        "lists": [[places.start, places.stop] for places in code.lists],
        "source": source,
    }
    arrays = {f"constant {name}": value for name, value in code.constants.items()}
    arrays["origins"] = origin_table(code, key.codes)
    return about, [f.__code__ for f in functions], arrays


def _paths_of(tree: Tree | None) -> int:
    """Return how many ways lead through a function."""
    count, stack = 0, [tree]
    while stack:
        t = stack.pop()
        if isinstance(t, Branch):
            stack.extend(case for _, case in t.cases)
        else:
            count += 1
    return count
