"""In-place code on tensors, recorded as pure operations."""
