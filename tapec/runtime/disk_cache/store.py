"""`load_or_build` loads a build's code from the cache on disk, or generates the code and keeps it there."""

from __future__ import annotations

import sys
import time
from types import CodeType
from typing import TYPE_CHECKING, Any

from tapec.codegen.branches.decision_tree_code import leaves_of
from tapec.codegen.emit import WATCHERS, facts
from tapec.config import settings
from tapec.ir.decision_tree import Branch, Tree
from tapec.runtime import tuning
from tapec.runtime.disk_cache.entry import Damaged, packed, unpacked
from tapec.runtime.disk_cache.folder import Folder, folder_now, tell_once
from tapec.runtime.disk_cache.key import Key, NoKey, key_of, settings_now, versions
from tapec.runtime.disk_cache.loaded import Loaded, helper_words, origin_table

if TYPE_CHECKING:
    from tapec.runtime.compile import Build

__all__ = ["load_or_build"]

# what is raised by an entry whose checksum is right, and which was written by something else than this
_WRONG_CONTENT = (ArithmeticError, AttributeError, EOFError, ImportError, LookupError, TypeError, ValueError)


def load_or_build(build: Build) -> None:
    """Load the code of this build; or generate it, and keep it for others."""
    folder = folder_now()
    key = None if folder is None else _key(build)
    if folder is None or key is None:
        build.generate()
    elif not _load(build, folder, key):
        build.generate()
        _save(build, folder, key)


def _key(build: Build) -> Key | None:
    try:
        return key_of(build.graph, build.name, build.tree, build.whole, build.silenced, build.donated)
    except NoKey:
        return None


def _load(build: Build, folder: Folder, key: Key) -> bool:
    try:
        data = folder.read(key.text)
        if data is None:
            return False
        about, codes, arrays = unpacked(data, key.text)
        used, compiled = about["used"], Loaded(build, about, codes, arrays, key.codes)
    except (Damaged, PermissionError, *_WRONG_CONTENT) as reason:
        path = folder.file(key.text)
        why = f"its content is wrong ({reason})" if isinstance(reason, _WRONG_CONTENT) else reason
        tell_once(path, f"{path} in the cache on disk is not used: {why}. It is written anew.")
        return False
    build.used, build.entry, build.compiled = used, key.text, compiled
    if settings.debug:
        print(f"tapec: {build.name}: from the cache on disk, entry {key.text[:12]}", file=sys.stderr)
    for watch in WATCHERS:
        watch(build.compiled)
    return True


def _save(build: Build, folder: Folder, key: Key) -> None:
    try:
        about, codes, arrays = _described(build, key)
        folder.write(key.text, packed(about, codes, arrays))
    except ValueError:
        return  # it calls, or holds, what cannot be kept


def _described(build: Build, key: Key) -> tuple[dict[str, Any], list[CodeType], dict[str, Any]]:
    """The entry's parts."""
    compiled, lean = build.compiled, build.lean
    source = compiled.source if compiled.lines <= tuning.TEXT_KEPT_MAX_LINES else None
    functions = compiled.space.functions()
    given = range(len(lean.outputs)) if build.tree is None else leaves_of(build.tree)
    about = {
        "key": key.text,
        "name": compiled.name,
        "made": time.time(),
        "versions": versions(),
        "settings": settings_now(),
        "inputs": [f"{i.name or 'x'}: {i.type}" for i in lean.inputs],
        "outputs": [str(lean.outputs[k].type) for k in given],
        "nodes": [len(build.graph.nodes), len(lean.nodes)],
        "paths": _paths_of(build.tree),
        "cost": list(compiled.cost),
        "imports": sorted(set(facts(compiled.graph, "imports"))),
        "helpers": helper_words(compiled),
        "waiting": compiled.space.waiting(),
        "used": build.used,
        "source": source,
    }
    arrays = {f"constant {name}": value for name, value in compiled.constants.items()}
    arrays["origins"] = origin_table(compiled, key.codes)
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
