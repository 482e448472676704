"""An annotator who knows this code cannot tell gold grids and repeats from ordinary ones."""

import base64
import hashlib
import json
import re
import zlib
from math import ceil, floor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from app.annotation import even_pace
from app.annotation.checks import EARLY, due
from app.annotation.even_pace import STEP_SECONDS, seconds_to_step
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Grid
from app.core.database import transaction
from testbed.builders import COLOURS
from tests.app.test_annotation import a_session, submit
from tests.app.test_quality_control import a_checked_campaign

pytestmark = pytest.mark.usefixtures("environment")
SHARE, N_GRIDS, N_PEOPLE = 0.1, 30, 8
_UUID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of replies need not wait for the pace, which has tests of its own."""
    monkeypatch.setattr(even_pace, "STEP_SECONDS", 1e-6)


def all_replies(client: TestClient, campaign: Any, key: str) -> tuple[list[Any], str]:
    """All that the API tells somebody who works, and their token."""
    who = a_session(client, campaign, key)
    replies = []
    for _ in range(N_GRIDS):
        reply = client.post("/api/v1/annotate/leases", headers=who)
        replies.append(reply)
        lease = reply.json()["lease"]
        colours = [shown["image"] % len(COLOURS) for shown in lease["images"]]
        replies.append(
            submit(client, who, lease, groups=colours, descriptions=[], elapsed_ms=9_000)
        )
    return replies, who["Authorization"].removeprefix("Bearer ")


def ids_in(text: str) -> set[str]:
    """Whatever looks like an id in a text, or in what can be decoded of it."""
    texts = [text]
    for part in re.findall(r"[\w-]{16,}", text):
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        for shown in (data, _inflated(data)):
            texts += [shown.decode("latin-1"), shown.hex()]
        texts += [str(UUID(bytes=data[at : at + 16])) for at in range(max(0, len(data) - 15))]
    return {str(UUID(match)) for text in texts for match in _UUID.findall(text)}


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


def guessed(identity: str, kind: str, stretch: int) -> int:
    """The place that an unkeyed hash of an id gives, as checks once had it."""
    first, last = ceil(stretch / SHARE), ceil((stretch + 1) / SHARE)
    digest = hashlib.sha256(f"{identity}/{kind}/{stretch}".encode()).digest()
    return first + int.from_bytes(digest[:4]) % max(1, floor(EARLY * (last - first)))


@pytest.mark.usefixtures("hurried")
def test_no_id_that_is_told_gives_the_places_of_checks(client: TestClient) -> None:
    campaign = a_checked_campaign(
        budget=2_000, annotation={"gold_share": SHARE, "repeat_share": 0.0}
    )
    right: dict[str, int] = {}
    n_ids = 0
    for number in range(N_PEOPLE):
        key = f"attacker-{number:08d}"
        replies, token = all_replies(client, campaign, key)
        places = _gold_places(number)
        assert len(places) == round(N_GRIDS * SHARE)
        ids = ids_in(token) | {identity for reply in replies for identity in ids_in(reply.text)}
        n_ids = max(n_ids, len(ids))
        for kind in ("gold", "repeat"):
            for rank, identity in enumerate(sorted(ids)):
                guesses = {guessed(identity, kind, n) for n in range(len(places))}
                name = f"{kind} {rank}"
                right[name] = right.get(name, 0) + len(guesses & places)
    # Chance is one in eight; even the luckiest of so many rules stays far from knowing.
    assert n_ids > 0
    assert max(right.values()) < 0.6 * N_PEOPLE * N_GRIDS * SHARE


def _gold_places(position: int) -> set[int]:
    with transaction() as session:
        query = (
            select(Grid.role)
            .join(Answer, Answer.grid_id == Grid.id)
            .join(Annotator, Annotator.id == Answer.annotator_id)
            .where(Annotator.position == position)
            .order_by(Answer.submitted_at)
        )
        roles = session.scalars(query).all()
    return {place for place, role in enumerate(roles) if role == "gold"}


@pytest.mark.usefixtures("hurried")
def test_a_token_tells_nothing_but_when_it_was_made(client: TestClient) -> None:
    campaign = a_checked_campaign()
    _, token = all_replies(client, campaign, "attacker-00000000")
    with transaction() as session:
        known = {
            *map(str, session.scalars(select(Annotator.id))),
            *map(str, session.scalars(select(Assignment.id))),
            str(campaign.id),
        }
    assert not known & ids_in(token)


def test_the_places_follow_from_the_servers_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    people = [UUID(int=number) for number in range(50)]

    def places() -> list[list[int]]:
        return [[due(who, "gold", SHARE, index) for index in range(100)] for who in people]

    before = places()
    assert places() == before
    monkeypatch.setattr("app.core.security._keys", lambda: ["another-secret-of-the-server-32-long"])
    changed = sum(earlier != later for earlier, later in zip(before, places(), strict=True))
    assert changed == len(people)


@pytest.mark.usefixtures("hurried")
def test_replies_about_checks_look_like_all_others(client: TestClient) -> None:
    """Fields, their types, lengths of ids and addresses, and headers but those of the moment."""
    campaign = a_checked_campaign(budget=2_000, annotation={"gold_share": 0.2, "repeat_share": 0.2})
    replies, _ = all_replies(client, campaign, "attacker-00000000")
    with transaction() as session:
        query = select(Grid.role).join(Answer, Answer.grid_id == Grid.id)
        roles = session.scalars(query.order_by(Answer.submitted_at)).all()
    assert {"gold", "repeat", "ask"} <= set(roles)
    shapes: dict[str, set[str]] = {}
    for role, asked, answered in zip(roles, replies[::2], replies[1::2], strict=True):
        both = (_shape(asked.json()), _shape(answered.json()))
        headers = sorted(asked.headers.keys() | answered.headers.keys())
        shapes.setdefault(role, set()).add(json.dumps([both, headers]))
    assert shapes["gold"] == shapes["ask"]
    assert shapes["repeat"] == shapes["ask"]


def _shape(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _shape(member, key) for key, member in sorted(value.items())}
    if isinstance(value, list):
        return [_shape(item, name) for item in value]
    if isinstance(value, str) and name != "expires_at":
        return len(value)
    return type(value).__name__


@given(st.floats(0, 60))
def test_replies_leave_at_steps(elapsed: float) -> None:
    pause = seconds_to_step(elapsed)
    assert 0 <= pause <= STEP_SECONDS
    steps = (elapsed + pause) / STEP_SECONDS
    assert abs(steps - round(steps)) < 1e-6 * max(1.0, steps)


@pytest.mark.parametrize(("share", "is_even"), [(SHARE, True), (0.0, False)])
def test_claims_and_answers_of_a_campaign_with_checks_keep_an_even_pace(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, share: float, is_even: bool
) -> None:
    """All of them, whatever they are about."""
    campaign = a_checked_campaign(annotation={"gold_share": share, "repeat_share": 0.0})
    who = a_session(client, campaign, "attacker-00000000")
    pauses: list[float] = []

    def no_pause(elapsed: float) -> float:
        pauses.append(elapsed)
        return 0.0

    monkeypatch.setattr(even_pace, "seconds_to_step", no_pause)
    for number in range(1, 12):
        reply = client.post("/api/v1/annotate/leases", headers=who)
        lease = reply.json()["lease"]
        colours = [shown["image"] % len(COLOURS) for shown in lease["images"]]
        submit(client, who, lease, groups=colours, descriptions=[], elapsed_ms=9_000)
        assert len(pauses) == (2 * number if is_even else 0)
