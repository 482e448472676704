"""Child processes with prefixed logs, restarted with back-off when they die."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

COLOURS = {"web": 36, "worker": 33, "files": 33, "dispatcher": 35, "redis": 31, "likewise": 32}
MAX_BACK_OFF_SECONDS = 30.0
_print_lock = threading.Lock()


def say(name: str, text: str) -> None:
    """Print one line with the prefix of a process, or as JSON if the settings say so."""
    if os.environ.get("LIKEWISE_LOG_FORMAT") == "json":
        _print(text if text.startswith("{") else json.dumps({"process": name, "message": text}))
        return
    prefix = f"{name:<10} |"
    if sys.stdout.isatty():
        prefix = f"\x1b[{COLOURS.get(name, 37)}m{prefix}\x1b[0m"
    _print(f"{prefix} {text}")


def _print(line: str) -> None:
    # The terminal or the reading end of a pipe may be closed; an orderly stop still matters.
    with _print_lock, contextlib.suppress(OSError):
        print(line, flush=True)


@dataclass
class Child:
    """A supervised process."""

    name: str
    command: list[str]
    environment: dict[str, str]
    process: subprocess.Popen[str] | None = None
    failures: int = 0
    started_at: float = 0.0
    next_start: float = field(default=0.0)
    is_stopping: bool = False

    def start(self) -> None:
        # With a session of its own, Ctrl-C reaches only the supervisor, which then stops all.
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.started_at, self.is_stopping = time.monotonic(), False
        threading.Thread(target=self._forward, args=(self.process,), daemon=True).start()

    def _forward(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                say(self.name, line.rstrip())

    def watch(self) -> None:
        """Restart the process if it died, after a pause that grows with each failure."""
        if self.process is None or self.process.poll() is None:
            return
        now = time.monotonic()
        if not self.next_start:
            self.failures = 1 if now - self.started_at > 60 else self.failures + 1
            pause = min(0.5 * 2 ** (self.failures - 1), MAX_BACK_OFF_SECONDS)
            self.next_start = now + pause
            code = self.process.returncode
            say("likewise", f"{self.name} ended with code {code}; starting again in {pause:g} s")
        elif now >= self.next_start:
            self.next_start = 0.0
            self.start()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, and do not wait."""
        if self.process is not None and self.process.poll() is None and not self.is_stopping:
            self.is_stopping = True
            self.process.terminate()

    def stop(self, seconds: float) -> None:
        """Send SIGTERM, then SIGKILL to what is left of its process group."""
        if self.process is None:
            return
        if self.process.poll() is None:
            # A second signal would end it in the middle of its shutdown.
            self.ask_to_stop()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                say("likewise", f"{self.name} did not stop in {seconds:g} s, killing it")
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait()
