"""The annotators' page inside MTurk's frame: of another site, and sandboxed.

The emulator stands for MTurk. `*.localhost` are names of this machine that are sites of their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jinja2 import FunctionLoader
from sqlalchemy import func, select
from starlette.templating import Jinja2Templates

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer, Assignment
from app.core.database import transaction
from app.recruitment.accounts import add_account
from app.recruitment.models import Posting
from app.recruitment.service import RecruitmentPlan, open_recruitment, plan_recruitment
from emulators.mturk import pages
from emulators.mturk.server import Emulator, running
from likewise.embedded import free_port
from testbed.builders import a_campaign, an_account
from testbed.system import System, running_system, wait_until
from tests.conftest import used_here

WORKER = "A1WORKER"
REWARD = 200
SECRET = {"access_key_id": "emulator", "secret_access_key": "emulator-secret"}
SANDBOXES = {
    "with its origin": "allow-scripts allow-same-origin allow-forms",
    "without an origin": "allow-scripts allow-forms",
}


@contextmanager
def emulator_of_mturk() -> Iterator[Emulator]:
    port = free_port()
    with running(port, worker_site=f"http://work.localhost:{port}") as emulator:
        yield emulator


@contextmanager
def likewise_for(mturk: Emulator, environment: dict[str, str], folder: Path) -> Iterator[System]:
    """Web server and dispatcher, on a site that is not the emulator's; settings here, too."""
    port = free_port()
    settings = {
        "LIKEWISE_BASE_URL": f"http://likewise.localhost:{port}",
        "LIKEWISE_MTURK_ENDPOINT": mturk.endpoint_url,
        "LIKEWISE_MTURK_WORKER_SITE": str(mturk.state.options.worker_site),
        "LIKEWISE_POLL_SECONDS": "1",
    }
    names = ("web", "dispatcher")
    with (
        running_system(environment, folder, *names, web_port=str(port), **settings) as system,
        used_here(system.environment),
    ):
        yield system


def recruited(n_grids: int = 2, **settings: object) -> str:
    """The id of a HIT for a campaign of so many grids an assignment."""
    owner = an_account()
    campaign = a_campaign(
        owner, budget=40, grids_per_assignment=n_grids, annotation={"descriptions": "none"}
    )
    with transaction() as session:
        account = session.get_one(Account, owner.id)
        credentials = add_account(
            session, account, channel="mturk", name="", environment="custom", secret=SECRET
        )
        plan = RecruitmentPlan(
            "mturk", 3, credentials.id, reward_cents=REWARD, settings=dict(settings)
        )
        recruitment = plan_recruitment(session, account, campaign.id, plan)
        open_recruitment(session, account, recruitment.id)
    return wait_until("the HIT", published)


def published() -> str | None:
    with transaction() as session:
        return session.scalar(select(Posting.external_id))


def rows() -> dict[str, int]:
    with transaction() as session:
        return {
            model.__tablename__: session.scalar(select(func.count()).select_from(model)) or 0
            for model in (Annotator, Assignment, Answer)
        }


def states() -> list[tuple[str, bool]]:
    with transaction() as session:
        assignments = session.scalars(select(Assignment)).all()
        return [
            (assignment.state, assignment.handed_in_at is not None) for assignment in assignments
        ]


def set_sandbox(monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    """MTurk does not say what its frames are allowed: here are other flags than the emulator's."""
    env = pages._templates.env
    assert env.loader is not None
    source_of = env.loader.get_source

    def changed(name: str) -> str:
        return source_of(env, name)[0].replace(SANDBOXES["with its origin"], flags)

    changing = Jinja2Templates(env=env.overlay(loader=FunctionLoader(changed)))
    monkeypatch.setattr(pages, "_templates", changing)
