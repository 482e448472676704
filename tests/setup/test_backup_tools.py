"""Which pg_dump is taken, and what it is called with."""

import subprocess
from pathlib import Path

import pytest

from likewise.backups import tools


def test_the_oldest_tool_that_will_do_is_taken() -> None:
    for wanted in (14, 16, 18):
        path, major = tools.find_tool("pg_dump", wanted)
        assert major >= wanted
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        assert f"(PostgreSQL) {major}." in version.stdout
    with pytest.raises(tools.NoTool, match="PostgreSQL 99 or newer"):
        tools.find_tool("pg_dump", 99)


def test_no_password_is_in_the_arguments_of_a_program() -> None:
    command, environment = tools._command(
        Path("pg_dump"), "postgresql+psycopg://ada:secret@host:5433/likewise", ["--format=custom"]
    )
    assert "secret" not in " ".join(command)
    assert environment["PGPASSWORD"] == "secret"
    assert "host=host" in command[-1]
