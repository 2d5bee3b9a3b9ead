# numpy: 143 flop, 1.7 kB moved, at most 536 B of memory
def rosenbrock_value_and_grad(x):
    part_x = x[:-1]  # golden_functions.py:15
    t = x[1:] - part_x * part_x
    u = 1.0 - part_x

    g = 200.0 * t    # golden_functions.py:15
    d_x = np.zeros(x.shape)
    d_x[1:] = g
    d_x[:-1] -= 2 * (u + part_x * g)
    return 100.0 * t.dot(t) + u.dot(u), d_x
