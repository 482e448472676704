"""The device and number of cores that torch uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

# Below this, threads of one fit wait for each other more than they compute.
_ANSWERS_FOR_SEVERAL_CORES = 20_000


def pick_device(device: str) -> torch.device:
    """The device for a setting; "auto" uses a GPU if there is one.

    Raises ValueError for a device that is unknown or not available.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        # A GPU may be missing, and "meta" stores no numbers; only a test computation shows it.
        torch.zeros(1, device=chosen).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device must be 'auto', 'cpu' or, if available, 'cuda'; got {device!r}"
        ) from error
    return chosen


@contextmanager
def cores_for(n_answers: int) -> Iterator[None]:
    """Let torch and numpy use one core during the block, unless there are many answers.

    On a machine with other work, threads that wait for each other make a fit of hundreds of
    answers several times slower. The sums of one thread are also exactly repeatable.
    """
    if n_answers >= _ANSWERS_FOR_SEVERAL_CORES:
        yield
        return
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(usual)
