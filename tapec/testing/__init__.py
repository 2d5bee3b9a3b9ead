"""Helpers for tests: of passes, of rules, and of what compiles how often.

May import everything of tapec; nothing of tapec imports it.
"""

from tapec.testing.compiles import assert_compiles

__all__ = ["assert_compiles"]
