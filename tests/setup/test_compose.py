"""Dockerfile and docker-compose.yml, read and held against the code (no Docker needed)."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from app.core.settings import Settings
from app.jobs.queues import QUEUES
from testbed.servers import ROOT
from tests.support.deployment import (
    NOT_GIVEN,
    ONLY_FOR,
    OURS,
    check_command,
    commands,
    documented_settings,
    known_variables,
    settings_missing,
)

INTERPOLATED = re.compile(r"\$\{(\w+)")
# Innermost first, because one may stand in another's default.
INNERMOST = re.compile(r"\$\{(\w+)(?:(:[-+?])([^${}]*))?\}")
# In containers something collects the lines, which people read elsewhere.
OTHERWISE_IN_CONTAINERS = {"log_format": "json"}
# Read by the Caddyfile alone.
OF_CADDY = {"LIKEWISE_DOMAIN", "LIKEWISE_UPSTREAM", "LIKEWISE_TRUSTED_PROXIES"}
# Read by docker-compose.yml alone: what is published where, and for PgBouncer.
OF_YAML = {"LIKEWISE_LISTEN"} | {
    f"LIKEWISE_POOLER_{name}" for name in ("HOST", "DATABASE", "USER", "SESSIONS")
}
# Compose says it itself.
OF_COMPOSE = {"COMPOSE_PROJECT_NAME"}
# As .env has them at least.
REQUIRED = {
    "POSTGRES_PASSWORD": "p",
    "LIKEWISE_SECRET_KEY": "k",
    "COMPOSE_PROJECT_NAME": "likewise",
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


@pytest.fixture(scope="module")
def external() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.external.yml").read_text())
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


def copied_sources() -> Iterator[str]:
    for name, arguments in dockerfile():
        words = arguments.split()
        if name == "COPY" and not words[0].startswith("--from"):
            yield from words[:-1]


def test_our_services_run_commands_that_exist(compose: dict[str, Any]) -> None:
    ran = {name: " ".join(service["command"]) for name, service in own_services(compose).items()}
    assert ran == {
        "migrate": "migrate",
        "web": "serve",
        "worker": "worker --queue learning",
        "worker-gpu": "worker --queue learning-gpu",
        "files": "worker --queue files",
        "dispatcher": "dispatcher",
    }
    for command in ran.values():
        check_command(command.split())


def test_every_queue_has_a_worker(compose: dict[str, Any]) -> None:
    served = {
        service["command"][-1]
        for service in own_services(compose).values()
        if service["command"][0] == "worker"
    }
    assert served == set(QUEUES)


def test_every_documented_setting_reaches_every_process_that_reads_it(
    compose: dict[str, Any],
) -> None:
    assert len(documented_settings()) > 45
    for name, service in own_services(compose).items():
        assert settings_missing(service["command"], set(service["environment"])) == set(), name


def test_what_is_not_given_is_documented_and_needed_nowhere(compose: dict[str, Any]) -> None:
    given = {name for service in own_services(compose).values() for name in service["environment"]}
    assert set(NOT_GIVEN) <= documented_settings() - given
    assert set(ONLY_FOR) <= documented_settings() & given


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
    assert unknown <= OF_CADDY | OF_YAML


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
    for variable in passed_on | set(INTERPOLATED.findall(json.dumps(compose))) - OF_COMPOSE:
        assert re.search(rf"^(# )?{variable}=", example, re.MULTILINE), variable


def test_defaults_of_settings_are_those_of_the_code(compose: dict[str, Any]) -> None:
    for name, service in own_services(compose).items():
        written = {
            key: interpolated(value, REQUIRED)
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
                # One that a profile or docker-compose.external.yml leaves out is not waited for.
                optional = other in {"db", "redis"} or "profiles" in services[other]
                assert wanted.get("required", True) is not optional, other
                assert services[other].get("healthcheck", {}).get("test", own), other
            else:
                assert wanted["condition"] == "service_completed_successfully"
                assert services[other]["restart"] == "no"
    for name in set(own_services(compose)) - {"migrate"}:
        assert set(services[name]["depends_on"]) == {"db", "redis", "pooler", "migrate"}


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
    # Not the web servers, of which there may be several.
    assert set(ports) == {"front", "caddy"}
    assert [interpolated(port, {}) for port in ports["front"]] == ["127.0.0.1:8000:8000"]
    assert ports["caddy"] == ["80:80", "443:443", "443:443/udp"]


def test_what_not_everybody_needs_has_a_profile(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {
        name: service["profiles"] for name, service in services.items() if "profiles" in service
    } == {"caddy": ["https"], "pooler": ["pooler"], "worker-gpu": ["gpu"]}
    assert not any("caddy" in service.get("depends_on", {}) for service in services.values())


def test_nothing_keeps_a_second_web_server_from_starting(compose: dict[str, Any]) -> None:
    assert not {"ports", "container_name", "hostname"} & set(compose["services"]["web"])


def test_addresses_of_servers_elsewhere_take_the_place_of_ours(compose: dict[str, Any]) -> None:
    elsewhere = {"DATABASE_URL": "postgresql+psycopg://db.example.org/likewise",
                 "REDIS_URL": "redis://valkey.example.org:6379/0",
                 "STORAGE_URL": "s3://bucket/likewise"}  # fmt: skip
    for service in own_services(compose).values():
        for name, value in elsewhere.items():
            assert interpolated(service["environment"][name], REQUIRED | elsewhere) == value
        ours = interpolated(service["environment"]["DATABASE_URL"], REQUIRED)
        assert ours == "postgresql+psycopg://likewise:p@db:5432/likewise"
        assert interpolated(service["environment"]["REDIS_URL"], REQUIRED) == "redis://redis:6379/0"


def test_servers_elsewhere_leave_out_our_own(
    compose: dict[str, Any], external: dict[str, Any]
) -> None:
    services = external["services"]
    assert set(services) == {"db", "redis", "migrate"}
    for name in ("db", "redis"):
        assert services[name] == {"profiles": ["bundled"]}
    assert set(services["migrate"]["environment"]) == {"DATABASE_URL", "REDIS_URL", "STORAGE_URL"}
    for value in services["migrate"]["environment"].values():
        with pytest.raises(KeyError):
            interpolated(value, REQUIRED)


def test_the_pooler_gives_sessions_to_transactions(compose: dict[str, Any]) -> None:
    pooler = compose["services"]["pooler"]["environment"]
    assert pooler["POOL_MODE"] == "transaction"
    assert interpolated(pooler["DB_HOST"], REQUIRED) in compose["services"]
    # PostgreSQL has 100 by default, of which listeners and migrations need some.
    assert int(interpolated(pooler["DEFAULT_POOL_SIZE"], REQUIRED)) < 80


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
