"""This package draws graphs as SVG and DOT."""
