"""Schemathesis reads the OpenAPI document and holds the application to it: every operation, with
valid and invalid data, alone and in sequences (docs/acceptance.md, test 25)."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from testbed.system import System
from tests.support.acceptance_results import keep
from tests.support.hostile_world import World, a_world
from tests.support.scale import FULL

# Seconds of each of the four runs; after the fixed cases, what is left is spent on chance and
# sequences.
SECONDS = 300 if FULL else 20
COUNT = re.compile(r"^  (Selected|Tested|Errored|Skipped): (\d+)", re.MULTILINE)
EXAMPLES = 30 if FULL else 2
PHASES = "examples,coverage,fuzzing,stateful" if FULL else "fuzzing,stateful"

# Operations by caller.
TOLD: dict[str, dict[str, int]] = {}

CONFIGURATION = """
continue-on-failure = true
request-timeout = 30

[warnings]
enabled = false

[generation]
# The database of examples that failed before would be a file beside the tests.
database = "none"

[checks.positive_data_acceptance]
# 422: rules that no schema says, such as sums, states, cursors, and what an uploaded file holds.
# 503: the platforms of this test do not answer.
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "422", "429", "503"]

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]

[phases.stateful]
max-steps = 6

# A neighbour has a variable, {action} or {campaign_id}, in the place of these names, and takes
# other methods: it says 422.
[[operations]]
include-path-regex = "/(dry-run|limit|reconciliation|images/delete|images/dependents|import)$"
phases.coverage.checks.unsupported_method.enabled = false

# It takes an id for a wrong one, of which it has sent the good one that is named below, where the
# address has a variable of another kind beside it. Bodies and queries are held to it by chance.
[[operations]]
include-path-regex = "/(models/.version./.*|actions/.decision.)$"
phases.coverage.checks.negative_data_rejection.enabled = false
"""


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    """No platform is asked: its address refuses connections."""
    nowhere = "http://127.0.0.1:9"
    return {
        "HTTPS_PROXY": nowhere,
        "LIKEWISE_MTURK_ENDPOINT": nowhere,
        "LIKEWISE_PROLIFIC_ENDPOINT": nowhere,
    }


@pytest.fixture
def http(web: System) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        yield client


def headers_of(world: World, who: str, origin: str) -> dict[str, str]:
    return {
        "cookie": {"Cookie": world.cookie, "Origin": origin},
        "token": {"Authorization": f"Bearer {world.write_token}"},
        "annotator": {"Authorization": f"Bearer {world.person.token}"},
        "nobody": {},
    }[who]


def configuration(world: World, who: str, origin: str) -> str:
    """Who calls, and ids that exist: by chance, none would be found."""
    lines = [CONFIGURATION]
    if who == "cookie":
        # It puts an Authorization of its own beside the cookie, which is good still. An
        # Authorization that is no bearer may be for a proxy in front, and is none of ours.
        lines += ["[checks.ignored_auth]", "enabled = false"]
    lines.append("[headers]")
    lines += [f'"{name}" = "{value}"' for name, value in headers_of(world, who, origin).items()]
    if who != "nobody":
        # UUIDs alone: numbers are to be wrong, too.
        ids = {name: value for name, value in world.ids.items() if name.endswith(("_id", "sha256"))}
        lines += ["[parameters]", *(f'"path.{name}" = "{value}"' for name, value in ids.items())]
    return "\n".join(lines)


@pytest.mark.parametrize("who", ["cookie", "token", "annotator", "nobody"])
def test_the_application_keeps_to_its_document(
    web: System, http: httpx.Client, tmp_path: Path, who: str
) -> None:
    world = a_world(http, "ada")
    file = tmp_path / "schemathesis.toml"
    file.write_text(configuration(world, who, web.base_url))
    annotators = ["--include-path-regex" if who == "annotator" else "--exclude-path-regex",
                  "^/api/v1/annotate/"] if who != "nobody" else []  # fmt: skip
    # All checks are the default; said here, they would go before what the file says of operations.
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(file), "run",
        f"{web.base_url}/api/v1/openapi.json", "--phases", PHASES,
        "--max-examples", str(EXAMPLES), "--max-time", str(SECONDS), "--seed", "1", *annotators,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert "unexpected error" not in web.log("web")
    counts = {name.lower(): int(n) for name, n in COUNT.findall(done.stdout)}
    TOLD[who] = counts
    keep("schemathesis", TOLD)
    # How far the short form comes, whose time is soon over, is a matter of what else runs.
    assert counts["tested"] >= (counts["selected"] if FULL else 1), counts
    assert counts["selected"] > 0
