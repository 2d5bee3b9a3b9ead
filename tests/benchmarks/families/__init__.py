"""Twenty-two programs in six families, each with its derivative by hand: `WORKLOADS`.

`TAPE_STEPS` are steps of training; one of them is among the workloads.
"""

from tests.benchmarks.families import elementwise, gathers, higher_order, latency, matrices, scalar_loops
from tests.benchmarks.families.tape_steps import TAPE_STEPS
from tests.benchmarks.families.workload import Task, Workload, by_hand, by_tapec

__all__ = ["TAPE_STEPS", "WORKLOADS", "Task", "Workload", "by_hand", "by_tapec"]

WORKLOADS: tuple[Workload, ...] = (
    *latency.WORKLOADS,
    *scalar_loops.WORKLOADS,
    *elementwise.WORKLOADS,
    *matrices.WORKLOADS,
    *higher_order.WORKLOADS,
    *gathers.WORKLOADS,
)
