"""This package tells what a first call does while it takes long, and writes to the loggers.

    with job("loss_grad"):                        # a first call; jobs inside are part of it
        at("pass", 12_000, "cse", 3, 20)          # what it does now: shown once the job has taken a second

Comes in: what is done, and how far it is.  Goes out: a line on the terminal's standard error, a bar of tqdm, or a
notebook's display, which go away when the job is done; nothing anywhere else. And records of `logging`.
Must not be imported here: anything of tapec but `config`.
"""

from tapec.progress.first_calls import at, counting, job
from tapec.progress.loggers import logger

__all__ = ["at", "counting", "job", "logger"]
