"""docs/several-machines.md: its budget of connections is that of the code; its examples work."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.core.database import (
    DOWNLOAD_CONNECTIONS,
    POOL_SIZE,
    REQUEST_CONNECTIONS,
    REQUESTER_CONNECTIONS,
)
from testbed.servers import ROOT
from tests.setup.test_compose import INTERPOLATED
from workers.pool import CREWS

TEXT = (ROOT / "docs/several-machines.md").read_text()
# The dispatcher's own, and the one that listens.
OF_DISPATCHER = 2


def table(heading: str) -> dict[str, list[str]]:
    """Rows of the first table below a heading, by their first cell."""
    part = TEXT.partition(f"\n{heading}\n")[2]
    lines = [line for line in part.split("\n## ")[0].splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {cells[0]: cells[1:] for cells in rows}


def blocks(language: str) -> list[str]:
    """Code that the page shows; within lists, too."""
    code = re.findall(rf"^( *)```{language}\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in code]


def test_the_budget_of_connections_is_that_of_the_code() -> None:
    budget = {name: cells[0] for name, cells in table("## Connections to PostgreSQL").items()}
    web = POOL_SIZE + REQUEST_CONNECTIONS + DOWNLOAD_CONNECTIONS
    heavy = POOL_SIZE + REQUESTER_CONNECTIONS + DOWNLOAD_CONNECTIONS
    dispatcher = sum(crew.threads for crew in CREWS) + OF_DISPATCHER
    assert budget["web server"] == str(web)
    assert budget["its process for heavy requests"] == str(heavy)
    assert budget["dispatcher"] == str(dispatcher)
    assert f"{web + heavy} × web servers + 4 × trainings" in TEXT
    assert f"+ {dispatcher} × dispatchers + 10" in TEXT
    parts = (3 * (web + heavy), 2 * 4, 2 * 2, dispatcher, 10)
    assert f"{' + '.join(map(str, parts))} = {sum(parts)}" in TEXT
    details = table("## Connections to PostgreSQL")
    assert details["web server"][1].startswith(f"{REQUEST_CONNECTIONS} for requests, {POOL_SIZE} ")


def test_calculated_figures_follow_from_the_measured_ones() -> None:
    """After another measurement, one paragraph and the table have to be changed."""
    measured = re.search(r"costs [\d.]+ ms .*?: ([\d.]+) ms of the web server, ([\d.]+) ms", TEXT)
    assert measured is not None
    web, database = float(measured[1]), float(measured[2])
    part = TEXT.partition("| annotators at work |")[2].partition("<!-- /measured -->")[0]
    rows = re.findall(r"^\| ([\d,]+) \| (.*) \|$", part, re.MULTILINE)
    assert len(rows) >= 3
    for annotators, rest in rows:
        rate = int(annotators.replace(",", "")) / 10
        cores = rate * web / 1000
        hours = 1e7 / rate / 3600
        expected = [f"{rate:,.0f}", f"{cores:.1f}", f"{rate * database / 1000:.1f}",
                    str(math.ceil(cores / 0.7)), f"{hours:.0f} hours"]  # fmt: skip
        assert rest.split(" | ") == expected, annotators


def test_the_environment_of_a_machine_is_read_by_compose() -> None:
    [block] = [each for each in blocks("sh") if each.startswith("COMPOSE_FILE=")]
    names = {line.partition("=")[0] for line in block.splitlines()}
    read: set[str] = set()
    for file in ("docker-compose.yml", "docker-compose.external.yml"):
        read |= set(INTERPOLATED.findall((ROOT / file).read_text()))
    assert names - {"COMPOSE_FILE"} <= read


def test_the_secret_has_the_keys_that_the_chart_reads() -> None:
    [block] = [each for each in blocks("sh") if "create secret" in each]
    keys = set(re.findall(r"--from-literal=(\w+)=", block))
    helpers = (ROOT / "deploy/helm/likewise/templates/_helpers.tpl").read_text()
    web = (ROOT / "deploy/helm/likewise/templates/web.yaml").read_text()
    assert {"DATABASE_URL", "REDIS_URL", "LIKEWISE_SECRET_KEY"} <= keys
    assert all(f'"{key}"' in helpers + web for key in keys)


def test_the_rule_of_the_adapter_serves_the_metric_of_the_chart() -> None:
    [block] = blocks("yaml")
    rules: dict[str, Any] = yaml.safe_load(block)
    [rule] = rules["rules"]["external"]
    workers = (ROOT / "deploy/helm/likewise/templates/workers.yaml").read_text()
    assert f"name: {rule['name']['as']}\n" in workers


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    [block] = blocks("nginx")
    # Certificates are somebody else's.
    http = block.replace("listen 443 ssl", "listen 127.0.0.1:1")
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {http} }}")
    tested = subprocess.run(
        ["nginx", "-t", "-c", str(config)], capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stderr


def test_every_example_of_values_is_of_a_file_that_the_page_names() -> None:
    assert "`deploy/helm/examples`" in TEXT
    schema = json.loads((ROOT / "deploy/helm/likewise/values.schema.json").read_text())
    for name in re.findall(r"`((?:metrics|learning|web|secrets)\.[\w.]+)`", TEXT):
        known = schema
        for part in name.split("."):
            known = known["properties"][part]
