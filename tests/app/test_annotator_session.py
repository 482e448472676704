"""What comes before and around the grids: consent, practice, remarks, leases ahead, languages."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.annotation.catalogues import choose_language
from app.annotation.models import Answer, Remark
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.known import add_known_answers, practice_grid
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.core.database import locked, transaction
from app.core.errors import InvalidInput
from app.core.markdown import render_markdown
from app.results.dataset import load_learning_data
from testbed.builders import COLOURS, a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, expire, submit


def opened(client: TestClient, campaign: Campaign, key: str = "annotator-000001") -> dict[str, Any]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    reply = client.post("/api/v1/annotate/sessions", json={"link": link, "annotator_key": key})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


def step(client: TestClient, who: dict[str, str], name: str) -> str:
    reply = client.post("/api/v1/annotate/steps", json={"step": name}, headers=who)
    return str(reply.json()["stage"])


def kinds(lease: dict[str, Any]) -> list[int]:
    """The colour in the builders' table of each image of a grid."""
    return [shown["image"] % len(COLOURS) for shown in lease["images"]]


# --- before the grids ------------------------------------------------------------------------


def test_consent_and_practice_come_first_and_the_server_insists(client: TestClient) -> None:
    campaign = a_campaign(
        annotation={"consent": "Be *kind*", "known_attribute": "colour", "practice": 1}
    )
    session = opened(client, campaign)
    assert session["stage"] == "consent"
    assert session["next"] is None
    assert session["campaign"]["consent_html"] == "<p>Be <em>kind</em></p>\n"
    who = {"Authorization": f"Bearer {session['token']}"}
    refused = client.post("/api/v1/annotate/leases", headers=who)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared")
    assert step(client, who, "consent") == "instructions"
    assert client.post("/api/v1/annotate/leases", headers=who).json()["code"] == "not_prepared"
    assert step(client, who, "instructions") == "practice"
    assert client.post("/api/v1/annotate/leases", headers=who).json()["code"] == "not_prepared"
    practice = client.get("/api/v1/annotate/practice", headers=who).json()
    images = [shown["image"] for shown in practice["images"]]
    wrong = {"images": images, "groups": [0] * len(images)}
    feedback = client.post("/api/v1/annotate/practice", json=wrong, headers=who).json()
    assert (feedback["passed"], feedback["agreement"]) == (False, 0)
    truth = feedback["truth"]
    same = {(images[i] % 3 == images[j] % 3) == (truth[i] == truth[j])
            for i in range(len(images)) for j in range(i)}  # fmt: skip
    assert same == {True}
    right = {"images": images, "groups": [image % 3 for image in images]}
    feedback = client.post("/api/v1/annotate/practice", json=right, headers=who).json()
    assert (feedback["passed"], feedback["agreement"]) == (True, 1)
    assert feedback["state"] == {"stage": "work", "practice": {"done": 1, "total": 1}}
    assert opened(client, campaign)["next"]["status"] == "leased"
    assert client.get("/api/v1/annotate/practice", headers=who).json()["code"] == "no_practice"


def test_a_try_that_is_sent_again_counts_once(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 1})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    for tries in range(2):
        shown = client.get("/api/v1/annotate/practice", headers=who).json()
        assert shown["tries"] == tries
        images = [image["image"] for image in shown["images"]]
        body = {"images": images, "groups": [0] * len(images), "number": 0, "tries": tries}
        replies = [
            client.post("/api/v1/annotate/practice", json=body, headers=who) for _ in range(2)
        ]
        assert [reply.status_code for reply in replies] == [200, 200]
        assert replies[0].json() == replies[1].json()
    assert replies[1].json()["state"]["stage"] == "work"


def test_two_failures_are_enough_practice(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 2})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    for expected in (0, 1, 1, 2):
        images = [
            shown["image"]
            for shown in client.get("/api/v1/annotate/practice", headers=who).json()["images"]
        ]
        body = {"images": images, "groups": [0] * len(images)}
        feedback = client.post("/api/v1/annotate/practice", json=body, headers=who).json()
        assert feedback["state"]["practice"]["done"] == expected
    assert feedback["state"]["stage"] == "work"


