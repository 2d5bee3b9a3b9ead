"""Functions that bring their own derivatives, and checkpoints."""
