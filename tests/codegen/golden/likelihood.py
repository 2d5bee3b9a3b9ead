# numpy: 352 kflop, 213 kB moved, at most 77 kB of memory
# for theta of shape (2,), x of shape (40, 3), y of shape (40,)
def likelihood_value_and_grad(theta, x, y):
    square = np.vecdot(x, x)                 # golden_functions.py:61
    distance = square[:, None] + square - 2.0 * (x @ x.T)  # golden_functions.py:62
    exp = np.exp(theta[0] - 0.5 * distance)  # golden_functions.py:63
    exp_theta1 = np.exp(theta[1])
    kernel = exp + exp_theta1 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)      # golden_functions.py:64
    alpha = np.linalg.solve(kernel, y)       # golden_functions.py:65

    factor_inv = np.linalg.inv(factor)       # golden_functions.py:64
    diff = 0.5 * (factor_inv.T @ factor_inv) - (0.5 * alpha)[:, None] * alpha  # the inverse, from the Cholesky factor
    d_theta = np.empty(theta.shape)          # golden_functions.py:63
    d_theta[0] = np.vdot(diff, exp)
    d_theta[1] = np.trace(diff) * exp_theta1
    return 0.5 * (y @ alpha) + np.log(np.diagonal(factor)).sum(), d_theta  # golden_functions.py:66
