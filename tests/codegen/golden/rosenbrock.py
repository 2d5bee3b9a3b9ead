# numpy: 143 flop, 1.7 kB moved, at most 536 B of memory
def rosenbrock_value_and_grad(x):
    x_head = x[:-1]        # golden_functions.py:15
    diff = x[1:] - x_head * x_head
    rest = 1.0 - x_head
    value = 100.0 * diff.dot(diff) + rest.dot(rest)

    scaled = 200.0 * diff  # golden_functions.py:15
    d_x = np.zeros(x.shape)
    d_x[1:] = scaled
    d_x[:-1] -= 2 * (rest + x_head * scaled)
    return value, d_x
