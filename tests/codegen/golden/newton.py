# floats: 57 flop, 24 B moved, at most 16 B of memory
# where Python's floats raise an error, NumPy computes instead: inf and nan
def newton_value_and_grad(x):
    x = float(x)
    coef = 1e-09 * x                         # golden_functions.py:55
    if not abs(x * x - x) > coef:
        return None
    ratio = x / x                            # golden_functions.py:56
    y = 0.5 * (x + ratio)
    if not abs(y * y - x) > coef:            # golden_functions.py:55
        return None
    x_over_y = x / y                         # golden_functions.py:56
    y2 = 0.5 * (y + x_over_y)
    if not abs(y2 * y2 - x) > coef:          # golden_functions.py:55
        return None
    x_over_y2 = x / y2                       # golden_functions.py:56
    y3 = 0.5 * (y2 + x_over_y2)
    if not abs(y3 * y3 - x) > coef:          # golden_functions.py:55
        return None
    x_over_y3 = x / y3                       # golden_functions.py:56
    y4 = 0.5 * (y3 + x_over_y3)
    if abs(y4 * y4 - x) > coef:              # golden_functions.py:55
        return None

    dy_dx = 0.5 * (1.0 + (1.0 - ratio) / x)  # golden_functions.py:56
    dy_dx = 0.5 * (dy_dx + (1.0 - x_over_y * dy_dx) / y)
    dy_dx = 0.5 * (dy_dx + (1.0 - x_over_y2 * dy_dx) / y2)
    dy_dx = 0.5 * (dy_dx + (1.0 - x_over_y3 * dy_dx) / y3)
    return np.float64(y4), np.float64(dy_dx)
