"""Values that users hold: Variables, constants, IndexedSlices, stop_gradient."""
