"""Another secret key: what the old one signed, sealed and hashed is good still."""

import pytest
from itsdangerous import URLSafeSerializer
from typer.testing import CliRunner

from app.core import security
from app.core.settings import get_settings
from likewise.cli import cli
from likewise.environment import WeakKey, require_strong_key
from tests.conftest import forget_settings

OLD, NEW = "the-old-key-of-this-server-1234567890", "quite-another-key-0987654321-abcdefgh"


def use(monkeypatch: pytest.MonkeyPatch, key: str, *old: str) -> None:
    monkeypatch.setenv("LIKEWISE_SECRET_KEY", key)
    monkeypatch.setenv("LIKEWISE_OLD_SECRET_KEYS", " ".join(old))
    forget_settings()


def test_what_an_old_key_made_is_read_while_it_is_named(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, OLD)
    signed, timed = security.sign("p", [1]), security.encrypt_timed("p", b"x")
    sealed, address = security.encrypt("p", b"secret"), security.signature("p", "image")
    person = security.pseudonym("p", "worker")

    use(monkeypatch, NEW, "one-in-between", OLD)
    assert security.unsign("p", signed) == [1]
    assert security.decrypt_timed("p", timed, 60) == b"x"
    assert security.decrypt("p", sealed) == b"secret"
    assert security.signature_fits("p", "image", address)
    assert security.pseudonym("p", "worker") == person
    newer = (
        security.sign("p", [1]),
        security.encrypt("p", b"secret"),
        security.signature("p", "image"),
    )

    # What is written goes by the new key alone.
    use(monkeypatch, NEW)
    assert security.unsign("p", newer[0]) == [1]
    assert security.decrypt("p", newer[1]) == b"secret"
    assert security.signature_fits("p", "image", newer[2])
    assert security.unsign("p", signed) is None
    assert security.decrypt_timed("p", timed, 60) is None
    assert security.decrypt("p", sealed) is None
    assert not security.signature_fits("p", "image", address)
    assert not security.signature_fits("p", "image", "é")


def test_links_from_before_sha_256_are_good(environment: dict[str, str]) -> None:
    key = get_settings().secret_key.get_secret_value()
    before = str(URLSafeSerializer(key, salt="p").dumps([1]))
    assert len(before) < len(security.sign("p", [1]))
    assert security.unsign("p", before) == [1]
    assert security.unsign("q", before) is None


@pytest.mark.parametrize("key", ["", "short", "a" * 64, "ab" * 30, "changeme-changeme-changeme"])
def test_keys_that_could_be_guessed_start_nothing(key: str) -> None:
    with pytest.raises(WeakKey, match=r"LIKEWISE_OLD_SECRET_KEYS.*remove it as soon as"):
        require_strong_key(key)
    require_strong_key(NEW)


def test_doctor_warns_while_a_key_that_could_be_guessed_is_believed(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def key_line() -> str:
        lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
        return next(line for line in lines if "secret key" in line)

    use(monkeypatch, NEW, OLD)
    assert key_line().startswith("ok ")
    use(monkeypatch, NEW, OLD, "guess-me")
    assert key_line().startswith("WARN  secret key   1 of LIKEWISE_OLD_SECRET_KEYS can be guessed")
