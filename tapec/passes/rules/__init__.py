"""The rewrite rules, a table for each subject."""

from tapec.passes.rules.algebra import ALGEBRA
from tapec.passes.rules.cholesky import CHOLESKY_GRADIENTS
from tapec.passes.rules.contractions import CONTRACTIONS
from tapec.passes.rules.diagonals import DIAGONALS
from tapec.passes.rules.ends import ENDS, LINES
from tapec.passes.rules.factors import FACTORS
from tapec.passes.rules.fast import FAST
from tapec.passes.rules.fold import FOLD
from tapec.passes.rules.indexing import INDEXING
from tapec.passes.rules.layout import LAYOUT
from tapec.passes.rules.masks import MASKS
from tapec.passes.rules.places import PLACES
from tapec.passes.rules.powers import POWERS
from tapec.passes.rules.products import PRODUCTS
from tapec.passes.rules.reductions import REDUCTIONS, TWINS
from tapec.passes.rules.scales import SCALES
from tapec.passes.rules.selections import SELECTIONS
from tapec.passes.rules.slices import PARTS, SLICES
from tapec.passes.rules.spreads import SPREADS
from tapec.passes.rules.stability import STABILITY
from tapec.passes.rules.symmetries import SYMMETRIES
from tapec.passes.rules.triangles import TRIANGLES
from tapec.passes.rules.zeros import NOTHING, ZEROS

__all__ = [
    "ALGEBRA",
    "CHOLESKY_GRADIENTS",
    "CONTRACTIONS",
    "DIAGONALS",
    "ENDS",
    "FACTORS",
    "FAST",
    "FOLD",
    "INDEXING",
    "LAYOUT",
    "LINES",
    "MASKS",
    "NOTHING",
    "PARTS",
    "PLACES",
    "POWERS",
    "PRODUCTS",
    "REDUCTIONS",
    "SCALES",
    "SPREADS",
    "SELECTIONS",
    "SLICES",
    "STABILITY",
    "SYMMETRIES",
    "TRIANGLES",
    "TWINS",
    "ZEROS",
]
