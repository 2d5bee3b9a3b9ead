"""How long is the pendulum, and how strongly is it damped? Hamiltonian Monte Carlo on noisy angles.

The posterior's gradient runs through the integrator; the sampler itself is plain NumPy.

    python examples/pendulum_hmc.py              # writes pendulum_hmc.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot

import tapec

STEP, STEPS, NOISE = 0.05, 60, 0.05


def swing(log_length, log_damping):
    """Angles of a pendulum released at one radian, by the symplectic Euler method."""
    length, damping = np.exp(log_length), np.exp(log_damping)
    angle, speed, angles = 1.0, 0.0, []
    for _ in range(STEPS):
        speed = speed - STEP * (9.81 / length * np.sin(angle) + damping * speed)
        angle = angle + STEP * speed
        angles.append(angle)
    return np.stack(angles)


@tapec.value_and_grad
def energy(q, data):
    """Minus the log of the posterior; the priors are normal in the logarithms."""
    misfit = swing(q[0], q[1]) - data
    return 0.5 * np.sum((misfit / NOISE) ** 2) + 0.5 * q[0] ** 2 + 0.5 * (q[1] + 1.5) ** 2


energy.example_args = (np.array([0.0, -1.5]), np.zeros(STEPS))


def sample(rng, q, data, count, size=0.008, leaps=15):
    """Hamiltonian Monte Carlo: leapfrog along the energy, accept by Metropolis."""
    value, gradient = energy(q, data)
    kept, accepted = [], 0
    for _ in range(count):
        p = rng.normal(size=q.shape)
        total = value + 0.5 * p @ p
        q_new, value_new, gradient_new = q, value, gradient
        for _ in range(leaps):
            p = p - 0.5 * size * gradient_new
            q_new = q_new + size * p
            value_new, gradient_new = energy(q_new, data)
            p = p - 0.5 * size * gradient_new
        if np.log(rng.uniform()) < total - value_new - 0.5 * p @ p:
            q, value, gradient = q_new, value_new, gradient_new
            accepted += 1
        kept.append(q)
    return np.array(kept), accepted / count


def main():
    rng = np.random.default_rng(0)
    data = swing(np.log(1.3), np.log(0.3)) + NOISE * rng.normal(size=STEPS)
    draws, rate = sample(rng, np.array([0.2, -1.0]), data, 1500)
    kept = np.exp(draws[300:])
    print(f"accepted {rate:.0%}")
    for k, (name, truth) in enumerate((("length", 1.3), ("damping", 0.3))):
        print(f"{name:8s} {kept[:, k].mean():.3f} ± {kept[:, k].std():.3f}   (truth {truth})")

    def draw(axes):
        axes.plot(*kept.T, ".", markersize=3, alpha=0.4, label="draws")
        axes.plot(1.3, 0.3, "*", color="tab:red", markersize=14, label="truth")
        axes.set(xlabel="length", ylabel="damping")
        axes.legend()

    save_plot("pendulum_hmc.png", draw, (5, 3.6))


if __name__ == "__main__":
    main()