def test_practice_with_other_images_is_refused(client: TestClient) -> None:
    campaign = a_campaign(annotation={"known_attribute": "colour", "practice": 1})
    who = a_session(client, campaign)
    step(client, who, "instructions")
    body = {"images": [0, 1], "groups": [0, 1]}
    refused = client.post("/api/v1/annotate/practice", json=body, headers=who)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_images")


# --- what a requester may set ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"gold_share": 0.9}, "gold_share"),
        ({"practice": -1}, "practice"),
        ({"colour": "blue"}, "colour"),
        ({"completion_url": "javascript:alert(1)"}, "https://"),
        ({"language": "xx"}, "language"),
        ({"measures": ["shout"]}, "measures"),
        ({"known_attribute": "smell"}, "smell"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    environment: dict[str, str], values: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        a_campaign(annotation=values)


def test_gold_grids_need_known_answers_before_the_start(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="known answers"):
        a_campaign(annotation={"gold_share": 0.1})


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (b"a,b\n1,2\n", "columns grid, filename, group"),
        (b"grid,filename,group\n1,nowhere.png,a\n", "Line 2: The collection has no image"),
        (b"grid,filename,group\n1,image-000.png,a\n1,image-000.png,b\n", "twice"),
        (b"grid,filename,group\n1,image-000.png,a\n1,image-001.png,b\n", "must have 6"),
        (
            b"grid,filename,group\n" + b"".join(b"1,image-%03d.png,a\n" % k for k in range(6)),
            "1 groups",
        ),
        (b"\xff\xfe", "not valid CSV"),
        (b"grid,filename,group\n", "table is empty"),
    ],
)
def test_known_answers_that_cannot_be_used_are_refused_by_line(
    client: TestClient, table: bytes, says: str
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/known-answers"
    refused = client.post(address, files={"file": ("known.csv", table)})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_known_answers")
    assert says in refused.json()["detail"]
    with transaction() as session:
        assert session.scalar(select(func.count()).where(Grid.role == "gold")) == 0


def test_known_answers_of_ones_own_serve_practice_and_gold(client: TestClient) -> None:
    owner = an_account()
    sign_in(client, owner)
    plan = CampaignPlan(
        name="Own", collection_id=a_collection(owner).id, rounds=1, budget=4, grid_size=6,
        annotation={"practice": 1, "gold_share": 0.5},
    )  # fmt: skip
    with transaction() as session:
        campaign = create_campaign(session, owner, plan)
    lines = [f"{grid},image-{3 * grid + k:03d}.png,{k % 2}" for grid in (1, 2) for k in range(6)]
    table = "\n".join(["grid,filename,group", *lines]).encode()
    address = f"/api/v1/campaigns/{campaign.id}/known-answers"
    assert client.post(address, files={"file": ("k.csv", table)}).json() == {"added": 2}
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    who = a_session(client, campaign)
    step(client, who, "instructions")
    practice = client.get("/api/v1/annotate/practice", headers=who).json()
    assert sorted(shown["image"] for shown in practice["images"]) == list(range(3, 9))
    with transaction() as session:
        roles = session.scalars(select(Grid.role).where(Grid.role != "ask"))
        assert sorted(roles) == ["gold", "practice"]


def test_texts_may_change_while_people_work_and_wrong_ones_change_nothing(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/annotation"
    assert client.patch(address, json={"thanks": "Bye"}).json()["thanks"] == "Bye"
    refused = client.patch(address, json={"thanks": "Hi", "gold_share": 2})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_annotation")
    assert annotation_of(reloaded(campaign.id).annotation).thanks == "Bye"
    page = client.get(f"/campaigns/{campaign.id}/annotation", headers={"accept": "text/html"})
    assert "Bye" in page.text
    form = {"thanks": "From the form", "gold_share": "0.5", "practice": "x"}
    shown = client.post(f"/campaigns/{campaign.id}/annotation", data=form)
    assert shown.status_code == 422
    assert "From the form" in shown.text
    assert "Practice grids (practice): " in shown.text
    saved = client.post(
        f"/campaigns/{campaign.id}/annotation",
        data={"thanks": "Again", "measures": ["stop", "warn"]},
        follow_redirects=False,
    )
    assert saved.status_code == 303
    settings = annotation_of(reloaded(campaign.id).annotation)
    assert (settings.thanks, settings.measures) == ("Again", ["warn", "stop"])
    assert settings.show_instructions is False


def test_markdown_of_requesters_is_harmless() -> None:
    html = render_markdown(
        "# Title\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n"
        "[a](javascript:alert(1)) [b](https://example.org) ![c](https://example.org/x.png)"
    )
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "<h2>Title</h2>" in html
    assert 'target="_blank"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


# --- around the grids ------------------------------------------------------------------------


def test_remarks_are_kept_and_broken_images_are_not_learned_from(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    image = lease["images"][2]["image"]
    body = {"kind": "broken_image", "lease_id": lease["id"], "image": image}
    assert client.post("/api/v1/annotate/remarks", json=body, headers=who).status_code == 204
    other = next(k for k in range(30) if k not in [shown["image"] for shown in lease["images"]])
    refused = client.post("/api/v1/annotate/remarks", json={**body, "image": other}, headers=who)
    assert refused.json()["code"] == "unknown_images"
    refused = submit(client, who, lease, unseen=[other])
    assert refused.json()["code"] == "unknown_images"
    assert submit(client, who, lease, unseen=[image]).status_code == 200
    with transaction() as session:
        data = load_learning_data(session, reloaded(campaign.id))
        assert session.scalar(select(func.count()).select_from(Remark)) == 1
    assert image not in data.rounds[0].images
    assert (data.rounds[0].images >= 0).sum() == 5
    sign_in(client, owner)
    (remark,) = client.get(f"/api/v1/campaigns/{campaign.id}/remarks").json()["items"]
    assert (remark["kind"], remark["image"], remark["annotator"]) == ("broken_image", image, 0)


def test_the_grid_ahead_is_the_next_one(client: TestClient) -> None:
    who = a_session(client, a_campaign(budget=20))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    assert ahead["id"] != lease["id"]
    again = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    assert again["id"] == ahead["id"]
    assert a_lease(client, who)["id"] == lease["id"]
    submit(client, who, lease)
    assert a_lease(client, who)["id"] == ahead["id"]


def test_a_grid_ahead_that_is_being_submitted_is_not_waited_for(client: TestClient) -> None:
    """A submission holds its answer when it asks for the assignment, which a claim holds."""
    who = a_session(client, a_campaign(budget=20))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    submit(client, who, lease)
    with transaction() as session:
        locked(session, Answer, UUID(ahead["id"]))
        reply = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (reply["status"], reply["lease"]) == ("wait", None)
    assert a_lease(client, who)["id"] == ahead["id"]


def test_nobody_leases_ahead_what_others_wait_for(client: TestClient) -> None:
    campaign = a_campaign(budget=5)
    who = a_session(client, campaign)
    assert client.post("/api/v1/annotate/leases/ahead", headers=who).json()["status"] == "wait"
    a_lease(client, who)
    reply = client.post("/api/v1/annotate/leases/ahead", headers=who).json()
    assert (reply["status"], reply["lease"]) == ("wait", None)


def test_all_images_of_a_grid_come_in_one_reply(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    address = f"/api/v1/annotate/leases/{lease['id']}/images"
    bundle = client.get(f"{address}/small", headers=who).content
    pictures = []
    while bundle:
        length = int.from_bytes(bundle[:4], "little")
        pictures.append(bundle[4 : 4 + length])
        bundle = bundle[4 + length :]
    assert len(pictures) == len(lease["images"])
    assert all(picture[:4] == b"RIFF" for picture in pictures)
    assert client.get(f"{address}/huge", headers=who).status_code == 404
    stranger = a_session(client, campaign, "annotator-000002")
    assert client.get(f"{address}/small", headers=stranger).status_code == 404
    assert client.get(f"{address}/small").status_code == 401


def test_work_in_a_lease_that_ran_out_comes_back_and_an_empty_one_does_not(
    client: TestClient,
) -> None:
    campaign = a_campaign(budget=8)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    draft = {"version": 1, "groups": [0, 0, -1, -1, -1, -1], "descriptions": []}
    client.put(f"/api/v1/annotate/leases/{lease['id']}/draft", json=draft, headers=who)
    expire(lease)
    back = a_lease(client, who)
    assert (back["id"], back["draft"]["groups"]) == (lease["id"], draft["groups"])
    assert back["expires_at"] > lease["expires_at"]
    expire(lease)
    other = a_session(client, campaign, "annotator-000002")
    taken = a_lease(client, other)
    assert taken["grid_id"] == lease["grid_id"]
    submit(client, other, taken)
    still = a_lease(client, who)
    assert still["id"] == lease["id"]
    assert submit(client, who, still).json()["status"] == "surplus"


@pytest.mark.parametrize(
    ("asked", "campaign", "accepted", "language"),
    [
        ("", "auto", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "auto", "fr,ar;q=0.5,en;q=0.3", "ar"),
        ("", "auto", "fr;q=x,*", "en"),
        ("", "auto", "", "en"),
        ("", "de", "en", "de"),
        ("ar", "de", "en", "ar"),
        ("xx", "auto", "de;q=0,en", "en"),
    ],
)
def test_the_language_is_chosen(asked: str, campaign: str, accepted: str, language: str) -> None:
    assert choose_language(asked, campaign, accepted) == language


def test_the_trace_can_be_played_back_and_taken_away(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    device = {"width": 360, "height": 740, "ratio": 3, "pointer": "coarse", "language": "de"}
    trace = [[0, "o"], [900, "p", 0, 0, 1]]
    submit(client, who, a_lease(client, who), trace=trace, device=device)
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/answers"
    (answer,) = client.get(f"{base}?annotator=0&replay=true").json()["items"]
    assert (answer["replay"]["trace"], answer["replay"]["device"]) == (trace, device)
    assert client.get(answer["replay"]["urls"][5]).status_code == 200
    assert client.get(base).json()["items"][0]["replay"] is None
    assert client.get(f"{base}?annotator=7").json() == {"items": [], "next": None}
    exported = client.get(f"/api/v1/campaigns/{campaign.id}/export/traces.jsonl").text
    assert '"trace":[[0, "o"], [900, "p", 0, 0, 1]]' in exported


def test_skipped_grids_go_to_somebody_else(client: TestClient) -> None:
    campaign = a_campaign(budget=8)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    address = f"/api/v1/annotate/leases/{lease['id']}/return"
    assert client.post(address, json={"why": "blurred"}, headers=who).status_code == 204
    assert a_lease(client, who)["grid_id"] != lease["grid_id"]
    other = a_session(client, campaign, "annotator-000002")
    assert a_lease(client, other)["grid_id"] == lease["grid_id"]
    with transaction() as session:
        assert session.scalars(select(Remark.text)).all() == ["blurred"]


@pytest.mark.usefixtures("environment")
def test_people_who_come_at_once_get_the_same_practice_grid_of_the_list() -> None:
    campaign = a_campaign()
    lines = [f"{k // 6},image-{k:03d}.png,{k % 2}" for k in range(12)]
    table = "\n".join(["grid,filename,group", *lines]).encode()
    with transaction() as session:
        assert add_known_answers(session, locked(session, Campaign, campaign.id), table) == 2

    def come() -> int:
        with transaction() as session:
            grid = practice_grid(session, session.get_one(Campaign, campaign.id), 0)
            assert grid is not None
            return grid.id

    with transaction() as session, ThreadPoolExecutor(4) as pool:
        first = practice_grid(session, session.get_one(Campaign, campaign.id), 0)
        assert first is not None
        session.flush()
        others = [pool.submit(come) for _ in range(4)]
        # Long enough for the others to come to wait for the lock.
        time.sleep(0.5)
        session.commit()
        assert {other.result() for other in others} == {first.id}
