"""Logging: lines for people, or one JSON object per line for programs.

`LIKEWISE_LOG_FORMAT` selects the format. Every record passes through `app.core.redaction` first.
"""

import logging
import re
import sys
import threading
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

from app.core.redaction import redacted
from app.core.settings import get_settings

# The id of the request that this thread or task handles; empty elsewhere.
request_id: ContextVar[str] = ContextVar("request_id", default="")
REQUESTS = "likewise.requests"
# The additional fields of a record that are written.
FIELDS = ("method", "route", "status", "milliseconds")
# These libraries log each request to a platform with its address, which contains ids of people's
# work.
TALKATIVE = ("httpx", "httpcore", "botocore", "urllib3")
# These loggers have their own handlers, which would bypass redaction.
ACCESS = "uvicorn.access"
OF_UVICORN = ("uvicorn", "uvicorn.error", ACCESS)
# Characters that end a line somewhere, or control a terminal.
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


class RedactingFilter(logging.Filter):
    """Replaces message and error of a record by their redacted text."""

    _formatter = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = self._formatter.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redacted(record.exc_text)
        if record.stack_info:
            record.stack_info = redacted(record.stack_info)
        return True


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON: time, level, logger, process, message; request_id, error and FIELDS
    if there are any."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": self._process,
            "message": record.getMessage(),
        }
        if request_id.get():
            entry["request_id"] = request_id.get()
        entry |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_text:
            entry["error"] = record.exc_text
        return orjson.dumps(entry, default=str).decode()


class TextFormatter(logging.Formatter):
    """Formats level, logger and message on one line, with the lines of an error indented below.

    So no foreign text can start a line, and every line that looks like a log entry is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{record.levelname} {record.name}: {_on_one_line(record.getMessage())}"]
        for more in (record.exc_text, record.stack_info):
            lines += [f"  {_on_one_line(line)}" for line in (more or "").split("\n") if line]
        return "\n".join(lines)


def _on_one_line(text: str) -> str:
    """Escape line ends as `\\n`, and other control characters likewise."""
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def begin_log(process: str) -> None:
    """Send everything from INFO on to the terminal. `process` is web, worker or dispatcher."""
    as_json = get_settings().log_format == "json"
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactingFilter())
    handler.setFormatter(JsonFormatter(process) if as_json else TextFormatter())
    root = logging.getLogger()
    root.handlers = [
        existing for existing in root.handlers if not _writes_to_terminal(existing)
    ] + [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in OF_UVICORN:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    # uvicorn's access log would contain addresses of people and pages.
    logging.getLogger(ACCESS).propagate = False
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # People at a terminal look for errors, not for every image that is fetched.
    logging.getLogger(REQUESTS).setLevel(logging.INFO if as_json else logging.WARNING)


def log_the_uncaught() -> None:
    """Log an error that ends a process or thread like any other, instead of printing it."""
    sys.excepthook = _uncaught
    threading.excepthook = lambda given: _uncaught(
        given.exc_type, given.exc_value, given.exc_traceback
    )


def _uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    if error is None or issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    logging.getLogger("likewise").critical("uncaught error", exc_info=(kind, error, trace))


def _writes_to_terminal(handler: logging.Handler) -> bool:
    return type(handler) is logging.StreamHandler
