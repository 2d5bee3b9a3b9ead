"""`GradientTape` records operations; this package gives gradients and Jacobians of what was recorded."""
