"""Label Studio on servers of its own, in an environment of its own that is made the first time.

It runs as its Docker image runs it: uWSGI, two processes for each core, over PostgreSQL. (The image
has nginx in front, which is left out.) Nothing of it is called here; it is only measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.harness.paths import ROOT
from bench.harness.tables import Row
from bench.load.measuring import figures, postmaster, processor_time
from bench.load.runs import play
from likewise.embedded import free_port
from testbed.databases import connect
from testbed.servers import Servers
from testbed.system import wait_until

VERSION, SERVER = "1.23.2", "2.0.30.post1"
# Of its many requirements, those that have no wheel; all are plain Python.
NO_WHEELS = ("attr", "django-ranged-fileresponse", "drf-flex-fields", "drf-generators",
             "ordered-set")  # fmt: skip
ENVIRONMENT = ROOT / "build" / f"label-studio-{VERSION}"
N_TASKS, SHOWN, WARM_UP_SECONDS = 10_000, 20, 10.0
CHOICES = ("round", "another", "third", "fourth")
ADMIN, TOKEN = "admin@example.org", "0123456789abcdef0123456789abcdef01234567"
# One user for each annotator, a member of the organization. Prints their tokens.
_USERS = """
import json
from organizations.models import Organization
from rest_framework.authtoken.models import Token
from users.models import User
organization = Organization.objects.first()
tokens = []
for number in range({people}):
    user = User.objects.create_user(email=f"person-{{number}}@example.org", password="a-password")
    organization.add_user(user)
    user.active_organization = organization
    user.save(update_fields=["active_organization"])
    tokens.append(Token.objects.get_or_create(user=user)[0].key)
print("tokens: " + json.dumps(tokens))
"""


def installed() -> Path:
    """The folder of its environment's programs."""
    programs, whole = ENVIRONMENT / "bin", ENVIRONMENT / ".installed"
    if not whole.exists():
        print(f"installing Label Studio {VERSION} into {ENVIRONMENT}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        packages = [f"label-studio=={VERSION}", f"pyuwsgi=={SERVER}"]
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                   "--no-binary", ",".join(NO_WHEELS)]  # fmt: skip
        pip = [str(programs / "python"), "-m", "pip", "install", *options, *packages]
        subprocess.run(pip, check=True)
        whole.touch()
    return programs


def label_studio_row(servers: Servers, folder: Path, people: int, seconds: float) -> Row:
    """A crowd of people without a pause."""
    programs = installed()
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        environment = environment_of(servers, place)
        tokens = users(programs, environment, people)
        with running(programs, environment, place) as (address, process):
            project = a_project(address)
            serving = {"web": process.pid, "postgresql": postmaster(servers)}
            with connect(servers.postgres.database_url(environment["POSTGRE_NAME"])) as connection:
                connection.execute("VACUUM (ANALYZE)")
            arguments = ["--address", address, "--project", str(project),
                         *(part for token in tokens for part in ("--token", token))]  # fmt: skip
            # Its processes load much of their code with the first requests.
            play("bench.load.label_studio_clients", [*arguments, "--seconds", str(WARM_UP_SECONDS)])
            arguments += ["--seconds", str(seconds)]
            with processor_time(serving) as used:
                result = play("bench.load.label_studio_clients", arguments)
        n = workers()
        set_up = f"uWSGI as in its image, {n} processes, without nginx; tasks in sequence"
        return {**figures(result, used), "set_up": set_up}


def workers() -> int:
    """Two for each core, as in its image."""
    return 2 * (psutil.cpu_count() or 1)


def environment_of(servers: Servers, place: Path) -> dict[str, str]:
    """Durable, without errors in pages, and without calls to its makers."""
    url = httpx.URL(servers.new_database("template1").replace("postgresql+psycopg", "postgresql"))
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "LABEL_STUDIO_BASE_DATA_DIR": str(place / "data"),
        "DJANGO_DB": "default",
        "POSTGRE_NAME": url.path.removeprefix("/"),
        "POSTGRE_USER": url.username,
        "POSTGRE_PASSWORD": url.password,
        "POSTGRE_HOST": url.params["host"],
        "POSTGRE_PORT": url.params.get("port", "5432"),
        # Its own option for servers without these extensions: two indexes of results less to keep.
        "SKIP_TRIGRAM_EXTENSION": "full",
        "SKIP_BTREE_GIN_EXTENSION": "full",
        "DJANGO_SETTINGS_MODULE": "core.settings.label_studio",
        "DEBUG": "false",
        "LOG_LEVEL": "WARNING",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "APP_WEBSERVER": "uwsgi",
    }


