"""What processes write to the terminal: lines for people, or for programs one JSON object a line.

`LIKEWISE_LOG_FORMAT` chooses. Nothing is written that `app.core.redaction` does not pass.
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

# Of the request that this thread or task answers; empty elsewhere.
request_id: ContextVar[str] = ContextVar("request_id", default="")
REQUESTS = "likewise.requests"
# Of what a record may carry beyond its message, what is written.
FIELDS = ("method", "route", "status", "milliseconds")
# One line for each request to a platform: addresses hold ids of people's work.
TALKATIVE = ("httpx", "httpcore", "botocore", "urllib3")
# Have handlers of their own, which nothing redacts.
ACCESS = "uvicorn.access"
OF_UVICORN = ("uvicorn", "uvicorn.error", ACCESS)
# What ends a line, somewhere, or tells a terminal what to do.
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


class RedactingFilter(logging.Filter):
    """Puts the redacted text of message and error into a record, in the place of its parts."""

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
    """time, level, logger, process, message; request_id, error and FIELDS where there are any."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": self._process,
            "message": record.getMessage(),
        }
        if request_id.get():
            told["request_id"] = request_id.get()
        told |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_text:
            told["error"] = record.exc_text
        return orjson.dumps(told, default=str).decode()


class TextFormatter(logging.Formatter):
    """Level, logger and message on one line; lines of an error stand further in.

    So no text of anybody's begins a line: what looks like an entry of the log is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{record.levelname} {record.name}: {_on_one_line(record.getMessage())}"]
        for more in (record.exc_text, record.stack_info):
            lines += [f"  {_on_one_line(line)}" for line in (more or "").split("\n") if line]
        return "\n".join(lines)


def _on_one_line(text: str) -> str:
    """With `\\n` for the end of a line, and the like."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def begin_log(process: str) -> None:
    """Everything from INFO on goes to the terminal; `process`: web, worker or dispatcher."""
    as_json = get_settings().log_format == "json"
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactingFilter())
    handler.setFormatter(JsonFormatter(process) if as_json else TextFormatter())
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not _writes_to_terminal(one)] + [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in OF_UVICORN:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    # Lines with addresses of people and of pages: uvicorn writes them if anybody would hear.
    logging.getLogger(ACCESS).propagate = False
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # People at a terminal look for what goes wrong, not for every image that is fetched.
    logging.getLogger(REQUESTS).setLevel(logging.INFO if as_json else logging.WARNING)


def log_the_uncaught() -> None:
    """What ends a process or a thread is logged as all else, not printed as it is."""
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
