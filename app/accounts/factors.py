"""The second factor: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for people
who have lost it."""

import base64
import secrets
import time
from datetime import UTC, datetime

import pyotp
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account, RecoveryCode
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, LikewiseError
from app.core.security import decrypt, encrypt, hash_token, is_encrypted_with_newest_key
from app.core.settings import get_settings

ISSUER = "Likewise"
PURPOSE = "totp"
STEP_SECONDS = 30
# Phone clocks are not exact, so the previous and the next code are valid, too.
STEPS_OFF = 1
N_RECOVERY_CODES = 10
RECOVERY_BYTES = 20
GROUP = 8
# Number of digits of an app's code. Longer input is a recovery code, including those of earlier
# lengths.
APP_DIGITS = 6


class BadCode(LikewiseError):
    """The code is wrong, expired, or has already been used."""

    code = "bad_code"
    status = 403


class SecondFactorRequired(LikewiseError):
    """This server requires a second factor, and the account has none."""

    code = "second_factor_required"
    status = 403


def begin(session: Session, account: Account) -> str:
    """Create a new seed, which becomes active once one of its codes is entered (`finish`). Base32,
    shown only once.

    Raises Conflict if there is already a second factor.
    """
    if account.totp_since is not None:
        raise Conflict("You already have a second factor. Remove it before you set up another.")
    seed = pyotp.random_base32()
    account.totp_secret = encrypt(PURPOSE, seed.encode())
    account.totp_step = None
    session.flush()
    return seed


def address_of(account: Account, seed: str) -> str:
    """Return `otpauth://…`, which authenticator apps open."""
    return pyotp.TOTP(seed).provisioning_uri(name=account.email, issuer_name=ISSUER)


def pending_seed(account: Account) -> str | None:
    """Return the seed whose setup has started but not finished; None also for one that no key can
    decrypt, whose setup starts over."""
    if account.totp_since is not None or account.totp_secret is None:
        return None
    opened = decrypt(PURPOSE, account.totp_secret)
    return opened.decode() if opened is not None else None


def finish(session: Session, account: Account, code: str) -> list[str]:
    """Activate the second factor, and return the recovery codes, which are shown only once.

    Raises BadCode, and Conflict if no setup was started.
    """
    if pending_seed(account) is None:
        raise Conflict("Start setting up the second factor first.")
    _spend_totp(session, account, code)
    account.totp_since = datetime.now(UTC)
    return renew_recovery_codes(session, account)


def remove(session: Session, account: Account) -> None:
    """Remove the second factor."""
    account.totp_secret = account.totp_since = account.totp_step = None
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account.id))


def renew_recovery_codes(session: Session, account: Account) -> list[str]:
    """Replace all recovery codes by new ones: `ABCDEFGH-…`, 160 bits each.

    Raises Conflict if there is no second factor.
    """
    if account.totp_since is None:
        raise Conflict("You have no second factor. Set one up first.")
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account.id))
    codes = [
        base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode()
        for _ in range(N_RECOVERY_CODES)
    ]
    session.add_all(
        RecoveryCode(account_id=account.id, code_hash=hash_token(code)) for code in codes
    )
    session.flush()
    return ["-".join(code[at : at + GROUP] for at in range(0, len(code), GROUP)) for code in codes]


def n_recovery_codes(session: Session, account: Account) -> int:
    """Return how many recovery codes are left."""
    unused = (RecoveryCode.account_id == account.id, RecoveryCode.used_at.is_(None))
    return session.scalar(select(func.count()).where(*unused)) or 0


def spend_code(session: Session, account: Account, given: str) -> str:
    """Use up a code of the app or a recovery code, and return which it was: `totp` or `recovery`.

    Raises BadCode, also for a code that was used before.
    """
    plain = given.replace(" ", "").replace("-", "").upper()
    if len(plain) > APP_DIGITS:
        _spend_recovery(session, account, plain)
        return "recovery"
    _spend_totp(session, account, plain)
    return "totp"


def require_for_payers(account: Account) -> None:
    """Raise SecondFactorRequired if people who pay must have a second factor."""
    if get_settings().second_factor != "offered" and account.totp_since is None:
        raise SecondFactorRequired(
            "Recruiting and paying people requires a second factor on this server. Set one up "
            "under Account."
        )


def require_for_all(account: Account) -> None:
    """Raise SecondFactorRequired if everyone must have a second factor."""
    if get_settings().second_factor == "everybody" and account.totp_since is None:
        raise SecondFactorRequired(
            "This server requires a second factor for everyone. Set one up under Account."
        )


def _spend_recovery(session: Session, account: Account, plain: str) -> None:
    spent = session.execute(
        update(RecoveryCode)
        .where(
            RecoveryCode.account_id == account.id,
            RecoveryCode.code_hash == hash_token(plain),
            RecoveryCode.used_at.is_(None),
        )
        .values(used_at=datetime.now(UTC))
        .returning(RecoveryCode.id)
    ).scalar()
    if spent is None:
        raise BadCode("This recovery code is wrong or has already been used.")


def _spend_totp(session: Session, account: Account, given: str) -> None:
    # If two requests use one code at once, the second waits here and then finds the code used.
    locked(session, Account, account.id)
    seed = _seed(account)
    if seed is None:
        raise BadCode("You have no second factor, so there is no code to enter.")
    now = int(time.time()) // STEP_SECONDS
    code = given.replace(" ", "")
    totp = pyotp.TOTP(seed)
    for step in range(now - STEPS_OFF, now + STEPS_OFF + 1):
        unused = account.totp_step is None or step > account.totp_step
        if unused and pyotp.utils.strings_equal(totp.at(step * STEP_SECONDS), code):
            account.totp_step = step
            _encrypt_again(account, seed)
            session.flush()
            return
    raise BadCode("The code is wrong or has already been used. Wait for the next one.")


def _encrypt_again(account: Account, seed: str) -> None:
    """Encrypt again with the newest secret key, so that earlier ones can be removed eventually."""
    if account.totp_secret is None or not is_encrypted_with_newest_key(
        PURPOSE, account.totp_secret
    ):
        account.totp_secret = encrypt(PURPOSE, seed.encode())


def count_factors(session: Session) -> tuple[int, int, int]:
    """Count the second factors in use, those that the newest secret key alone cannot decrypt, and
    those that no key can."""
    query = select(Account.totp_secret).where(Account.totp_since.is_not(None))
    encrypted = [secret for secret in session.scalars(query) if secret is not None]
    old = [secret for secret in encrypted if not is_encrypted_with_newest_key(PURPOSE, secret)]
    return len(encrypted), len(old), sum(decrypt(PURPOSE, secret) is None for secret in old)


def _seed(account: Account) -> str | None:
    if account.totp_secret is None:
        return None
    opened = decrypt(PURPOSE, account.totp_secret)
    if opened is None:
        raise InvalidInput(
            "The second factor was encrypted with another LIKEWISE_SECRET_KEY. Ask an admin "
            "to remove it.",
            code="sealed_otherwise",
        )
    return opened.decode()
