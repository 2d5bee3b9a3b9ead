"""The gate to what only some systems have: tables of users and groups."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["is_private_group"]


@lru_cache(maxsize=16)
def is_private_group(group: int, user: int) -> bool:
    """Return whether a group is a user's own: it has the user's name, and nobody else is in it."""
    import grp
    import pwd

    try:
        own, who = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return own.gr_name == who.pw_name and group == who.pw_gid and set(own.gr_mem) <= {who.pw_name}
