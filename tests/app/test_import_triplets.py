"""Importing triplets as they are published, and what a campaign makes of them."""

import csv
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.importing.problems import BadAnswerFile
from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.results.models import EmbeddedImage
from app.results.service import get_model
from learning.neighbors import nearest_neighbors
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_crowdster_strategy import run_job
from tests.support.answer_files import a_line, bring, name_of, packed

N = 30


def a_campaign_for(kind: str = "odd_one_out", **plan: object) -> Campaign:
    return another_campaign(an_account(), kind, **plan)


def another_campaign(owner: Account, kind: str = "odd_one_out", **plan: object) -> Campaign:
    return a_campaign(owner, a_collection(owner, N), kind=kind, **plan)


def lines(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def imported() -> list[tuple[list[int], list[int] | None]]:
    query = select(Grid.images, Answer.groups).join(Answer, Answer.grid_id == Grid.id)
    with transaction() as session:
        return [(images, groups) for images, groups in session.execute(query)]


@pytest.mark.parametrize(
    "text",
    [
        "4 17 2\n0 1 3\n",
        "4,17,2\n0,1,3\n",
        "4\t17\t2\n0\t1\t3\n",
        "anchor,near,far\n4,17,2\n0,1,3\n",
        "i,j,k\r\n4,17,2\r\n\r\n0,1,3\r\n",
        "4.0 17.0 2.0\n0.000e+00 1.000e+00 3.000e+00\n",
    ],
)
def test_positions_come_as_tools_write_them(environment: dict[str, str], text: str) -> None:
    campaign = a_campaign_for()
    report = bring(campaign, lines(text), file_format="triplets", named_by="position")
    assert (report.n_new, report.n_annotators, report.sizes) == (2, 1, (3, 3))
    assert sorted(imported()) == [([0, 1, 3], [0, 0, 1]), ([4, 17, 2], [0, 0, 1])]


def test_names_are_found_with_commas_and_spaces_in_them(environment: dict[str, str]) -> None:
    campaign = a_campaign_for("grid", grid_size=6)
    text = f'anchor,near,far\n{name_of(4)},"{name_of(17)}",{name_of(2)[:-4]}\n'
    assert bring(campaign, lines(text), file_format="triplets").n_new == 1
    assert imported() == [([4, 17, 2], [0, 0, 1])]


def test_the_same_file_again_adds_nothing_but_a_triplet_may_come_twice(
    environment: dict[str, str],
) -> None:
    campaign = a_campaign_for()
    text = "1 2 3\n1 2 3\n4 5 6\n"
    for n_new in (3, 0):
        report = bring(campaign, lines(text), file_format="triplets", named_by="position")
        assert (report.n_new, report.n_known) == (n_new, 3 - n_new)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 2\n", "2 values, not three images"),
        ("1 2 3 4\n", "4 values, not three images"),
        ("1 2 x\n", "A position must be a whole number, not 'x'"),
        ("1 2 2.5\n", "A position must be a whole number, not '2.5'"),
        ("1 2 nan\n", "A position must be a whole number, not 'nan'"),
        ("1 2 1e400\n", "A position must be a whole number, not '1e400'"),
        ("1 2 2\n", "twice"),
        ("1 2 99\n", "99"),
        ("1 2 -1\n", "-1"),
        ('1,"2,3\n', "not a line of a table"),
        ("\xff", "three images"),
        ("anchor near far\n", "empty"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_stored(
    environment: dict[str, str], text: str, says: str
) -> None:
    campaign = a_campaign_for()
    with pytest.raises(BadAnswerFile) as refused:
        bring(campaign, lines(text), file_format="triplets", named_by="position")
    assert says in str(refused.value)
    assert imported() == []


def test_votes_are_no_triplets(environment: dict[str, str]) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner, a_collection(owner, N), kind="select", strategy="neucrowd",
        settings={"features": "features"},
    )  # fmt: skip
    with pytest.raises(BadAnswerFile, match="votes on single images"):
        bring(campaign, lines("1 2 3\n"), file_format="triplets", named_by="position")


def test_an_odd_one_out_campaign_takes_no_other_answers(environment: dict[str, str]) -> None:
    campaign = a_campaign_for()
    with pytest.raises(BadAnswerFile, match="exactly one image in group 1"):
        bring(campaign, packed([a_line("ada", [0, 1, 2], [0, 1, 1])]))
    assert bring(campaign, packed([a_line("ada", [0, 1, 2, 3], [0, 1, 0, 0])])).n_new == 1


def test_published_triplets_become_a_map_and_leave_as_they_came(client: TestClient) -> None:
    points = np.random.default_rng(0).random((N, 2))
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(1_500):
        trio = rng.choice(N, 3, replace=False)
        away = [np.linalg.norm(points[np.delete(trio, k)][0] - points[np.delete(trio, k)][1])
                for k in range(3)]  # fmt: skip
        odd = int(np.argmin(away))
        rows.append([*np.delete(trio, odd).tolist(), int(trio[odd])])
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    campaign = a_campaign_for()
    report = bring(campaign, lines(text), file_format="triplets", named_by="position")
    assert report.n_new == 1_500
    run_job()
    with transaction() as session:
        model = get_model(session, reloaded(campaign.id))
        query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == model.id)
        places = np.stack(session.scalars(query.order_by(EmbeddedImage.position)).all())
    true, found = nearest_neighbors(points, 5), nearest_neighbors(places, 5)
    overlap = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(true, found, strict=True)])
    # By chance, 5 of 29.
    assert overlap > 0.6
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
    sign_in(client, owner)
    table = client.get(f"/api/v1/campaigns/{campaign.id}/export/triplets.csv").text
    leaving = [[int(value) for value in row] for row in list(csv.reader(io.StringIO(table)))[1:]]
    both = {tuple(row) for row in rows} | {(b, a, c) for a, b, c in rows}
    assert len(leaving) == 3_000
    assert {tuple(row) for row in leaving} == both
    trainset = client.get(f"/api/v1/campaigns/{campaign.id}/export/trainset.txt")
    assert trainset.headers["content-type"].startswith("text/plain")
    unordered = [(*sorted(row[:2]), row[2]) for row in rows]
    leaving = np.loadtxt(io.StringIO(trainset.text), dtype=int).tolist()
    assert sorted((*sorted(row[:2]), row[2]) for row in leaving) == sorted(unordered)
    # The file can come back as it left.
    again = another_campaign(owner)
    returned = bring(again, lines(trainset.text), file_format="triplets", named_by="position")
    assert returned.n_new == 1_500
