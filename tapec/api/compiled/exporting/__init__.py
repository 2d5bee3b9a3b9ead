"""Write compiled functions as modules and pickles that stand alone."""
