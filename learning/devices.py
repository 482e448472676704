"""Where torch computes, and on how many cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

# Below it, threads of one fit wait for each other more than they compute.
_ANSWERS_FOR_SEVERAL_CORES = 20_000


def pick_device(device: str) -> torch.device:
    """The device of a setting: "auto" takes a GPU when there is one.

    Raises ValueError for one that is unknown or cannot compute here.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        # A GPU may be missing, and "meta" holds no numbers: only use tells.
        torch.zeros(1, device=chosen).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device must be 'auto', 'cpu' or, if available, 'cuda'; got {device!r}"
        ) from error
    return chosen


@contextmanager
def cores_for(n_answers: int) -> Iterator[None]:
    """Inside, torch and numpy compute on one core unless there are many answers.

    On a machine that does other work, too, threads that wait for each other make a fit of
    hundreds of answers several times slower; and sums of one thread repeat to the bit.
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
