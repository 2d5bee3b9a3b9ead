"""The rewrite rules, a table for each subject, and the ops that a table is about.

The arithmetic rules are imported here, since every gradient needs most of them; the others are imported through the
`lazy.py` of their package, when a graph has an op that they are about.
"""

from tapec.passes.engine.rule_table import Table
from tapec.passes.rules.arithmetic import (
    algebra,
    common_factors,
    constant_folding,
    constant_scales,
    fast_math,
    powers_as_products,
    squared_exponentials,
    stable_forms,
    zero_cotangents,
)
from tapec.passes.rules.linalg import lazy as linalg
from tapec.passes.rules.reduction import lazy as reduction
from tapec.passes.rules.selection import lazy as selection

__all__ = [
    "ALGEBRA",
    "BOUNDS_AND_WHERE",
    "CHOLESKY_GRADIENT",
    "CLEARED_PARTS",
    "COMMON_FACTORS",
    "CONSTANT_FOLDING",
    "CONSTANT_SCALES",
    "CUMSUM_ENDS",
    "DIAGONALS_AND_TRACES",
    "FAST_MATH",
    "GRAM_PRODUCTS",
    "LAYOUT_CHANGES",
    "MANY_RIGHT_HAND_SIDES",
    "MASKS",
    "PART_UPDATES",
    "POWERS_AS_PRODUCTS",
    "READ_AFTER_WRITE",
    "SCALED_MATMUL",
    "SCATTERED_LINES",
    "SCATTER_PRODUCTS",
    "SLICES",
    "SMALL_MATRICES",
    "SQUARED_EXPONENTIALS",
    "STABLE_FORMS",
    "SUMS_AS_MATMUL",
    "SUMS_OF_MATMUL",
    "SUMS_OF_PARTS",
    "SUMS_OF_SELECTED",
    "SUMS_OF_SUMS",
    "SUMS_WITH_OTHER_KEEPDIMS",
    "SYMMETRIC_COTANGENTS",
    "TRIANGULAR_INVERSES",
    "VARIANCES",
    "WEIGHTED_PRODUCTS",
    "ZEROS",
    "ZERO_COTANGENTS",
]

ALGEBRA = Table("ALGEBRA", algebra.ALGEBRA)
BOUNDS_AND_WHERE = Table("BOUNDS_AND_WHERE", selection.bounds_and_where, "bitwise_and where")
CHOLESKY_GRADIENT = Table("CHOLESKY_GRADIENT", linalg.cholesky_gradient, "inv solve")
CLEARED_PARTS = Table("CLEARED_PARTS", selection.cleared_parts, "setitem")
COMMON_FACTORS = Table("COMMON_FACTORS", common_factors.COMMON_FACTORS)
CONSTANT_FOLDING = Table("CONSTANT_FOLDING", constant_folding.CONSTANT_FOLDING)
CONSTANT_SCALES = Table("CONSTANT_SCALES", constant_scales.CONSTANT_SCALES)
CUMSUM_ENDS = Table("CUMSUM_ENDS", selection.cumsum_ends, "cumsum")
DIAGONALS_AND_TRACES = Table("DIAGONALS_AND_TRACES", reduction.diagonals_and_traces, "diagonal trace")
FAST_MATH = Table("FAST_MATH", fast_math.FAST_MATH, "fast-math")  # this word stands for the setting, not for an op
GRAM_PRODUCTS = Table("GRAM_PRODUCTS", linalg.gram_products, "transpose(matmul)")
LAYOUT_CHANGES = Table(
    "LAYOUT_CHANGES", reduction.layout_changes, "broadcast_to cast copy diag full getitem reshape transpose where"
)
MANY_RIGHT_HAND_SIDES = Table("MANY_RIGHT_HAND_SIDES", linalg.many_right_hand_sides, "solve")
MASKS = Table("MASKS", selection.masks, "where")
PART_UPDATES = Table("PART_UPDATES", selection.part_updates, "setitem")
POWERS_AS_PRODUCTS = Table("POWERS_AS_PRODUCTS", powers_as_products.POWERS_AS_PRODUCTS, "norm power")
READ_AFTER_WRITE = Table("READ_AFTER_WRITE", selection.read_after_write, "getitem scatter setitem take_along_axis")
SCALED_MATMUL = Table("SCALED_MATMUL", linalg.scaled_matmul, "diag matmul trace transpose")
SCATTERED_LINES = Table("SCATTERED_LINES", selection.scattered_lines, "scatter")
SCATTER_PRODUCTS = Table("SCATTER_PRODUCTS", selection.scatter_products, "diag scatter tril triu")
SLICES = Table("SLICES", selection.slices, "diff getitem scatter")
SMALL_MATRICES = Table("SMALL_MATRICES", linalg.small_matrices, "add(scatter) subtract(scatter)")
SQUARED_EXPONENTIALS = Table("SQUARED_EXPONENTIALS", squared_exponentials.SQUARED_EXPONENTIALS, "exp")
STABLE_FORMS = Table("STABLE_FORMS", stable_forms.STABLE_FORMS, "exp")
SUMS_AS_MATMUL = Table("SUMS_AS_MATMUL", reduction.sums_as_matmul, "mean sum tensordot")
SUMS_OF_MATMUL = Table("SUMS_OF_MATMUL", linalg.sums_of_matmul, "sum(matmul) sum(add) sum(subtract)")
SUMS_OF_PARTS = Table("SUMS_OF_PARTS", selection.sums_of_parts, "scatter")
SUMS_OF_SELECTED = Table("SUMS_OF_SELECTED", selection.sums_of_selected, "where")
SUMS_OF_SUMS = Table("SUMS_OF_SUMS", reduction.sums_of_sums, "all any matmul mean reshape sum")
SUMS_WITH_OTHER_KEEPDIMS = Table("SUMS_WITH_OTHER_KEEPDIMS", reduction.sums_with_other_keepdims, "mean sum")
SYMMETRIC_COTANGENTS = Table("SYMMETRIC_COTANGENTS", linalg.symmetric_cotangents, "sum transpose")
TRIANGULAR_INVERSES = Table("TRIANGULAR_INVERSES", linalg.triangular_inverses, "inv solve")
VARIANCES = Table("VARIANCES", reduction.variances, "std var")
WEIGHTED_PRODUCTS = Table("WEIGHTED_PRODUCTS", linalg.weighted_products, "matmul(multiply) transpose(multiply)")
ZEROS = Table("ZEROS", zero_cotangents.ZEROS)
ZERO_COTANGENTS = Table("ZERO_COTANGENTS", zero_cotangents.ZERO_COTANGENTS)
