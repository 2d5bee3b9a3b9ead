"""`Folder` is the folder of the cache on disk: private, bounded, written so that nobody ever reads half a file.

Whoever can write there can make this user's programs run code, so what others own or can write to is not used: the
folder, a folder above it, in which others could put another in its place, or an entry from when the folder stood open.
That is looked at before each load. What goes wrong here never stops a program: it is told once, and the code is
generated as if there were no cache.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress

from tapec.config import settings
from tapec.errors import warn_user
from tapec.fast_namedtuple import NamedTuple
from tapec.runtime import tuning
from tapec.runtime.disk_cache.lazy import is_private_group

__all__ = ["File", "Folder", "folder_now", "tell_once"]

ENDING = ".tapec"

_told: set[str] = set()


def tell_once(about: str, message: str) -> None:
    """Warn about a thing, at most once in a process."""
    if about not in _told:
        _told.add(about)
        warn_user(message)


class File(NamedTuple):
    """Describes an entry's file: `used` is when it was written or last read."""

    key: str
    path: str
    size: int
    used: float


class Folder:
    """Keeps entries by key. `room` is how many bytes may be written before it is looked how full the folder is."""

    def __init__(self, path: str):
        self.path = os.path.abspath(os.path.expanduser(path))
        self.room = 0

    def refusal(self, make: bool = False) -> str | None:
        """Return why the folder cannot be used, and how to fix that; None when it can."""
        try:
            if make:
                _make(self.path)
            state = os.stat(self.path)
        except (OSError, ValueError) as error:  # a ValueError: no folder can have such a name
            why = getattr(error, "strerror", None) or error
            return f"{why}. Fix: set TAPEC_CACHE_DIR to a folder that you can write to."
        if not stat.S_ISDIR(state.st_mode):
            return "it is no folder. Fix: set TAPEC_CACHE_DIR to a folder of your own."
        reason = _not_private(state)
        if reason is not None:
            return f"{reason}. Fix: {_FIXES[reason].format(self.path)}"
        return next(filter(None, map(_why_unsafe, _way_to(self.path))), None)

    def usable(self) -> bool:
        reason = self.refusal(make=True)
        if reason is not None:
            tell_once(self.path, f"the cache on disk {self.path} is not used: {reason}")
        return reason is None

    def file(self, key: str) -> str:
        return os.path.join(self.path, key + ENDING)

    def read(self, key: str) -> bytes | None:
        """The bytes of an entry, which counts as used now; None when there is none, PermissionError when it is open."""
        path = self.file(key)
        try:
            with open(path, "rb") as f:
                reason = _not_private(os.fstat(f.fileno()))
                data = f.read()
        except OSError:
            return None
        if reason is not None:
            raise PermissionError(reason)
        with suppress(OSError):  # another process may have just dropped it
            os.utime(path)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Write all of an entry or nothing: to a file of its own, which takes the entry's name when it is complete."""
        scratch = os.path.join(self.path, f"{key[:8]}{os.urandom(8).hex()}.part")  # `tempfile` takes long to import
        try:
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            self.cannot_write(error)
            return
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(data)
            os.replace(scratch, self.file(key))
        except OSError as error:
            _remove(scratch)
            if not os.path.exists(self.file(key)):  # else another process reads what it has just written itself
                self.cannot_write(error)
            return
        self.room -= len(data)
        if self.room < 0:
            self.room = self.shrink(settings.cache_dir_size * 1_000_000)

    def cannot_write(self, error: OSError) -> None:
        tell_once(
            f"{self.path} written",
            f"the cache on disk {self.path} cannot be written to: {error.strerror or error}. "
            f"Fix: make room there, or unset TAPEC_CACHE_DIR.",
        )

    def files(self) -> list[File]:
        """Return all entries, the one used last first."""
        found = [
            File(entry.name.removesuffix(ENDING), entry.path, state.st_size, state.st_mtime)
            for entry, state in self._scan()
            if entry.name.endswith(ENDING)
        ]
        return sorted(found, key=lambda f: (-f.used, f.key))

    def _scan(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        try:
            entries = list(os.scandir(self.path))
        except OSError:
            return
        for entry in entries:
            try:
                yield entry, entry.stat()
            except OSError:
                continue  # gone meanwhile

    def remove(self, key: str) -> bool:
        return _remove(self.file(key))

    def shrink(self, most: int) -> int:
        """Drop what was not used for longest until there is room; gives how many bytes there are now."""
        now = time.time()
        for entry, state in self._scan():
            if entry.name.endswith(".part") and now - state.st_mtime > tuning.STALE_SECONDS:
                _remove(entry.path)
        files = self.files()
        total = sum(f.size for f in files)
        if total > most:
            while files and total > tuning.FOLDER_SHARE_KEPT * most:
                last = files.pop()
                _remove(last.path)
                total -= last.size
        return most - total


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


_FOREIGN, _OPEN = "it belongs to somebody else", "others can write to it"
_FIXES = {_FOREIGN: "set TAPEC_CACHE_DIR to a folder of your own.", _OPEN: "chmod 700 {}"}


def _not_private(state: os.stat_result) -> str | None:
    """Return why others might write to a folder; None where they cannot.

    Systems without user numbers have rights of their own kind, which are left to them.
    """
    if not hasattr(os, "getuid"):
        return None
    if state.st_uid != os.getuid():
        return _FOREIGN
    return _OPEN if _others_write(state) else None


def _others_write(state: os.stat_result) -> bool:
    """Return whether others than the user can write to something. The user's own private group has no others."""
    if state.st_mode & stat.S_IWGRP and not is_private_group(state.st_gid, os.getuid()):
        return True
    return bool(state.st_mode & stat.S_IWOTH)


def _make(path: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone."""
    if not os.path.isdir(path):
        above = os.path.dirname(path)
        if above != path:  # else there is no such drive
            _make(above)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)


def _way_to(path: str) -> Iterator[str]:
    """Yield each folder in which a part of a path is looked up, and each link that is followed."""
    if not hasattr(os, "getuid"):
        return
    place, left = os.sep, path.split(os.sep)[::-1]
    while left:
        part = left.pop()
        if part in ("", os.curdir):
            continue
        if part == os.pardir:
            place = os.path.dirname(place)
            continue
        yield place
        there = os.path.join(place, part)
        try:
            target = os.readlink(there)
        except OSError:  # it is no link
            place = there
            continue
        yield there
        left += target.split(os.sep)[::-1]
        place = os.sep if os.path.isabs(target) else place


def _why_unsafe(place: str) -> str | None:
    """Return why others could exchange what a folder on the way, or a link, leads to, and how to mend that.

    In a sticky folder, such as /tmp, what somebody made is theirs.
    """
    try:
        state = os.lstat(place)
    except OSError as error:
        return f"{place}: {error.strerror or error}. Fix: set TAPEC_CACHE_DIR to a folder that you can write to."
    if state.st_uid not in (0, os.getuid()):
        return f"{place} belongs to somebody else. Fix: set TAPEC_CACHE_DIR to a folder within one of your own."
    if stat.S_ISLNK(state.st_mode) or state.st_mode & stat.S_ISVTX or not _others_write(state):
        return None
    return f"others can write to {place}. Fix: chmod go-w {place}, or set TAPEC_CACHE_DIR to a folder elsewhere."


_folders: dict[str, Folder] = {}


def folder_now() -> Folder | None:
    """The folder that the settings name; None where there is none, or it cannot be used."""
    path = settings.cache_dir
    if not path:
        return None
    folder = _folders.get(path)
    if folder is None:
        folder = _folders[path] = Folder(path)
    return folder if folder.usable() else None
