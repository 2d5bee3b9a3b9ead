"""`GradientTape`: recording, gradients and Jacobians of what was recorded."""
