"""The gate to what one command needs and others, which import it, do not: a server of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapec.cli.live_page import LivePage

__all__ = ["live_page"]


def live_page(make: Callable[[], str], files: Callable[[], Iterable[Path]], port: int) -> LivePage:
    from tapec.cli.live_page import LivePage

    return LivePage(make, files, port)
