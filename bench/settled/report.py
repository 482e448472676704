"""The report on what is said of settled neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.harness.tables import table
from bench.settled.coverage import LEVEL, Outcome
from bench.settled.stops import LOOKS, PER_ROUND, TARGET, NoiseLook, Stop

ABOUT = f"""# Settled neighbours

`python -m bench.settled`: what `learning.split_half` says of the nearest neighbours of a model,
from models of two halves of its answers. Strategies learn as campaigns do, cold.

## Intervals

From one half of a crowd's answers: how many of each image's nearest neighbours as many other
answers would keep. What is true is what the model of the other half keeps. *Total*: share of the
campaigns whose share of kept neighbours is in its interval, which states {LEVEL:.0%}; *below*:
whose share is below it. *Images*: share of the images whose number of kept neighbours is in its
interval. *Miss*: mean of the true share minus the expected one. The constants of
`learning.neighbor_growth` were fitted to the simulated crowds marked *chosen* (and to a spectral
model of those crowds). The results of CrowdSter on the real crowds had been seen by then: an
earlier version was too narrow there near chance, and its sampling error was mended, so that this
row is no judgement by unseen data.
Campaigns of one real crowd share answers. For CEN
and SCDC, either half says something of the other, so that two campaigns are of one crowd.

{{intervals}}

## Campaigns that end themselves

{LOOKS} rounds of {PER_ROUND} grids; after each round two looks with fresh halves, each with one
split. A campaign ends itself when both say that at least {TARGET:.0%} is settled. *Settled*: of
those that ended themselves, how many share at least that with the model of a campaign of as many
other answers, with grids of its own; *share*: how much on average. *Saved*: mean share of the
budget, over all campaigns.

{{stops}}

## Noise

Answers that put images together at random, {LOOKS * PER_ROUND // 2} of them, at a target of one
and a half times chance. The features of SCDC have clusters, which both halves see. *Agree*:
largest share that is said to be settled; *AUC*: of predictions of one half by the other, the
largest.

{{noise}}
"""


def report(
    outcomes: Mapping[tuple[str, str], Sequence[Outcome]],
    stops: Mapping[str, Sequence[Stop]],
    noise: Mapping[str, Sequence[NoiseLook]],
) -> str:
    """outcomes: by strategy and crowds; stops and noise: by strategy."""
    parts = {
        "intervals": table(
            ["strategy", "crowds", "campaigns", "total", "below", "images", "miss", "true share"],
            [[*names, *_coverage(rows)] for names, rows in outcomes.items() if rows],
        ),
        "stops": table(
            ["strategy", "campaigns", "ended themselves", "settled", "share", "saved"],
            [[name, *_stopped(rows)] for name, rows in stops.items() if rows],
        ),
        "noise": table(
            ["strategy", "campaigns", "ended themselves", "agree", "AUC"],
            [[name, *_noise(rows)] for name, rows in noise.items() if rows],
        ),
    }
    return ABOUT.format(**{name: "\n".join(lines) for name, lines in parts.items()})


def _coverage(rows: Sequence[Outcome]) -> list[str]:
    shares = [row.share for row in rows]
    low = [row.look.settled_interval(LEVEL)[0] for row in rows]
    return [
        str(len(rows)),
        f"{np.mean([row.total_is_inside for row in rows]):.0%}",
        f"{np.mean(np.less(shares, low)):.0%}",
        f"{np.mean([row.counts_inside for row in rows]):.0%}",
        f"{np.mean([row.share - row.look.settled for row in rows]):+.3f}",
        f"{min(shares):.2f}–{max(shares):.2f}",
    ]


def _stopped(rows: Sequence[Stop]) -> list[str]:
    ended = [row for row in rows if row.after is not None]
    if not ended:
        return [str(len(rows)), "0", "", "", "0%"]
    return [
        str(len(rows)),
        str(len(ended)),
        str(sum(row.share >= TARGET for row in ended)),
        f"{np.mean([row.share for row in ended]):.2f}",
        f"{np.mean([row.saved for row in rows]):.0%}",
    ]


def _noise(rows: Sequence[NoiseLook]) -> list[str]:
    return [
        str(len(rows)),
        str(sum(row.stops for row in rows)),
        f"{max(row.settled for row in rows):.2f}",
        f"{max(row.auc for row in rows):.2f}",
    ]
