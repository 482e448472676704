"""Why a training process ended, as its last words tell it."""

import subprocess
import sys

import pytest

from workers.supervision import last_error

NO_DATABASE = (
    "from sqlalchemy import create_engine\n"
    "create_engine('postgresql+psycopg://nobody@127.0.0.1:1/none').connect()"
)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise ValueError('no answers')", "ValueError: no answers"),
        ("raise MemoryError", "MemoryError"),
        (NO_DATABASE, "sqlalchemy.exc.OperationalError: (psycopg.OperationalError) connection"),
        ("raise SystemExit('just so')", "just so"),
    ],
)
def test_the_line_that_names_the_error_is_the_reason(program: str, says: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert last_error(ended.stderr.strip()).startswith(says)


def test_who_said_nothing_has_no_reason() -> None:
    assert last_error("") == "no message"
