"""Dockerfile and docker-compose.yml, read and held against the code (no Docker needed)."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app.core.settings import Settings
from likewise import environment
from likewise.cli import cli
from testbed.servers import ROOT

OURS = re.compile(r"^(LIKEWISE_\w+|DATABASE_URL|REDIS_URL|STORAGE_URL)$")
INTERPOLATED = re.compile(r"\$\{(\w+)")
# Innermost first, because one may stand in another's default.
INNERMOST = re.compile(r"\$\{(\w+)(?:(:[-+?])([^${}]*))?\}")
# In containers something collects the lines, which people read elsewhere.
OTHERWISE_IN_CONTAINERS = {"log_format": "json"}
# Read by the Caddyfile alone.
OF_CADDY = {"LIKEWISE_DOMAIN", "LIKEWISE_UPSTREAM"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def interpolated(text: str, given: dict[str, str]) -> str:
    """As Compose does it with these variables; raises KeyError for a required one."""

    def value(match: re.Match[str]) -> str:
        name, way, word = match.groups()
        given_value = given.get(name, "")
        if way == ":?" and not given_value:
            raise KeyError(name)
        if way == ":+":
            return word if given_value else ""
        return given_value or (word if way == ":-" else "")

    while INNERMOST.search(text):
        text = INNERMOST.sub(value, text)
    return text


def own_services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Services that run the image built here."""
    return {name: service for name, service in compose["services"].items() if "build" in service}


def dockerfile() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile: (name, arguments), continued lines joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


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


def copied_sources() -> Iterator[str]:
    for name, arguments in dockerfile():
        words = arguments.split()
        if name == "COPY" and not words[0].startswith("--from"):
            yield from words[:-1]


def test_our_services_run_commands_that_exist(compose: dict[str, Any]) -> None:
    ran = {name: service["command"][0] for name, service in own_services(compose).items()}
    assert ran == {
        "migrate": "migrate",
        "web": "serve",
        "worker": "worker",
        "files": "worker",
        "dispatcher": "dispatcher",
    }
    assert set(ran.values()) <= set(commands())


def test_every_variable_is_one_that_the_code_reads(compose: dict[str, Any]) -> None:
    example = (ROOT / ".env.example").read_text()
    used = {
        variable
        for service in own_services(compose).values()
        for variable in service["environment"]
    }
    used |= set(INTERPOLATED.findall(json.dumps(compose)))
    used |= set(re.findall(r"^(?:# )?([A-Z_]+)=", example, re.MULTILINE))
    for name, arguments in dockerfile():
        if name == "ENV":
            used |= {word.partition("=")[0] for word in arguments.split()}
    unknown = {variable for variable in used if OURS.match(variable)} - known_variables()
    assert unknown <= OF_CADDY


def test_settings_without_a_default_are_given_to_every_service(compose: dict[str, Any]) -> None:
    for name, service in own_services(compose).items():
        required = {"DATABASE_URL", "REDIS_URL", "LIKEWISE_SECRET_KEY"}
        assert required <= set(service["environment"]), name
        assert ":?" in service["environment"]["LIKEWISE_SECRET_KEY"]
        assert ":?" in service["environment"]["DATABASE_URL"]


def test_interpolated_variables_are_in_the_example(compose: dict[str, Any]) -> None:
    example = (ROOT / ".env.example").read_text()
    passed_on = {
        name
        for service in compose["services"].values()
        for name, value in service.get("environment", {}).items()
        if value is None
    }
    for variable in passed_on | set(INTERPOLATED.findall(json.dumps(compose))):
        assert re.search(rf"^(# )?{variable}=", example, re.MULTILINE), variable


def test_defaults_of_settings_are_those_of_the_code(compose: dict[str, Any]) -> None:
    for name, service in own_services(compose).items():
        given = {"POSTGRES_PASSWORD": "p", "LIKEWISE_SECRET_KEY": "k"}
        written = {
            key: interpolated(value, given)
            for key, value in service["environment"].items()
            if value is not None
        }
        for setting, field in Settings.model_fields.items():
            written_value = written.get(f"LIKEWISE_{setting}".upper())
            if written_value is not None and not field.is_required():
                wanted = OTHERWISE_IN_CONTAINERS.get(setting, field.default)
                assert written_value == str(wanted), f"{name}: {setting}"


