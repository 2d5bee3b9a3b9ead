"""This package has values that users hold: Variables, constants, IndexedSlices, stop_gradient."""
