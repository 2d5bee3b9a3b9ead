# numpy: 302 kflop, 331 kB moved, at most 38 kB of memory
def layer_value_and_grad(w, x, y):
    h = x @ w                       # golden_functions.py:9
    np.tanh(h, out=h)
    r = h - y                       # golden_functions.py:10
    value = np.vdot(r, r) / y.size  # golden_functions.py:11

    g = np.multiply(h, h, out=h)    # golden_functions.py:9
    np.subtract(1, g, out=g)        # tanh' = 1 - tanh^2
    g *= r
    g *= 2.0 / y.size
    d_w = x.T @ g
    return value, d_w
