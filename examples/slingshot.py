"""How must a probe be launched to pass two planets and arrive? The gradient runs through the simulated flight.

python examples/slingshot.py                 # writes slingshot.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec

STEP, STEPS = 0.02, 150
PLANETS = np.array([[1.0, 0.7], [2.0, -0.2]])
MASSES = np.array([0.5, 0.5])
START, GOAL = np.array([0.0, 0.0]), np.array([3.0, 0.4])


def pull(place):
    """The acceleration at a place; planets are softened, so that passing through one is no catastrophe."""
    away = PLANETS - place
    return (MASSES / (np.sum(away**2, axis=1) + 0.02) ** 1.5) @ away


def fly(velocity):
    """The places on the way, by the leapfrog method."""
    place, places = START, [START]
    velocity = velocity + 0.5 * STEP * pull(place)
    for _ in range(STEPS):
        place = place + STEP * velocity
        velocity = velocity + STEP * pull(place)
        places.append(place)
    return np.stack(places)


@tapec.value_and_grad
def miss(velocity):
    """The squared distance from the goal at the end of the flight."""
    return np.sum((fly(velocity)[-1] - GOAL) ** 2)


miss.example_args = (np.array([1.0, 0.1]),)


def main():
    tried = []
    found = minimize(miss, [1.0, 0.0], jac=True, method="BFGS", callback=lambda v: tried.append(v.copy()))
    print(f"launch with {found.x.round(3)}: misses by {np.sqrt(found.fun):.1e} after {found.nfev} flights")

    def draw(axes):
        for k, velocity in enumerate(tried):
            last = k == len(tried) - 1
            axes.plot(*fly(velocity).T, color="tab:red" if last else "0.75", linewidth=2 if last else 1, zorder=k)
        axes.scatter(*PLANETS.T, s=250, color="tab:blue", zorder=99, label="planets")
        axes.plot(*GOAL, "*", color="tab:green", markersize=14, zorder=99, label="goal")
        axes.set(xlim=(-0.3, 3.4), ylim=(-0.8, 1.2), aspect="equal")
        axes.legend(loc="lower right")

    save_plot("slingshot.png", draw, (6, 4))


if __name__ == "__main__":
    main()
