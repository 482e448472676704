"""Where the running instance is: `up` records it and other commands on the machine read it."""

import os
import secrets
from pathlib import Path

NAMES = (
    "DATABASE_URL",
    "LIKEWISE_DIRECT_DATABASE_URL",
    "REDIS_URL",
    "STORAGE_URL",
    "LIKEWISE_SECRET_KEY",
    "LIKEWISE_OLD_SECRET_KEYS",
    "LIKEWISE_BASE_URL",
    "LIKEWISE_DATA",
)
# Credentials and addresses of object storage, for commands that read it.
OF_STORAGE = ("AWS_", "GOOGLE_", "AZURE_")
# This file is in the data folder during a restore, and stays there if the restore is killed.
RESTORING = "restoring"


SHORTEST_KEY = 32
LEAST_LETTERS = 10


class WeakKey(RuntimeError):
    """The secret key can be guessed."""


class NotRunning(RuntimeError):
    """No running instance was found and the environment does not name one."""


def data_folder() -> Path:
    """`LIKEWISE_DATA`, or `.likewise` in the working directory."""
    return Path(os.environ.get("LIKEWISE_DATA", ".likewise")).resolve()


def _runtime_file() -> Path:
    return data_folder() / "runtime.env"


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def is_weak(key: str) -> bool:
    """Whether a secret key is short or uniform enough to be guessed."""
    return len(key) < SHORTEST_KEY or len(set(key)) < LEAST_LETTERS


def require_strong_key(key: str) -> None:
    """Raises WeakKey if the secret key is weak."""
    if is_weak(key):
        raise WeakKey(
            f"LIKEWISE_SECRET_KEY has {len(key)} characters ({len(set(key))} different) and can be "
            f"guessed. It needs {SHORTEST_KEY} characters ({LEAST_LETTERS} different). Create a "
            'new key with `python3 -c "import secrets; print(secrets.token_urlsafe(48))"`. Move '
            "the present key to LIKEWISE_OLD_SECRET_KEYS so that links and credentials stay valid, "
            "and remove it as soon as you can: until then, anybody who guesses it can forge links "
            "and decrypt credentials (docs/operations.md, Another secret key)."
        )


def weak_old_keys() -> int:
    """The number of keys in `LIKEWISE_OLD_SECRET_KEYS` that are weak."""
    return sum(is_weak(key) for key in os.environ.get("LIKEWISE_OLD_SECRET_KEYS", "").split())


def save(values: dict[str, str]) -> None:
    names = [*NAMES, *sorted(name for name in values if name.startswith(OF_STORAGE))]
    # A line is a variable; a key in several lines is better kept in a file.
    lines = [
        f"{name}={values[name]}" for name in names if values.get(name) and "\n" not in values[name]
    ]
    write_private(_runtime_file(), "\n".join(lines) + "\n")


def forget() -> None:
    _runtime_file().unlink(missing_ok=True)


def load() -> None:
    """Set missing environment variables from the running instance; raises NotRunning."""
    path = _runtime_file()
    if path.exists():
        for line in path.read_text().splitlines():
            name, _, value = line.partition("=")
            os.environ.setdefault(name, value)
    missing = [
        name
        for name in ("DATABASE_URL", "REDIS_URL", "LIKEWISE_SECRET_KEY")
        if not os.environ.get(name)
    ]
    if missing:
        raise NotRunning(
            f"Likewise is not running here. Start it with `make up` or set {', '.join(missing)}."
        )


def secret_key() -> str:
    """`LIKEWISE_SECRET_KEY`, or a key that is generated once and stored in the data folder."""
    given = os.environ.get("LIKEWISE_SECRET_KEY")
    if given:
        return given
    path = data_folder() / "secret_key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, secrets.token_urlsafe(48))
    return path.read_text().strip()
