# numpy: 4.4 Mflop, 6.4 MB moved, at most 4.8 MB of memory
def wave_value_and_grad(x, y):
    value = 0.0
    d_x = np.empty(x.shape)
    d_y = np.empty(y.shape)
    for i in range(0, len(x), 25000):  # blocks that stay in the cache
        block = slice(i, i + 25000)
        tanh_xy = np.tanh(x[block] * y[block])  # golden_functions.py:30
        exp_neg_x_x = np.exp(-x[block] * x[block])
        prod = tanh_xy * exp_neg_x_x
        sq_y = y[block] * y[block]
        value += (prod + np.log1p(sq_y)).sum()

        d_xy = exp_neg_x_x * (1 - tanh_xy * tanh_xy)  # tanh' = 1 - tanh^2   golden_functions.py:30
        d_x[block] = d_xy * y[block] - 2.0 * (prod * x[block])
        d_y[block] = d_xy * x[block] + 2.0 * (y[block] / (1 + sq_y))
    return value, d_x, d_y
