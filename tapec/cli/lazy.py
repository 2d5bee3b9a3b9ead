"""The gate to what one command needs and others, which import it, do not: a server of HTTP, all commands' options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapec.cli.live_page import LivePage
    from tapec.cli.main import Parser

__all__ = ["live_page", "whole_parser"]


def live_page(make: Callable[[], str], files: Callable[[], Iterable[Path]], port: int) -> LivePage:
    from tapec.cli.live_page import LivePage

    return LivePage(make, files, port)


def whole_parser() -> Parser:
    """Return the parser of the command line, with those of all commands."""
    from tapec.cli.main import build_parser

    return build_parser()
