"""How long do patients live with and without a treatment? A Weibull model of times of which some are censored.

The gradient finds the parameters, the Hessian their standard errors.

    python examples/survival.py                  # writes survival.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec


def minus_log_likelihood(p, treated, time, died):
    """Of parameters (log scale, effect of the treatment on it, log shape); a censored time says: at least so long."""
    shape = np.exp(p[2])
    z = shape * (np.log(time) - p[0] - p[1] * treated)
    return -np.sum(died * (np.log(shape) - np.log(time) + z) - np.exp(z))


minus_log_likelihood.example_args = lambda: (np.zeros(3), np.ones(5), np.ones(5), np.ones(5))


def kaplan_meier(time, died):
    """The share that lives longer than each time, without a model."""
    order = np.argsort(time)
    at_risk = len(time) - np.arange(len(time))
    return time[order], np.cumprod(1.0 - died[order] / at_risk)


def main():
    rng = np.random.default_rng(0)
    treated = (rng.uniform(size=300) < 0.5).astype(float)
    lived = 5.0 * np.exp(0.5 * treated) * rng.weibull(1.5, size=300)
    watched = rng.uniform(1.0, 15.0, size=300)
    time, died = np.minimum(lived, watched), (lived <= watched).astype(float)

    found = minimize(
        tapec.value_and_grad(minus_log_likelihood), np.zeros(3), args=(treated, time, died), jac=True, method="BFGS"
    )
    errors = np.sqrt(np.diag(np.linalg.inv(tapec.hessian(minus_log_likelihood)(found.x, treated, time, died))))
    print(f"{died.mean():.0%} of 300 died while watched")
    for name, value, error, truth in zip(
        ("log scale", "treatment", "log shape"), found.x, errors, (np.log(5.0), 0.5, np.log(1.5)), strict=True
    ):
        print(f"{name}  {value:.2f} ± {error:.2f}   (truth {truth:.2f})")

    def draw(axes):
        grid = np.linspace(0.01, 15.0, 200)
        for group, color, label in ((0.0, "tab:blue", "untreated"), (1.0, "tab:orange", "treated")):
            mine = treated == group
            axes.step(*kaplan_meier(time[mine], died[mine]), where="post", color=color, alpha=0.5)
            scale = np.exp(found.x[0] + found.x[1] * group)
            axes.plot(grid, np.exp(-((grid / scale) ** np.exp(found.x[2]))), color=color, label=label)
        axes.set(xlabel="years", ylabel="share alive", ylim=(0, 1))
        axes.legend()

    save_plot("survival.png", draw, (6, 3.6))


if __name__ == "__main__":
    main()