def test_a_domain_alone_makes_the_address_https(compose: dict[str, Any]) -> None:
    text = compose["services"]["web"]["environment"]["LIKEWISE_BASE_URL"]
    assert interpolated(text, {}) == "http://127.0.0.1:8000"
    domain = {"LIKEWISE_DOMAIN": "likewise.example.org"}
    assert interpolated(text, domain) == "https://likewise.example.org"
    assert interpolated(text, {**domain, "LIKEWISE_BASE_URL": "https://b"}) == "https://b"


def test_no_secret_has_a_value_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text().splitlines()
    assert "LIKEWISE_SECRET_KEY=" in example
    assert "POSTGRES_PASSWORD=" in example


def test_services_depend_on_services_that_can_fulfil_the_condition(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        for other, wanted in service.get("depends_on", {}).items():
            assert other in services
            if wanted["condition"] == "service_healthy":
                # The image built here has a check of its own.
                own = "build" in services[other]
                assert services[other].get("healthcheck", {}).get("test", own), other
            else:
                assert wanted["condition"] == "service_completed_successfully"
                assert services[other]["restart"] == "no"
    for name in ("web", "worker", "files", "dispatcher"):
        assert set(services[name]["depends_on"]) == {"db", "redis", "migrate"}


def test_volumes_are_declared_and_used(compose: dict[str, Any]) -> None:
    used = {
        mount.partition(":")[0]
        for service in compose["services"].values()
        for mount in service.get("volumes", [])
    }
    files = {source for source in used if source.startswith("./")}
    assert used - files == set(compose["volumes"])
    assert all((ROOT / file).is_file() for file in files)


def test_redis_appends_to_a_file(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[command.index("--appendonly") + 1] == "yes"


def test_only_caddy_is_reachable_from_outside(compose: dict[str, Any]) -> None:
    ports = {
        name: service["ports"]
        for name, service in compose["services"].items()
        if "ports" in service
    }
    assert set(ports) == {"web", "caddy"}
    assert all(port.startswith("127.0.0.1:") for port in ports["web"])
    assert ports["caddy"] == ["80:80", "443:443", "443:443/udp"]


def test_all_but_caddy_run_without_a_domain(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {
        name: service["profiles"] for name, service in services.items() if "profiles" in service
    } == {"caddy": ["https"]}
    assert not any("caddy" in service.get("depends_on", {}) for service in services.values())


def test_what_the_image_copies_is_in_the_repository_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    for source in copied_sources():
        tracked = subprocess.run(
            ["git", "ls-files", "--", source], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert tracked.stdout, f"{source} is not in git"
        assert source not in ignored, f"{source} is in .dockerignore"
    # Not the folder as a whole, which has the repository's history.
    assert not {".", "./", "*"} & set(copied_sources())
    assert {".git", ".env"} <= set(ignored)


def test_the_image_holds_every_package_of_the_project() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {
        "testbed",
        "tests",
        "bench",
        "tools",
    }
    assert packages <= set(copied_sources())


def test_stages_are_declared_before_they_are_copied_from() -> None:
    stages: set[str] = set()
    for name, arguments in dockerfile():
        words = arguments.split()
        if name == "FROM" and "AS" in words:
            stages.add(words[words.index("AS") + 1])
        if name == "COPY" and words[0].startswith("--from="):
            assert words[0].removeprefix("--from=") in stages


def test_the_image_runs_likewise_as_an_ordinary_user_and_checks_its_health() -> None:
    last = [name for name, _ in dockerfile()]
    final = dict(dockerfile()[len(last) - last[::-1].index("FROM") :])
    assert final["USER"] == "likewise"
    assert json.loads(final["ENTRYPOINT"]) == ["likewise"]
    assert json.loads(final["CMD"])[0] in commands()
    check = json.loads(final["HEALTHCHECK"].partition(" CMD ")[2])
    assert check[:2] == ["python", "-c"]
    compile(check[2], "healthcheck", "exec")
    assert "/healthz" in check[2]


def test_shell_commands_of_the_image_are_well_formed() -> None:
    for name, arguments in dockerfile():
        if name == "RUN":
            assert shlex.split(arguments)
            subprocess.run(["sh", "-n", "-c", arguments], check=True)
