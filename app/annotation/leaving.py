"""People who leave at the questions after the grids."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Answer, Assignment
from app.annotation.sessions import complete_assignment
from app.core.sweeps import ROWS_AT_ONCE

# They may come back and answer for this long. After that their work counts as complete, and what a
# link pays for it is owed.
TIME_TO_ANSWER = timedelta(days=1)


def complete_left(session: Session) -> int:
    """Complete assignments whose grids were over long ago, and return how many."""
    lately = select(Answer.id).where(
        Answer.assignment_id == Assignment.id,
        Answer.submitted_at > datetime.now(UTC) - TIME_TO_ANSWER,
    )
    query = (
        select(Assignment)
        .where(
            Assignment.state == "open",
            Assignment.n_answered > 0,
            or_(
                Assignment.n_answered >= Assignment.target + Assignment.extra,
                Assignment.grids_over_at < datetime.now(UTC) - TIME_TO_ANSWER,
            ),
            ~lately.exists(),
        )
        .limit(ROWS_AT_ONCE)
        .with_for_update(skip_locked=True, key_share=True)
    )
    left = session.scalars(query).all()
    for assignment in left:
        complete_assignment(session, assignment)
    return len(left)
