"""This package helps tests: of passes, of rules, and of what compiles how often.

May import everything of tapec; nothing of tapec imports it.
"""

from tapec.testing.compiles import assert_compiles
from tapec.testing.rewrites import check_rewrite, check_unchanged

__all__ = ["assert_compiles", "check_rewrite", "check_unchanged"]
