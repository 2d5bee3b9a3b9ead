"""Give derivatives to ops that carry graphs: checkpoints, and solutions of equations."""
