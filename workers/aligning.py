"""Learns an alignment in a separate process, which is ended when it takes too long.

The process renews the lease itself (app/alignments/learning.py), and ends with its worker.
"""

import logging
import tempfile
import threading
from pathlib import Path
from uuid import UUID

from app.alignments.learning import claim_alignment, lose_alignment, return_alignment
from app.core.errors import LostLease
from app.core.outages import through_outages
from app.core.settings import get_settings
from workers import training_process
from workers.supervision import end, is_stopping, logged, meant, reason_of, watch

logger = logging.getLogger(__name__)


def supervise_alignment(alignment_id: UUID) -> None:
    """Claim an alignment, learn it in a child process, and record how it ended if the child did
    not."""
    epoch = claim_alignment(alignment_id)
    if epoch is None:
        return
    with tempfile.NamedTemporaryFile(prefix="likewise-alignment-") as errors:
        child = training_process.start(
            "alignment",
            alignment_id,
            epoch,
            niceness=get_settings().training_niceness,
            output=Path(errors.name),
        )
        try:
            outcome = watch(child, threading.Event())
        finally:
            returncode = end(child)
        output = logged(errors, f"alignment {alignment_id}")
    _record(alignment_id, epoch, returncode, meant(outcome, returncode), output)


def _record(alignment_id: UUID, epoch: int, returncode: int, outcome: str, output: str) -> None:
    if outcome == "ended" and returncode == 0:
        return
    reason = reason_of("alignment", outcome, returncode, output)

    def store() -> None:
        if outcome == "stopping":
            return_alignment(alignment_id, epoch)
        else:
            lose_alignment(alignment_id, epoch, reason)

    try:
        through_outages(f"alignment {alignment_id}: recording its end", store, give_up=is_stopping)
    except LostLease as error:
        # The child recorded its own end, it was deleted, or another worker took it over.
        logger.info("%s", error)
