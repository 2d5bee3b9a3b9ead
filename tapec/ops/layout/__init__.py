"""This package defines ops that move elements without computing: reshape, transpose, join, split, pad, roll, create."""
