"""Table of reports from browsers."""

from datetime import datetime

from sqlalchemy import BigInteger, String, func
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base


class CspViolation(Base):
    """Content that browsers blocked because of our Content-Security-Policy, counted.

    directive: the violated directive, one of the known ones or `other`.
    blocked: an origin, or a word such as `inline`; never a path or a query.
    page: the template of its route.
    """

    __tablename__ = "csp_violation"

    directive: Mapped[str] = mapped_column(String(40), primary_key=True)
    blocked: Mapped[str] = mapped_column(String(200), primary_key=True)
    page: Mapped[str] = mapped_column(String(200), primary_key=True)
    n: Mapped[int] = mapped_column(BigInteger)
    first_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)
