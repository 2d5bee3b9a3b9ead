"""Choose what stands in for a captured list, dict or tuple: a fact, a tuple, or a stand-in of each item."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import PACKAGE_FOLDER, is_installed
from tapec.pytree import STANDS_FOR
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import CapturedPath, class_file, is_own_code
from tapec.trace.capture.container_contents import values_in
from tapec.trace.capture.proxies.container_facts import as_a_fact, is_plain
from tapec.trace.capture.proxies.mapping_proxies import METHODS, mapping_proxy
from tapec.trace.capture.proxies.mirrored_container import OF_THE_LIBRARY, MirroredContainer
from tapec.trace.capture.proxies.sequence_proxies import sequence_proxy
from tapec.trace.capture.proxies.tuple_proxies import LongTuple, tuple_proxy

__all__ = ["container", "is_container"]


def is_container(x: Any) -> bool:
    """Return whether there is a stand-in for containers of this class."""
    kind = type(x)
    if kind in OF_THE_LIBRARY or issubclass(kind, (MirroredContainer, LongTuple)):
        return True
    return isinstance(x, dict) and is_own_code(class_file(kind)) and METHODS.isdisjoint(_own_names(kind))


def _own_names(kind: type) -> set[str]:
    return {name for c in kind.__mro__ if is_own_code(class_file(c)) for name in c.__dict__}


def container(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a container, which reads items when it is asked for them; the container itself where all
    of it is one fact."""
    if id(value) in captures.open:
        captures.trace.require_retrace(f"{path.label} holds itself")
        return value
    kind = STANDS_FOR.get(type(value), type(value))
    captures.facts.add(path.kind(), type(value))  # what isinstance is told, and named tuples by their names
    if kind is tuple:
        return _tuple(captures, value, path)
    by_c = _is_read_by_a_package() or captures.clones.call_past_us
    if by_c and kind in (list, dict) and type(value) is kind:
        keys_are_plain = all(map(is_plain, value)) if kind is dict else True
        if keys_are_plain and all(map(is_plain, values_in(value))):
            return as_a_fact(captures, value, path)
    made = (mapping_proxy if issubclass(kind, dict) else sequence_proxy)(captures, value, path)
    if by_c:
        made._tapec_read_all()
    return made


def _tuple(captures: Any, value: tuple[Any, ...], path: CapturedPath) -> tuple[Any, ...]:
    """Return a tuple of stand-ins; a long one reads them when it is asked. The tuple itself, where all of it is a
    fact."""
    by_package = _is_read_by_a_package()
    if by_package and is_plain(value):
        return as_a_fact(captures, value, path)
    if tuple.__len__(value) > tuning.CONTAINER_MAX_CAPTURES and not by_package and not captures.clones.call_past_us:
        return tuple_proxy(captures, value, path)
    captures.facts.add(path.length(), len(value))
    return tuple([captures.read_item(value, v, path.item(i)) for i, v in enumerate(value)])


def _is_read_by_a_package() -> bool:
    """Return whether the code that reads a container is that of an installed package."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame = frame.f_back
    return frame is not None and is_installed(frame.f_code.co_filename)
