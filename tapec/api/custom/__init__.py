"""This package has functions that bring their own derivatives, and checkpoints."""
