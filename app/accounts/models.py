"""Tables of accounts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    LargeBinary,
    String,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified

# The role of an `Account` object that stands for a visitor with a read-only link; never stored.
VISITOR = "visitor"


class Account(Identified, Base):
    """A requester, or an admin, who is a requester who also manages accounts."""

    __tablename__ = "account"
    __table_args__ = (CheckConstraint("role IN ('requester', 'admin')", name="role"),)

    email: Mapped[str] = mapped_column(String(320), unique=True)
    role: Mapped[str] = mapped_column(String(20), default="requester")
    # The Argon2id hash with its parameters; null until a password is chosen.
    password_hash: Mapped[str | None] = mapped_column(String(200))
    disabled_at: Mapped[datetime | None]
    # The second factor: its encrypted seed; the time since it is required (null during setup); the
    # last 30-second interval whose code was used, so that no code is used twice.
    totp_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    totp_since: Mapped[datetime | None]
    totp_step: Mapped[int | None] = mapped_column(BigInteger)


class SignInLink(Identified, Base):
    """A one-time link; only the token's hash is stored."""

    __tablename__ = "sign_in_link"

    account_id: Mapped[UUID] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class BrowserSession(Identified, Base):
    """A signed-in browser; only the cookie's hash is stored.

    by_link: signed in by a one-time link, so a new password can be set without the old one.
    seen_at: time of the last request, kept to the minute.
    confirmed_at: when the person last confirmed their identity.
    awaits_code: the password was right, and the second factor's code is still missing.
    browser: kind of browser and system, to distinguish sessions.
    """

    __tablename__ = "browser_session"

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    expires_at: Mapped[datetime]
    by_link: Mapped[bool] = mapped_column(default=False, server_default="false")
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    confirmed_at: Mapped[datetime] = mapped_column(server_default=func.now())
    awaits_code: Mapped[bool] = mapped_column(default=False, server_default="false")
    browser: Mapped[str] = mapped_column(String(100), default="", server_default="")


class RecoveryCode(Identified, Base):
    """Replaces a code once, for someone who has lost the device. Only the hash is stored; a code
    has at least 120 bits, so no salt is needed."""

    __tablename__ = "recovery_code"

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    used_at: Mapped[datetime | None]


class ApiToken(Identified, Base):
    """A personal token for programs. Only its hash is stored, and its first letters to identify it.

    scope: `read` (GET only) or `write` (everything the account can do, except managing accounts).
    """

    __tablename__ = "api_token"
    __table_args__ = (CheckConstraint("scope IN ('read', 'write')", name="scope"),)

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(100))
    scope: Mapped[str] = mapped_column(String(10))
    prefix: Mapped[str] = mapped_column(String(12))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    last_used_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class AuditEvent(Base):
    """Who did what to which object; append-only."""

    __tablename__ = "audit_event"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.now())
    account_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("account.id", ondelete="SET NULL"), index=True
    )
    action: Mapped[str] = mapped_column(String(100))
    subject_type: Mapped[str] = mapped_column(String(50))
    subject_id: Mapped[UUID | None] = mapped_column(index=True)
    details: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
