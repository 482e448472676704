"""What is measured: the parts of the benchmark by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

N_IMAGES, SHOWN = 300, 20


@dataclass(frozen=True)
class Part:
    """A crowd, what it works on, and what else goes on.

    pace: seconds from grid to grid, 0 without a pause
    learn_every: answers from training to training, 0 for none
    servers: web servers over which the crowd is spread
    campaigns: the crowd works for all of them in turn; answers: those that each has before
    """

    title: str
    people: int
    pace: float = 0.0
    learn_every: int = 0
    images: bool = False
    servers: int = 1
    campaigns: int = 1
    answers: int = 0


CROWDS = {
    "ten": Part("10 people without a pause", 10),
    "fifty": Part("50 people without a pause", 50),
    "learning": Part("20 people without a pause, learning", 20, learn_every=200),
    "images": Part("10 people without a pause, with images", 10, images=True),
    "class": Part("500 people, 10 s a grid, learning", 500, pace=10.0, learn_every=500),
}
PROCESSES = {
    f"{name}-{n}": replace(CROWDS[name], servers=n) for name in ("ten", "fifty") for n in (1, 2, 4)
}
ANSWERS = {
    f"answers-{n}": Part(f"{n:,} answers", 10, answers=n)
    for n in (1_000, 10_000, 100_000, 1_000_000)
}
CAMPAIGNS = {
    f"campaigns-{n}": Part(f"{n} campaigns of 2,000 answers", 10, campaigns=n, answers=2_000)
    for n in (1, 20, 200)
}
PARTS = {**CROWDS, **PROCESSES, **ANSWERS, **CAMPAIGNS}
# Names for several parts at once.
GROUPS = {
    "crowds": [*CROWDS],
    "processes": [*PROCESSES],
    "size": [*ANSWERS, *CAMPAIGNS],
}
