"""What is taken out of every line of a log, and what stays."""

import logging

import pytest

from app.core.logs import JsonFormatter, RedactingFilter, TextFormatter
from app.core.redaction import redacted


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer SECRET.secret-secret",
        "{'authorization': 'Bearer SECRETsecret'}",
        "token lw_SECRETsecretsecret was refused",
        "cannot connect to postgresql+psycopg://ada:SECRET@db:5432/likewise",
        "smtp://mail%40example.org:SECRET@mail.example.org:587",
        "POST /sign-in/SECRETsecretsecret",
        "GET /r/SECRETsecretsecret",
        "see https://likewise.example.org/a/SECRETsecretsecret",
        "/a/mturk/SECRETsecretsecret?workerId=A1",
        "GET https://x.example.org/page?next=SECRET&more=SECRET HTTP/1.1",
        "form had workerId=SECRET&assignmentId=SECRET",
        '{"PROLIFIC_PID": "SECRET", "study_id": "SECRET"}',
        "Cookie: a=SECRET; b=SECRET",
        "Set-Cookie: likewise_session=SECRET; HttpOnly",
        "password=SECRET",
    ],
)
def test_secrets_go(text: str) -> None:
    assert "SECRET" in text
    assert "SECRET" not in redacted(text)


def test_ids_of_people_go_by_how_they_look() -> None:
    assert redacted("refused A2VXYZ0123456: 60aca280709ee40ec37d4885") == (
        "refused [redacted]: [redacted]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "job 01a20337-35a2-77b0-b173-92e7a5c912cf: attempt 1, epoch 2",
        "GET /a/{link} 200 12.5 ms",
        "GET /sign-in/{token} 403 1 ms",
        "Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
        "nothing published: The lease of job 7 under epoch 3 has ended.",
        "models/01a20337/model/weights.safetensors",
        f"sha256 {'0a' * 32}",
        "AUTHENTICATION failed",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert redacted(text) == text


def test_arguments_and_errors_are_redacted_too() -> None:
    try:
        raise ValueError("redis://:SECRET@host")
    except ValueError as error:
        given = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", 30, "x.py", 1, "at %s", ("/page?SECRET",), given)
    assert RedactingFilter().filter(record)
    for formatter in (TextFormatter(), JsonFormatter("web")):
        line = formatter.format(record)
        assert "SECRET" not in line
        assert "at /page?[redacted]" in line
        assert "Traceback" in line
    assert "\n" not in JsonFormatter("web").format(record)


FORGERIES = ("a\nERROR forged", "a\r\nERROR forged", "a\x85ERROR\u2028forged", "a\x1b[2K\rERROR x")


@pytest.mark.parametrize("text", FORGERIES)
@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter("web")])
def test_nobody_forges_an_entry(formatter: logging.Formatter, text: str) -> None:
    record = logging.LogRecord("x", 30, "x.py", 1, "%s", (text,), None)
    assert RedactingFilter().filter(record)
    line = formatter.format(record)
    assert "forged" in line or "ERROR x" in line
    assert not {"\n", "\r", "\x1b"} & set(line)


def test_nobody_forges_an_entry_by_an_error() -> None:
    try:
        raise ValueError("no such name: a\nERROR likewise: forged")
    except ValueError as error:
        given = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", 40, "x.py", 1, "failed", (), given)
    assert RedactingFilter().filter(record)
    first, *lines = TextFormatter().format(record).split("\n")
    assert first == "ERROR x: failed"
    assert "  ERROR likewise: forged" in lines
    assert all(line.startswith("  ") for line in lines)
