"""What containers are given (Compose and the Helm chart), held against the code."""

import re
from typing import Any

from typer.main import get_command

from app.core.settings import Settings
from likewise import environment
from likewise.cli import cli
from testbed.servers import ROOT

OURS = re.compile(r"^(LIKEWISE_\w+|DATABASE_URL|REDIS_URL|STORAGE_URL)$")
SETTING = re.compile(r"^\| `([A-Z_]+)` \| (?:`([^`]*)`|(empty|required)) \|", re.MULTILINE)
# Documented, and not given to containers: why.
NOT_GIVEN = {
    "LIKEWISE_DATA": "the image says where",
    "LIKEWISE_HOST": "in a container the web server listens on all addresses",
    "LIKEWISE_PORT": "in a container it is 8000; what is published is another matter",
    "LIKEWISE_WEB_PROCESSES": "one in a container, of which there may be several",
}
# Documented, and given to some processes only: how such a process is started.
ONLY_FOR = {
    "LIKEWISE_METRICS_TOKEN": ("serve", "answers /metrics"),
    "LIKEWISE_WORKERS": ("worker --queue learning", "trains"),
}

# Read by libraries, not by us.
OF_LIBRARIES = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "FORWARDED_ALLOW_IPS",
    "OMP_NUM_THREADS",
}


def commands() -> dict[str, Any]:
    by_name: dict[str, Any] = get_command(cli).commands  # type: ignore[attr-defined]
    return by_name


def known_variables() -> set[str]:
    """Environment variables that the settings, the command line or `up` read."""
    fields = {
        str(field.validation_alias.choices[0])  # type: ignore[union-attr]
        if field.validation_alias
        else f"LIKEWISE_{name.upper()}"
        for name, field in Settings.model_fields.items()
    }
    options = {
        str(parameter.envvar)
        for command in commands().values()
        for parameter in command.params
        if parameter.envvar
    }
    return fields | options | set(environment.NAMES)


def documented_settings() -> set[str]:
    """The variables in the tables of docs/operations.md."""
    return {name for name, _, _ in SETTING.findall((ROOT / "docs/operations.md").read_text())}


def settings_missing(command: list[str], given: set[str]) -> set[str]:
    """Documented settings that a process started like this reads and is not given."""
    elsewhere = {name for name, (start, _) in ONLY_FOR.items() if " ".join(command) != start}
    return documented_settings() - set(NOT_GIVEN) - elsewhere - given


def check_command(command: list[str]) -> None:
    """Fails if `likewise COMMAND` does not exist, or refuses these options."""
    name, *arguments = command
    assert name in commands(), command
    # Typer parses without running.
    commands()[name].make_context(name, list(arguments))
