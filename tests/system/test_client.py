"""The client against the running system: every snippet of docs/api.md, and what may go wrong."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi.testclient import TestClient

from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import claim_job, fail_job, request_job
from likewise.client import (
    AskAgain,
    BadRequest,
    Conflict,
    Forbidden,
    Likewise,
    NotFound,
    TrainingFailed,
    Unauthorized,
    Unavailable,
    verify_webhook,
)
from testbed.builders import a_campaign, a_png, a_table, an_account, an_api_token
from testbed.servers import ROOT
from testbed.system import System, running_system, wait_until
from tests.support.people import a_person
from tests.support.receiver import a_receiver

SNIPPET = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[str, str]]:
    return SNIPPET.findall((ROOT / "docs" / "api.md").read_text())


@dataclass
class Reader:
    """Somebody who types in what the document says, in one folder and one Python session."""

    folder: Path
    environment: dict[str, str]
    names: dict[str, Any]

    def follow(self, language: str, text: str) -> None:
        if language == "python":
            exec(compile(text, "docs/api.md", "exec"), self.names)  # noqa: S102
            return
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "likewise"
            done = subprocess.run(
                [sys.executable, "-m", "likewise.cli", *arguments],
                cwd=self.folder,
                env={**os.environ, **self.environment, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            if arguments[:2] == ["user", "token"]:
                os.environ["LIKEWISE_TOKEN"] = done.stdout.strip()


@pytest.fixture
def lab(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    """The running system, whose webhooks may go to this machine."""
    with running_system(environment, tmp_path, LIKEWISE_WEBHOOKS_TO_PRIVATE="1") as running:
        yield running


def test_every_snippet_of_the_document_works(
    lab: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    an_account("ada@example.org")
    folder = tmp_path / "reader"
    (folder / "marbles").mkdir(parents=True)
    (folder / "results").mkdir()
    for number in range(30):
        (folder / "marbles" / f"image-{number:03d}.png").write_bytes(a_png(number))
    (folder / "marbles" / "table.csv").write_bytes(a_table(30))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LIKEWISE_URL", lab.base_url)
    monkeypatch.setenv("LIKEWISE_TOKEN", "")
    reader = Reader(folder, lab.environment, {})
    with a_receiver() as receiver:
        for language, text in snippets():
            if "https://example.org/likewise" in text:
                # Told after the quick start, which closes its client.
                reader.names["likewise"] = Likewise(lab.base_url, os.environ["LIKEWISE_TOKEN"])
            reader.follow(language, text.replace("https://example.org/likewise", receiver.url))
        hook = reader.names["hook"]
        wait_until("the ping", lambda: receiver.came)
        campaign = reader.names["likewise"].create_campaign(
            "Short", reader.names["collection"], kind="bins", strategy="crowdster", grid_size=5
        )
        campaign.start()
        campaign.finish()
        wait_until("the news", lambda: len(receiver.came) == 2)
        headers, body = receiver.came[1]
        reader.names["receive"](headers, body, hook.secret)
        assert verify_webhook(headers, body, hook.secret)["type"] == "campaign.finished"
        wait_until(
            "the log",
            lambda: [delivery.state for delivery in hook.deliveries()] == ["delivered"] * 2,
        )
    printed = capsys.readouterr().out
    assert "30 images, ['colour'] {}" in printed
    assert re.search(r"finished 24 answers, [123] models", printed)
    assert re.search(r"\(30, \d+\) image-007.png", printed)
    assert "Short has finished" in printed
    assert len((folder / "results" / "answers.csv").read_text().splitlines()) == 1 + 24 * 10


def test_what_may_go_wrong_has_a_type(web: System, tmp_path: Path) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    with pytest.raises(Unauthorized), Likewise(web.base_url, "lw_wrong") as nobody:
        nobody.create_collection("x")
    with Likewise(web.base_url, an_api_token(owner, "read")) as reader:
        assert [listed.name for listed in reader.campaigns()] == ["Campaign"]
        with pytest.raises(Forbidden) as refused:
            reader.create_collection("x")
        assert refused.value.code == "scope_too_small"
    with Likewise(web.base_url, an_api_token(owner)) as likewise:
        with pytest.raises(NotFound):
            likewise.campaign(str(UUID(int=0)))
        with pytest.raises(BadRequest) as bad:
            likewise.create_campaign("x", str(UUID(int=0)), budget="many")
        assert bad.value.errors[0]["where"] == "body.budget"
        own = likewise.campaign(str(campaign.id))
        with pytest.raises(Conflict, match="bad_state"):
            own.resume()
        with pytest.raises(TimeoutError, match="0 of 8 answers"):
            own.wait(timeout=0.1)
        with pytest.raises(NotFound):
            own.export("embedding.npz", tmp_path)
        assert not list(tmp_path.glob("embedding*"))
        assert own.export("answers.csv", f"{tmp_path}/results/") == tmp_path / "results/answers.csv"
        assert (tmp_path / "results/answers.csv").read_text().startswith("answer,")
        with transaction() as session:
            job = request_job(session, campaign.id, 1)
            session.flush()
            claimed = claim_job(session, job.id, "worker")
            assert isinstance(claimed, Job)
            fail_job(session, claimed.id, claimed.epoch, "no memory", retry=False)
        with pytest.raises(TrainingFailed, match="no memory"):
            own.wait(timeout=5)


def test_an_upload_that_was_broken_off_goes_on_where_it_was(web: System, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    (folder / "inner").mkdir(parents=True)
    for number in range(45):
        (folder / "inner" / f"{number:02d}.png").write_bytes(a_png(number))
    (folder / "broken.png").write_bytes(b"no image")
    (folder / "notes.txt").write_text("not of interest")

    class GivesUp(Exception):
        pass

    def stop_after_one(done: int, _: int) -> None:
        if done >= 20:
            raise GivesUp

    with Likewise(web.base_url, an_api_token(an_account())) as likewise:
        collection = likewise.create_collection("Resumed")
        with pytest.raises(GivesUp):
            collection.upload(folder, stop_after_one)
        again = likewise.collection(collection.id)
        # The first twenty in order of name: the broken one was refused.
        assert again.n_images == 19
        steps: list[tuple[int, int]] = []
        report = again.upload(folder, lambda done, of: steps.append((done, of)))
        assert (len(report.present), len(report.added), report.n_images) == (19, 26, 45)
        assert list(report.rejected) == ["broken.png"]
        assert steps == [(20, 46), (40, 46), (46, 46)]
        assert [image.filename for image in again.images()][:2] == ["00.png", "01.png"]
    with pytest.raises(FileNotFoundError):
        again.upload(tmp_path / "nowhere")


class Unsteady(httpx.BaseTransport):
    """In process; the server takes each request, and of some the reply is lost or another comes."""

    def __init__(self, app: TestClient, troubles: list[httpx.Response | Exception | None]) -> None:
        self.app, self.troubles = app, troubles
        self.keys: list[str | None] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, httpx.Response):
            return trouble
        reply = self.app.request(
            request.method,
            str(request.url),
            content=request.read(),
            headers=dict(request.headers),
        )
        if isinstance(trouble, Exception):
            raise trouble
        headers = {"content-type": reply.headers["content-type"]}
        return httpx.Response(reply.status_code, content=reply.content, headers=headers)


def test_a_request_whose_reply_was_lost_has_its_effect_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("likewise.client.transport.time.sleep", waits.append)
    token = an_api_token(an_account())
    busy = httpx.Response(503, headers={"Retry-After": "7"})
    line = Unsteady(client, [httpx.ReadError("lost"), busy, httpx.ReadTimeout("late")])
    with Likewise("http://testserver", token, transport=line) as likewise:
        collection = likewise.create_collection("Once")
        assert [collection.id for collection in likewise.collections()] == [collection.id]
        assert len(line.keys) == 5
        assert len(set(line.keys[:4])) == 1
        assert line.keys[0] is not None
        assert line.keys[4] is None
        assert 5 < waits[1] < 9
        likewise.create_collection("Another")
        assert line.keys[-1] not in line.keys[:-1]
        line.troubles = [httpx.Response(429) for _ in range(6)]
        with pytest.raises(Unavailable):
            likewise.create_collection("Never")
        line.troubles = [httpx.ConnectError("down") for _ in range(6)]
        with pytest.raises(httpx.ConnectError):
            list(likewise.collections())
        assert len(list(likewise.collections())) == 2


def test_the_client_needs_httpx_alone() -> None:
    code = "import sys, likewise.client; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "httpx" in loaded
    assert not loaded & {"app", "learning", "numpy", "torch", "sqlalchemy", "fastapi", "pydantic"}


def test_the_client_reads_lists_to_their_end(client: TestClient) -> None:
    owner = an_account()
    line = Unsteady(client, [])
    with Likewise("http://testserver", an_api_token(owner), transport=line) as likewise:
        names = [f"{number:03d}" for number in range(105)]
        for name in names:
            likewise.create_collection(name)
        line.keys = []
        assert [collection.name for collection in likewise.collections()] == names[::-1]
        assert len(line.keys) == 2
        # A page is fetched when it is asked for.
        assert next(likewise.collections()).name == "104"
        assert len(line.keys) == 3


def test_left_out_answers_are_asked_again_for_their_price(web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=3, reward_cents=60)
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        person = a_person(http, campaign, "the-spammer-0001")
        for _ in range(2):
            person.submit(person.lease()).raise_for_status()
    with Likewise(web.base_url, an_api_token(owner)) as requester:
        (mine,) = requester.campaigns()
        expected = AskAgain(answers=2, open=0, reopens=False, cost_cents=60, currency="USD")
        assert mine.price_of_asking_again(0) == expected
        mine.leave_out(0, "Random.", ask_again=False)
        assert mine.progress().asked_again == 0
        mine.leave_out(0, "Random.")
        now = mine.progress()
        assert (now.answers, now.asked_again, now.asked_again_open) == (0, 2, 2)
        assert all(answer.asked_again and answer.left_out for answer in mine.answers())
        mine.take_back(0)
        assert mine.progress().answers == 2
