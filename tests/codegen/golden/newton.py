# floats: 57 flop, 24 B moved, at most 16 B of memory
# where Python's floats raise an error, NumPy computes instead: inf and nan
def newton_value_and_grad(x):
    x = float(x)
    t = 1e-09 * x                         # golden_functions.py:55   abs(y * y - x) > 1e-9 * x
    if not abs(x * x - x) > t:
        return None
    t2 = x / x                            # golden_functions.py:56   0.5 * (y + x / y)
    y = 0.5 * (x + t2)
    if not abs(y * y - x) > t:            # golden_functions.py:55   abs(y * y - x) > 1e-9 * x
        return None
    t3 = x / y                            # golden_functions.py:56   0.5 * (y + x / y)
    y2 = 0.5 * (y + t3)
    if not abs(y2 * y2 - x) > t:          # golden_functions.py:55   abs(y * y - x) > 1e-9 * x
        return None
    t4 = x / y2                           # golden_functions.py:56   0.5 * (y + x / y)
    y3 = 0.5 * (y2 + t4)
    if not abs(y3 * y3 - x) > t:          # golden_functions.py:55   abs(y * y - x) > 1e-9 * x
        return None
    t5 = x / y3                           # golden_functions.py:56   0.5 * (y + x / y)
    y4 = 0.5 * (y3 + t5)
    if abs(y4 * y4 - x) > t:              # golden_functions.py:55   abs(y * y - x) > 1e-9 * x
        return None
    dy_dx = (1.0 + (1.0 - t2) / x) * 0.5  # golden_functions.py:56   0.5 * (y + x / y)
    dy_dx = (dy_dx + (1.0 - t3 * dy_dx) / y) * 0.5
    dy_dx = (dy_dx + (1.0 - t4 * dy_dx) / y2) * 0.5
    dy_dx = (dy_dx + (1.0 - t5 * dy_dx) / y3) * 0.5
    return np.float64(y4), np.float64(dy_dx)
