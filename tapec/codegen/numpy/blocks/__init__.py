"""Loops over cache-sized blocks of rows."""
