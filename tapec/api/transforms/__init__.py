"""The transforms: grad, jacobian, vmap, jvp, vjp and their kin."""
