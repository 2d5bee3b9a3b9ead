"""The rewrite rules, a table for each subject, and the ops that it is about."""

from tapec.passes.engine.rule_table import Table

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
    "NOTHING",
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
    "ZEROS",
]

ALGEBRA = Table("arithmetic.algebra", "ALGEBRA")
CHAINS = Table("linalg.sums_of_matmul", "CHAINS", "transpose(matmul)")
CHOLESKY_GRADIENTS = Table("linalg.cholesky_gradient", "CHOLESKY_GRADIENTS", "inv solve")
CHOSEN_SUMS = Table("selection.sums_of_selected", "CHOSEN_SUMS", "where")
CONTRACTIONS = Table("reduction.sums_as_matmul", "CONTRACTIONS", "mean sum tensordot")
DIAGONALS = Table("reduction.diagonals_and_traces", "DIAGONALS", "diagonal trace")
ENDS = Table("selection.cumsum_ends", "ENDS", "cumsum")
EXPONENTIALS = Table("arithmetic.squared_exponentials", "EXPONENTIALS", "exp")
FACTORS = Table("arithmetic.common_factors", "FACTORS")
FAST = Table("arithmetic.fast_math", "FAST", "fast-math")  # no op, but the setting
FOLD = Table("arithmetic.constant_folding", "FOLD")
INDEXING = Table("selection.read_after_write", "INDEXING", "getitem scatter setitem take_along_axis")
LAYOUT = Table("reduction.layout_changes", "LAYOUT", "broadcast_to cast copy diag full getitem reshape transpose where")
LINES = Table("selection.cumsum_ends", "LINES", "scatter")
LINES_ADDED = Table("linalg.sums_of_matmul", "LINES_ADDED", "sum(matmul) sum(add) sum(subtract)")
MASKS = Table("selection.masks", "MASKS", "where")
NOTHING = Table("arithmetic.zero_cotangents", "NOTHING")
PARTS = Table("selection.slices", "PARTS", "scatter")
PLACES = Table("selection.scatter_products", "PLACES", "diag scatter tril triu")
POWERS = Table("arithmetic.powers_as_products", "POWERS", "norm power")
PRODUCTS = Table("linalg.scaled_matmul", "PRODUCTS", "diag matmul trace transpose")
RECIPROCALS = Table("arithmetic.constant_scales", "RECIPROCALS", "divide")
REDUCTIONS = Table("reduction.sums_of_sums", "REDUCTIONS", "all any matmul mean reshape sum")
SCALES = Table("arithmetic.constant_scales", "SCALES")
SELECTIONS = Table("selection.bounds_and_where", "SELECTIONS", "bitwise_and where")
SINGLES = Table("linalg.small_matrices", "SINGLES", "add(scatter) subtract(scatter)")
SLICES = Table("selection.slices", "SLICES", "diff getitem scatter")
SPREADS = Table("reduction.variance", "SPREADS", "std var")
STABILITY = Table("arithmetic.stable_forms", "STABILITY", "exp log")
SYMMETRIES = Table("linalg.symmetric_cotangents", "SYMMETRIES", "sum transpose")
SYSTEMS = Table("linalg.many_right_hand_sides", "SYSTEMS", "solve")
TRIANGLES = Table("linalg.triangular_inverses", "TRIANGLES", "inv solve")
TWINS = Table("reduction.sums_of_sums", "TWINS", "mean sum")
WEIGHTS = Table("linalg.weighted_products", "WEIGHTS", "matmul(multiply) transpose(multiply)")
ZEROS = Table("arithmetic.zero_cotangents", "ZEROS")