def users(programs: Path, environment: dict[str, str], people: int) -> list[str]:
    """Tokens of annotators, in a new database, with its administrator."""
    command = [str(programs / "label-studio"), "init", "--quiet", "--username", ADMIN,
               "--password", "a-password", "--user-token", TOKEN,
               "--enable-legacy-api-token"]  # fmt: skip
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    manage = [str(programs / "python"), str(home(programs) / "manage.py"), "shell", "-c",
              _USERS.format(people=people)]  # fmt: skip
    done = subprocess.run(manage, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    tokens: list[str] = json.loads(done.stdout.rpartition("tokens: ")[2])
    return tokens


def home(programs: Path) -> Path:
    """Where its code is."""
    return next((programs.parent / "lib").glob("python*/site-packages/label_studio"))


@contextmanager
def running(
    programs: Path, environment: dict[str, str], place: Path
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its address, and the process above all that serve it."""
    address, file = f"127.0.0.1:{free_port()}", place / "label-studio.log"
    with file.open("wb") as log:
        process = subprocess.Popen(
            [str(programs / "uwsgi"), *server_options(programs, address)],
            cwd=place, env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        # A line of each process.
        wait_until("Label Studio", lambda: file.read_text().count("ready in") >= workers())
        wait_until("Label Studio to answer", lambda: _answers(address))
        yield address, process
    finally:
        process.terminate()
        process.wait()


def server_options(programs: Path, address: str) -> list[str]:
    """Those of its image that change what is measured (deploy/uwsgi.ini). But all processes are
    there from the beginning."""
    return [
        "--http", address, "--chdir", str(home(programs)), "--module", "core.wsgi:application",
        "--home", str(programs.parent), "--master", "--single-interpreter",
        "--processes", str(workers()), "--threads", "1", "--enable-threads", "--lazy-apps",
        "--thunder-lock", "--need-app", "--die-on-term", "--vacuum", "--disable-logging",
        "--buffer-size", "65535", "--post-buffering", "4096", "--http-timeout", "300",
        "--harakiri", "120", "--max-requests", "5000", "--reload-on-rss", "2048",
    ]  # fmt: skip


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/health", timeout=10).is_success
    except httpx.TransportError:
        return False


def a_project(address: str) -> int:
    """With tasks of 20 images, one annotation for each task."""
    headers = {"Authorization": f"Token {TOKEN}"}
    with httpx.Client(base_url=f"http://{address}", headers=headers, timeout=300) as http:
        about = {"title": "Load", "label_config": labels(), "maximum_annotations": 1,
                 "sampling": "Sequential sampling"}  # fmt: skip
        project = int(_accepted(http.post("/api/projects", json=about))["id"])
        for first in range(0, N_TASKS, 1_000):
            tasks = [{"data": task(number)} for number in range(first, first + 1_000)]
            _accepted(http.post(f"/api/projects/{project}/import", json=tasks))
    return project


def _accepted(response: httpx.Response) -> Any:
    if response.is_error:
        raise RuntimeError(f"{response.request.url}: {response.status_code} {response.text[:500]}")
    return response.json()


def labels() -> str:
    """A choice for each image of a task."""
    choices = "".join(f'<Choice value="{name}"/>' for name in CHOICES)
    images = "".join(
        f'<Image name="image-{k}" value="$image_{k}"/>'
        f'<Choices name="bin-{k}" toName="image-{k}" choice="single">{choices}</Choices>'
        for k in range(SHOWN)
    )
    return f"<View>{images}</View>"


def task(number: int) -> dict[str, str]:
    return {
        f"image_{k}": f"https://example.org/images/{(number * 37 + k * 7) % 300}.webp"
        for k in range(SHOWN)
    }
