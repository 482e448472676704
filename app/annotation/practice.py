"""Practice grids: grids with known answers and feedback, before the first grid that counts."""

from sqlalchemy.orm import Session

from app.annotation import hooks
from app.annotation.answers import BadGroups, UnknownImages
from app.annotation.sessions import AnnotatorSession, practice_number, stage
from app.campaigns.known import practice_grid
from app.campaigns.models import Grid
from app.core.errors import Conflict, NotFound
from app.kinds import kind_of


def current_practice(session: Session, who: AnnotatorSession) -> tuple[int, Grid, int]:
    """Return the number, the grid and the earlier tries of the annotator's practice grid. Raises
    Conflict."""
    if stage(session, who) != "practice":
        raise Conflict("There are no practice grids to do.", code="no_practice")
    number = practice_number(who)
    grid = practice_grid(session, who.campaign, number)
    if grid is None:
        raise NotFound("This campaign has no more known answers for practice.")
    return number, grid, len(_tries(who, number))


def _tries(who: AnnotatorSession, number: int) -> list[float]:
    done = who.annotator.practice
    return done[number] if number < len(done) else []


def try_practice(
    session: Session,
    who: AnnotatorSession,
    images: list[int],
    groups: list[int],
    page_state: tuple[int, int] | None = None,
) -> tuple[float, list[int]]:
    """Return the agreement with the known answer, and the known group of each image in the order
    sent.

    `page_state` is the number of the grid and its earlier tries as the page knows them. A try that
    is sent again because its response was lost is not counted again. Raises Conflict,
    UnknownImages, BadGroups.
    """
    session.refresh(who.annotator, with_for_update={"key_share": True})
    if page_state is not None and page_state[1] < len(_tries(who, page_state[0])):
        grid = practice_grid(session, who.campaign, page_state[0])
        if grid is None:
            raise Conflict("There are no practice grids to do.", code="no_practice")
        return _compared(who, grid, images, groups)
    number, grid, _ = current_practice(session, who)
    value, truth = _compared(who, grid, images, groups)
    tries = [*who.annotator.practice]
    tries[number : number + 1] = [[*_tries(who, number), round(value, 4)]]
    who.annotator.practice = tries
    hooks.practice_tried(session, who)
    return value, truth


def _compared(
    who: AnnotatorSession, grid: Grid, images: list[int], groups: list[int]
) -> tuple[float, list[int]]:
    if sorted(images) != sorted(grid.images):
        raise UnknownImages("The answer must name each image of this grid exactly once.")
    if len(groups) != len(images):
        raise BadGroups(
            f"The answer has {len(images)} images and {len(groups)} groups. It needs one group "
            "for each image."
        )
    known = dict(zip(grid.images, grid.truth or [], strict=True))
    truth = [known[image] for image in images]
    agreement = kind_of(who.campaign).agreement(truth, groups)
    return (0.0 if agreement is None else agreement.value), truth
