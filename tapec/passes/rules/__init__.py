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
    "CHAINS",
    "CHOLESKY_GRADIENTS",
    "CHOSEN_SUMS",
    "CONTRACTIONS",
    "DIAGONALS",
    "ENDS",
    "EXPONENTIALS",
    "FACTORS",
    "FAST",
    "FOLD",
    "INDEXING",
    "LAYOUT",
    "LINES",
    "LINES_ADDED",
    "MASKS",
    "PARTS",
    "PLACES",
    "POWERS",
    "PRODUCTS",
    "RECIPROCALS",
    "REDUCTIONS",
    "SCALES",
    "SPREADS",
    "SELECTIONS",
    "SINGLES",
    "SLICES",
    "STABILITY",
    "SYMMETRIES",
    "SYSTEMS",
    "TRIANGLES",
    "TWINS",
    "WEIGHTS",
    "ZERO_COTANGENTS",
    "ZEROS",
]

ALGEBRA = Table("ALGEBRA", algebra.ALGEBRA)
CHAINS = Table("CHAINS", linalg.chains, "transpose(matmul)")
CHOLESKY_GRADIENTS = Table("CHOLESKY_GRADIENTS", linalg.cholesky_gradients, "inv solve")
CHOSEN_SUMS = Table("CHOSEN_SUMS", selection.chosen_sums, "where")
CONTRACTIONS = Table("CONTRACTIONS", reduction.contractions, "mean sum tensordot")
DIAGONALS = Table("DIAGONALS", reduction.diagonals, "diagonal trace")
ENDS = Table("ENDS", selection.ends, "cumsum")
EXPONENTIALS = Table("EXPONENTIALS", squared_exponentials.EXPONENTIALS, "exp")
FACTORS = Table("FACTORS", common_factors.FACTORS)
FAST = Table("FAST", fast_math.FAST, "fast-math")  # this word stands for the setting, not for an op
FOLD = Table("FOLD", constant_folding.FOLD)
INDEXING = Table("INDEXING", selection.indexing, "getitem scatter setitem take_along_axis")
LAYOUT = Table("LAYOUT", reduction.layout, "broadcast_to cast copy diag full getitem reshape transpose where")
LINES = Table("LINES", selection.lines, "scatter")
LINES_ADDED = Table("LINES_ADDED", linalg.lines_added, "sum(matmul) sum(add) sum(subtract)")
MASKS = Table("MASKS", selection.masks, "where")
PARTS = Table("PARTS", selection.parts, "scatter")
PLACES = Table("PLACES", selection.places, "diag scatter tril triu")
POWERS = Table("POWERS", powers_as_products.POWERS, "norm power")
PRODUCTS = Table("PRODUCTS", linalg.products, "diag matmul trace transpose")
RECIPROCALS = Table("RECIPROCALS", constant_scales.RECIPROCALS, "divide")
REDUCTIONS = Table("REDUCTIONS", reduction.reductions, "all any matmul mean reshape sum")
SCALES = Table("SCALES", constant_scales.SCALES)
SELECTIONS = Table("SELECTIONS", selection.selections, "bitwise_and where")
SINGLES = Table("SINGLES", linalg.singles, "add(scatter) subtract(scatter)")
SLICES = Table("SLICES", selection.slices, "diff getitem scatter")
SPREADS = Table("SPREADS", reduction.spreads, "std var")
STABILITY = Table("STABILITY", stable_forms.STABILITY, "exp log")
SYMMETRIES = Table("SYMMETRIES", linalg.symmetries, "sum transpose")
SYSTEMS = Table("SYSTEMS", linalg.systems, "solve")
TRIANGLES = Table("TRIANGLES", linalg.triangles, "inv solve")
TWINS = Table("TWINS", reduction.twins, "mean sum")
WEIGHTS = Table("WEIGHTS", linalg.weights, "matmul(multiply) transpose(multiply)")
ZERO_COTANGENTS = Table("ZERO_COTANGENTS", zero_cotangents.ZERO_COTANGENTS)
ZEROS = Table("ZEROS", zero_cotangents.ZEROS)
