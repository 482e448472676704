"""Export of the votes on each image, by name.

Columns are those of docs/exports.md, in its order; new ones come last.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Select, all_, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_learned_from
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid, Round
from app.core.cells import cell, csv_line
from app.core.copying import in_pieces
from app.core.spreadsheets import neutral
from app.kinds import kind_of
from app.results.answers import MOMENT, filenames

VOTE_COLUMNS = ("image", "filename", "annotator", "round", "submitted_at", "vote")


def votes_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per image and annotator, with the annotator's last vote by name; only the
    header for kinds in which people don't vote."""
    yield from in_pieces(_lines(session, campaign))


def _lines(session: Session, campaign: Campaign) -> Iterator[bytes]:
    kind = kind_of(campaign)
    names = {image: cell(name) for image, name in filenames(session, campaign).items()}
    words = [cell(word) for word in kind.group_names]
    n_several = len(kind.choices) if len(kind.group_names) > len(kind.choices) else 0
    each = [f"is {name}" for name in kind.choices[:n_several]]
    yield csv_line([*VOTE_COLUMNS, *map(neutral, each)]).encode()
    if kind.form != "votes":
        return
    rows = session.execute(_last_votes(campaign).execution_options(yield_per=5_000))
    for image, annotator, number, at, group in rows:
        bits = "".join(f",{group >> k & 1}" for k in range(n_several))
        word = words[group] if group < len(words) else ""
        line = f"{image},{names[image]},{annotator},{number},{at},{word}{bits}\n"
        yield line.encode()


def _last_votes(campaign: Campaign) -> Select[Any]:
    """Select the votes that models learn from: the last vote of each annotator on each image that
    they could see, without annotators who are left out."""
    pairs = func.unnest(Grid.images, Answer.groups).table_valued("image", "placed")
    voted = pairs.render_derived(name="voted")
    at = func.to_char(func.timezone("UTC", Answer.submitted_at), MOMENT)
    return (
        select(voted.c.image, Annotator.position, Round.number, at, voted.c.placed)
        .ext(distinct_on(voted.c.image, Annotator.position))
        .select_from(Grid)
        .join(Answer, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .join(Round, Grid.round_id == Round.id)
        .join(voted, literal(True))
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state.in_(FINISHED),
            is_learned_from(),
            voted.c.placed >= 0,
            voted.c.image != all_(Answer.unseen),
        )
        .order_by(voted.c.image, Annotator.position, Answer.submitted_at.desc(), Answer.id.desc())
    )
