"""A worker's part of an alignment: it learns the map, judges it by held-out grids, and stores it.

It runs in a process of its own (workers/aligning.py), which is ended when it takes too long. The
row's lease is renewed by a thread, because one fit may take longer than a lease.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.exc import DBAPIError, NoResultFound
from sqlalchemy.orm import Session

from app.alignments.figures import figures_of, references_of
from app.alignments.inputs import (
    AlignmentInputs,
    answer_attributes,
    campaign_model,
    column_attributes,
    embedding_errors,
    read_inputs,
)
from app.alignments.models import Alignment
from app.alignments.service import dispatch
from app.alignments.stored import PlacedImages, StoredAlignment, prefix_of_alignment, store
from app.collections.garbage import discard_below
from app.core import leased
from app.core.database import transaction
from app.core.errors import LikewiseError, LostLease, NoRoom
from app.core.settings import get_settings
from app.core.storage import delete_below
from app.features.models import OF_TABLE, UPLOADED, FeatureSet
from app.features.sets import ACTIVE
from app.features.stored_rows import reduced_rows

if TYPE_CHECKING:
    from learning.feature_alignment import FeatureAlignment

logger = logging.getLogger(__name__)
NO_ROOM_YET = (
    "The server's disk is full. The alignment continues on its own once the administrator has "
    "freed some space."
)
# Shares of the progress bar.
_READ, _FITTED = 0.05, 0.4
_HEARD_SECONDS = 1.0
_ROWS_AT_ONCE = 4_096
# Splits into learned and held-out grids that figures are the mean of.
N_REPEATS = 2
Report = Callable[[float], None]


def claim_alignment(alignment_id: UUID) -> int | None:
    """Claim an alignment and return its epoch; None if it is not available, or its features are
    still being computed."""
    with transaction() as session:
        claimed = leased.claim(session, Alignment, alignment_id, progress=0.0)
        if claimed is None:
            logger.info("alignment %s is not available, nothing to do", alignment_id)
            return None
        if _is_waiting(session, claimed):
            # It is sent again when this message counts as lost.
            leased.give_back(claimed)
            return None
        return claimed.epoch


def learn_alignment(alignment_id: UUID, epoch: int) -> None:
    """Learn a claimed alignment, or record why that is not possible."""
    try:
        with _lease_renewed(alignment_id, epoch) as report:
            _learn(alignment_id, epoch, report)
    except (LostLease, NoResultFound) as error:
        # It was taken over or deleted, so nothing more is written.
        logger.info("alignment %s: %s", alignment_id, error)
    except NoRoom as error:
        # Do not wait here, because this worker also removes what is deleted to make room.
        logger.warning("alignment %s is postponed: %s", alignment_id, error)
        with transaction() as session:
            alignment = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
            leased.give_back(alignment)
            alignment.error = NO_ROOM_YET
    except (LikewiseError, ValueError) as error:
        # Trying again would not help.
        with transaction() as session:
            alignment = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
            leased.end(alignment, "failed")
            alignment.error = _sentence(str(error))
    except Exception as error:
        logger.exception("alignment %s failed", alignment_id)
        lose_alignment(alignment_id, epoch, f"{type(error).__name__}: {error}")


def return_alignment(alignment_id: UUID, epoch: int) -> None:
    """Queue a claimed alignment as if it had not been claimed. Raises LostLease."""
    with transaction() as session:
        alignment = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
        leased.give_back(alignment)
        dispatch(session, alignment)


def lose_alignment(alignment_id: UUID, epoch: int, reason: str) -> None:
    """Queue a claimed alignment again if attempts are left. Raises LostLease."""
    with transaction() as session:
        alignment = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
        _queue_again(session, alignment, reason)


def _is_waiting(session: Session, alignment: Alignment) -> bool:
    feature_set = session.get_one(FeatureSet, alignment.set_id)
    computed = feature_set.kind not in (UPLOADED, OF_TABLE)
    return computed and feature_set.state in ACTIVE


@contextmanager
def _lease_renewed(alignment_id: UUID, epoch: int) -> Iterator[Report]:
    """Renew the lease in the background. Yields a function that stores progress, and raises
    LostLease when another worker took over."""
    ended, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not ended.wait(get_settings().job_lease_seconds / 4):
            try:
                with transaction() as session:
                    held = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
                    held.lease_until = leased.lease_end()
            except LostLease:
                lost.set()
                return
            except DBAPIError:
                # Without the database nobody else can take over either.
                logger.warning("alignment %s: lease not renewed", alignment_id, exc_info=True)

    def report(done: float) -> None:
        if lost.is_set():
            raise leased.lost_lease(Alignment, alignment_id, epoch)
        with transaction() as session:
            held = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
            held.progress, held.lease_until = done, leased.lease_end()

    thread = threading.Thread(target=renew, name="alignment lease", daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()


def _learn(alignment_id: UUID, epoch: int, report: Report) -> None:
    from learning.feature_alignment import FeatureAlignment, judge

    with transaction() as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        alignment = leased.require_held(session, Alignment, alignment_id, epoch)
        feature_set = session.get_one(FeatureSet, alignment.set_id)
        _require_computed(feature_set)
        given = read_inputs(session, alignment, feature_set)
    report(0.0)
    values, known, reduction = reduced_rows(given.rows)
    report(_READ)
    n, name = given.campaign.n_images, feature_set.name

    def listen(done: int, total: int, _: Mapping[str, float]) -> None:
        report(_READ + (_FITTED - _READ) * done / total)

    errors = embedding_errors(given)
    heard = _heard(report)
    model = FeatureAlignment(given.campaign.seed).fit(
        values[:n],
        given.answers,
        known[:n],
        embedding=given.embedding,
        embedding_error=errors,
        attribute=column_attributes(given),
        progress=listen,
    )
    judgement = judge(
        {name: values[:n]},
        given.answers,
        {name: known[:n]},
        attribute=answer_attributes(given),
        campaign=campaign_model(given, heard) if given.references is None else None,
        n_repeats=N_REPEATS,
        random_state=given.campaign.seed,
        progress=lambda *_: heard(),
    )
    references = given.references or references_of(judgement, given.references_key)
    about = {
        "features": name,
        "n_features": given.rows.n_features,
        "version": feature_set.version,
        "model_version": given.model.version,
    }
    images = _placed_images(given, model, values, known, errors)
    stored = StoredAlignment(model, reduction, about, images)
    figures = figures_of(model, judgement, name, given.attributes, references)
    report(1.0)
    prefix = prefix_of_alignment(alignment, feature_set)
    with _removed_if_lost(prefix):
        sha256 = store(prefix, stored)
        with transaction() as session:
            held = leased.require_held(session, Alignment, alignment_id, epoch, lock=True)
            if held.key:
                discard_below(session, held.key)
            held.key, held.sha256, held.figures, held.used = prefix, sha256, figures, model.used_
            held.model_version, held.n_answers = given.model.version, len(given.answers)
            held.n_images = int(known[:n].sum())
            leased.end(held, "done")


@contextmanager
def _removed_if_lost(prefix: str) -> Iterator[None]:
    """Remove the objects of this attempt if no row will name them."""
    try:
        yield
    except (LostLease, NoRoom):
        delete_below(prefix)
        raise


def _heard(report: Report) -> Callable[[], None]:
    """Return a function for loops, which reports now and then that the work goes on."""
    last = time.monotonic()

    def heard() -> None:
        nonlocal last
        if time.monotonic() - last >= _HEARD_SECONDS:
            last = time.monotonic()
            report(_FITTED)

    return heard


def _require_computed(feature_set: FeatureSet) -> None:
    if feature_set.state == "failed":
        raise LikewiseError(
            f"The features {feature_set.name!r} could not be computed: {feature_set.error} "
            "Compute them again on the page of the collection, then align them again."
        )


def _placed_images(
    given: AlignmentInputs,
    model: "FeatureAlignment",
    values: NDArray[np.float32],
    known: NDArray[np.bool_],
    errors: NDArray[np.float64] | None,
) -> PlacedImages:
    """Images that answers are about are where the campaign's model has them; the others where the
    features place them, and if these are not used, nowhere."""
    from learning.feature_alignment.model import in_grids

    n, total = given.campaign.n_images, len(known)
    asked = np.zeros(total, np.bool_)
    asked[:n] = in_grids(given.answers)
    placed = known & ~asked & model.used_
    positions = np.zeros((total, given.embedding.shape[1]))
    deviations = np.zeros(positions.shape, np.float32)
    positions[:n][asked[:n]] = given.embedding[asked[:n]]
    if errors is not None:
        deviations[:n][asked[:n]] = errors[asked[:n]]
    for some in _in_parts(placed):
        there = model.places(values[some])
        positions[some], deviations[some] = there.positions, there.deviations
    metric = np.full((total, model.n_metric), np.nan, np.float32)
    for some in _in_parts(known):
        metric[some] = model.metric_places(values[some])
    rows = np.flatnonzero(asked | placed)
    hashes = np.frombuffer(bytes.fromhex("".join(given.rows.hashes)), np.uint8).reshape(-1, 32)
    design = np.column_stack([given.embedding, np.ones(n)])
    to_map = np.asarray(np.linalg.lstsq(design, given.map_positions, rcond=None)[0], np.float64)
    return PlacedImages(
        rows, hashes[rows], positions[rows], deviations[rows], asked[rows], metric[rows], to_map
    )


def _in_parts(chosen: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield the chosen rows, a few at a time, because a copy of all features may be large."""
    rows = np.flatnonzero(chosen)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        yield rows[start : start + _ROWS_AT_ONCE]


def requeue_lost_alignments(session: Session) -> int:
    """Queue alignments again that have lost their worker or message, and return how many."""
    return leased.requeue_lost(session, Alignment, _lose_worker, dispatch)


def _lose_worker(session: Session, alignment: Alignment) -> None:
    reason = f"The worker stopped {alignment.attempts} times while it aligned these features."
    _queue_again(session, alignment, reason)


def _queue_again(session: Session, alignment: Alignment, error: str) -> None:
    if not leased.queue_again(session, alignment, dispatch):
        alignment.error = error[-2000:]


def _sentence(message: str) -> str:
    text = message[-2000:].strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
