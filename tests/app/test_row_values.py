"""The rows that PostgreSQL quotes in its errors reach no log, in either format, by no way."""

import logging
import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.accounts.models import Account
from app.core.database import transaction
from app.core.logs import JsonFormatter, RedactingFilter
from app.core.redaction import redacted
from app.core.settings import get_settings
from testbed.builders import an_account
from testbed.servers import ROOT, Servers

PERSON = "somebody@example.org"
pytestmark = pytest.mark.usefixtures("environment")


def a_second_row_with_the_same_key() -> None:
    an_account(PERSON)
    with transaction() as session:
        session.add(Account(email=PERSON))


def a_row_that_a_check_refuses() -> None:
    with transaction() as session:
        session.execute(text("CREATE TABLE odd (who text, n integer CHECK (n > 0));"))
        session.execute(
            text("INSERT INTO odd VALUES (:who, 0)"),
            {"who": f"two\nlines and [SQL and {PERSON}\nTraceback of {PERSON}"},
        )


WAYS = (a_second_row_with_the_same_key, a_row_that_a_check_refuses)


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_the_database_says_what_and_not_which_row(way: Callable[[], None]) -> None:
    with pytest.raises(DBAPIError) as raised:
        way()
    shown = logging.Formatter().formatException(
        (raised.type, raised.value, raised.value.__traceback__)
    )
    assert "violates" in shown
    assert "psycopg.errors" in shown
    for message in (shown, str(raised.value), str(raised.value.orig)):
        assert PERSON not in message
        assert "DETAIL" not in message


def an_error_of_psycopg() -> psycopg.Error:
    """Of a connection that is not SQLAlchemy's; its text has all that PostgreSQL said."""
    address = get_settings().database_url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE odd (who text, n integer CHECK (n > 0))")
        with pytest.raises(psycopg.Error) as raised:
            connection.execute("INSERT INTO odd VALUES (%s, 0)", (f"first line\n{PERSON}",))
    return raised.value


@pytest.mark.parametrize("formatter", [logging.Formatter("%(message)s"), JsonFormatter("web")])
def test_what_comes_past_sqlalchemy_is_taken_out_of_lines_and_tracebacks(
    formatter: logging.Formatter,
) -> None:
    error = an_error_of_psycopg()
    assert PERSON in str(error)
    given = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", 30, "x.py", 1, "not stored: %s", (error,), given)
    assert RedactingFilter().filter(record)
    line = formatter.format(record)
    assert PERSON not in line
    assert line.count("DETAIL: [redacted]") == 2
    assert "violates check constraint" in line


def test_only_what_the_database_quotes_goes() -> None:
    shown = (
        "Traceback (most recent call last):\n  File x\n"
        "psycopg.errors.CheckViolation: refused\n"
        "DETAIL:  Failing row contains (SECRET, \nSECRET).\n"
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "sqlalchemy.exc.IntegrityError: (psycopg) refused\nDETAIL:  Key (a)=(SECRET) exists.\n"
        "CONTEXT:  unnamed portal parameter $1 = 'SECRET'\n[SQL: INSERT INTO x VALUES (%s)]\n"
    )
    output = redacted(shown)
    assert "SECRET" not in output
    for part in ("refused", "The above exception", "IntegrityError", "[SQL: INSERT INTO x"):
        assert part in output
    assert redacted("in DETAIL: nothing goes") == "in DETAIL: nothing goes"


CRASH = """
import threading
from app.core.logs import begin_log, log_the_uncaught
begin_log("worker"); log_the_uncaught()
def fail():
    raise ValueError("refused\\nDETAIL:  Key (email)=({person}) exists.")
thread = threading.Thread(target=fail); thread.start(); thread.join()
fail()
"""


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_what_ends_a_thread_or_a_process_is_redacted_too(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, log_format: str
) -> None:
    monkeypatch.setenv("LIKEWISE_LOG_FORMAT", log_format)
    done = subprocess.run(
        [sys.executable, "-c", CRASH.replace("{person}", PERSON)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert PERSON not in done.stderr
    assert done.stderr.count("uncaught error") == 2
    assert done.stderr.count("DETAIL: [redacted]") == 2


def test_the_embedded_servers_own_log_has_no_rows(servers: Servers) -> None:
    an_error_of_psycopg()
    with psycopg.connect(servers.postgres.uri) as connection:
        assert connection.execute("SHOW log_error_verbosity").fetchone() == ("terse",)
    written = servers.postgres.folder.joinpath("log").read_text(errors="replace")
    assert 'violates check constraint "odd_n_check"' in written
    assert PERSON not in written
