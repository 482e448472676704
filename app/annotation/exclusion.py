"""Which answers are left out of learning: those of annotators who are left out, and rejected work
that is asked again."""

from sqlalchemy import ColumnElement, or_, select

from app.annotation.models import Annotator, Answer, Assignment

# A handful at most, which PostgreSQL reads once for each statement.
_REJECTED = select(Assignment.id).where(Assignment.left_out_at.is_not(None))


def is_left_out() -> ColumnElement[bool]:
    """SQL: the row of `Answer` is left out of learning. The statement must join `Annotator`."""
    return or_(Annotator.left_out_at.is_not(None), Answer.assignment_id.in_(_REJECTED))


def is_learned_from() -> ColumnElement[bool]:
    """SQL: the row of `Answer` is not left out of learning. The statement must join `Annotator`."""
    return Annotator.left_out_at.is_(None) & Answer.assignment_id.not_in(_REJECTED)
