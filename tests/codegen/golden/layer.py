# numpy: 302 kflop, 187 kB moved, at most 58 kB of memory
def layer_value_and_grad(w, x, y):
    h = np.tanh(x @ w)                  # golden_functions.py:9
    r = h - y                           # golden_functions.py:10
    d_w = x.T @ (r * (1 - h * h) * (2.0 / y.size))  # tanh' = 1 - tanh^2
    return np.vdot(r, r) / y.size, d_w  # golden_functions.py:11
