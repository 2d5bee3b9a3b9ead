"""The rewrite rules, a table for each subject, and the ops that it is about."""

from tapec.passes.table import Table

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

ALGEBRA = Table("algebra", "ALGEBRA")
CHAINS = Table("chains", "CHAINS", "transpose(matmul)")
CHOLESKY_GRADIENTS = Table("cholesky", "CHOLESKY_GRADIENTS", "inv solve")
CHOSEN_SUMS = Table("chosen_sums", "CHOSEN_SUMS", "where")
CONTRACTIONS = Table("contractions", "CONTRACTIONS", "mean sum tensordot")
DIAGONALS = Table("diagonals", "DIAGONALS", "diagonal trace")
ENDS = Table("ends", "ENDS", "cumsum")
EXPONENTIALS = Table("exponentials", "EXPONENTIALS", "exp")
FACTORS = Table("factors", "FACTORS")
FAST = Table("fast", "FAST", "fast-math")  # no op, but the setting
FOLD = Table("fold", "FOLD")
INDEXING = Table("indexing", "INDEXING", "getitem scatter setitem take_along_axis")
LAYOUT = Table("layout", "LAYOUT", "broadcast_to cast copy diag full getitem reshape transpose where")
LINES = Table("ends", "LINES", "scatter")
LINES_ADDED = Table("chains", "LINES_ADDED", "sum(matmul) sum(add) sum(subtract)")
MASKS = Table("masks", "MASKS", "where")
NOTHING = Table("zeros", "NOTHING")
PARTS = Table("slices", "PARTS", "scatter")
PLACES = Table("places", "PLACES", "diag scatter tril triu")
POWERS = Table("powers", "POWERS", "norm power")
PRODUCTS = Table("products", "PRODUCTS", "diag matmul trace transpose")
RECIPROCALS = Table("scales", "RECIPROCALS", "divide")
REDUCTIONS = Table("reductions", "REDUCTIONS", "all any matmul mean reshape sum")
SCALES = Table("scales", "SCALES")
SELECTIONS = Table("selections", "SELECTIONS", "bitwise_and where")
SINGLES = Table("singles", "SINGLES", "add(scatter) subtract(scatter)")
SLICES = Table("slices", "SLICES", "diff getitem scatter")
SPREADS = Table("spreads", "SPREADS", "std var")
STABILITY = Table("stability", "STABILITY", "exp log")
SYMMETRIES = Table("symmetries", "SYMMETRIES", "sum transpose")
SYSTEMS = Table("systems", "SYSTEMS", "solve")
TRIANGLES = Table("triangles", "TRIANGLES", "inv solve")
TWINS = Table("reductions", "TWINS", "mean sum")
WEIGHTS = Table("weights", "WEIGHTS", "matmul(multiply) transpose(multiply)")
ZEROS = Table("zeros", "ZEROS")
