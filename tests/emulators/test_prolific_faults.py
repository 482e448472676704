"""The emulator of Prolific: webhooks, signed addresses, pages, and what goes wrong on purpose."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import httpx
import pytest
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from tests.emulators.researcher import Body, Desk, a_desk, code, draft
from tests.support.receiver import Receiver, a_receiver

EVENT = "submission.status.change"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as listening:
        yield listening


def subscribe(desk: Desk, target: str, event: str = EVENT) -> str:
    """The secret of a subscription that was confirmed."""
    secret = desk.post("hooks/secrets/", {"workspace_id": desk.workspace}, 201)["value"]
    wanted = {"workspace_id": desk.workspace, "event_type": event, "target_url": target}
    reply = desk.http.post("/api/v1/hooks/subscriptions/", json=wanted)
    assert reply.status_code == 201
    assert reply.json()["is_enabled"] is False
    id, confirmation = reply.json()["id"], reply.headers["X-Hook-Secret"]
    desk.post(f"hooks/subscriptions/{id}/", {"secret": "guessed"}, 400)
    confirmed = desk.post(f"hooks/subscriptions/{id}/", {"secret": confirmation})
    assert confirmed["is_enabled"] is True
    return str(secret)


def eventually(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def signed(headers: dict[str, str], body: bytes, secret: str) -> bool:
    """What a receiver does to check a delivery, written from the documentation alone."""
    lower = {name.lower(): value for name, value in headers.items()}
    message = lower["x-prolific-request-timestamp"].encode() + body
    digest = hmac.new(secret.encode(), message, hashlib.sha256).digest()
    return base64.b64encode(digest).decode() == lower.get("x-prolific-request-signature")


def test_a_delivery_is_signed_and_tells_the_new_status(desk: Desk, receiver: Receiver) -> None:
    secret = subscribe(desk, receiver.url)
    submission = desk.take_part(desk.study())
    eventually(lambda: len(receiver.came) == 2)
    payloads = [json.loads(body) for _, body in receiver.came]
    assert {payload["status"] for payload in payloads} == {"RESERVED", "ACTIVE"}
    assert payloads[0] | {"status": ""} == {
        "resource_id": submission,
        "event_type": EVENT,
        "participant_id": desk.person(),
        "status": "",
    }
    assert all(signed(headers, body, secret) for headers, body in receiver.came)
    assert not signed(*receiver.came[0], secret + "x")
    sent = float(receiver.came[0][0]["X-Prolific-Request-Timestamp"])
    assert abs(sent - time.time()) < 5


def test_a_failed_delivery_is_repeated_under_the_same_id(desk: Desk, receiver: Receiver) -> None:
    subscribe(desk, receiver.url, "study.status.change")
    receiver.statuses = [500, 500, 204]
    study = desk.study()
    for attempts in (1, 2, 3):
        eventually(lambda n=attempts: len(receiver.came) == n)  # type: ignore[misc]
        eventually(lambda n=attempts: answers(desk) == [500, 500, 204][:n])  # type: ignore[misc]
        desk.wait(3600)
    assert len({headers["X-Event-ID"] for headers, _ in receiver.came}) == 1
    (subscription,) = cast(list[Body], desk.get("hooks/subscriptions/")["results"])
    events = desk.get(f"hooks/subscriptions/{subscription['id']}/events/", resource_id=study)
    assert [event["status"] for event in cast(list[Body], events["results"])] == ["SUCCEEDED"]


def answers(desk: Desk) -> list[object]:
    return [answer for event in desk.emulator.state.hooks.events for answer in event.answers]


def test_nobody_there_for_five_days_ends_a_subscription(desk: Desk) -> None:
    subscribe(desk, "http://127.0.0.1:9/closed")
    hooks = desk.emulator.state.hooks
    for day in range(6):
        assert len(cast(list[Body], desk.get("hooks/subscriptions/")["results"])) == 1, day
        before = len(answers(desk))
        desk.take_part(desk.study(), day)
        eventually(lambda n=before: len(answers(desk)) >= n + 2)  # type: ignore[misc]
        if day < 5:
            desk.wait(24 * 3600 - 1)
            eventually(lambda: not hooks.under_way)
    desk.wait(60)
    desk.take_part(desk.study(), 6)
    eventually(lambda: desk.get("hooks/subscriptions/")["results"] == [])


def test_targets_are_public_unless_local_ones_are_let_through(desk: Desk) -> None:
    desk.post("hooks/secrets/", {"workspace_id": desk.workspace}, 201)
    wanted = {"workspace_id": desk.workspace, "event_type": EVENT}
    for url in ("http://example.org/hook", "ftp://127.0.0.1/", "nowhere"):
        desk.post("hooks/subscriptions/", {**wanted, "target_url": url}, 400)
    with a_desk(local_targets=False) as strict:
        strict.post("hooks/secrets/", {"workspace_id": strict.workspace}, 201)
        there = {"workspace_id": strict.workspace, "event_type": EVENT}
        strict.post("hooks/subscriptions/", {**there, "target_url": "https://localhost/"}, 400)


def test_deliveries_twice_and_out_of_order(desk: Desk, receiver: Receiver) -> None:
    subscribe(desk, receiver.url)
    desk.faults({"operation": "hook", "kind": "duplicate"})
    submission = desk.take_part(desk.study())
    eventually(lambda: len(receiver.came) == 4)
    assert len({headers["X-Event-ID"] for headers, _ in receiver.came}) == 2
    receiver.came.clear()
    late = {"operation": "hook", "kind": "late", "seconds": 60.0, "times": 1}
    desk.faults(late)
    desk.come_back(submission)  # its event is held back …
    desk.decide(submission, "APPROVE")
    eventually(lambda: len(receiver.came) == 1)
    desk.wait(60)
    eventually(lambda: len(receiver.came) == 2)
    assert [json.loads(body)["status"] for _, body in receiver.came] == [
        "APPROVED", "AWAITING REVIEW",
    ]  # fmt: skip
    first, second = (int(headers["X-Timestamp"]) for headers, _ in receiver.came)
    assert second <= first  # … and tells by its time that it is older


def test_false_deliveries_on_demand(desk: Desk, receiver: Receiver) -> None:
    secret = subscribe(desk, receiver.url)
    about = {"event_type": EVENT, "resource_id": "0" * 24, "status": "APPROVED"}

    def sent(**more: object) -> tuple[dict[str, str], bytes]:
        desk.post("/emulator/hooks/send", {**about, **more})
        return receiver.came[-1]

    good = sent(event_id="one")
    assert signed(*good, secret)
    assert not signed(*sent(mode="wrong-signature"), secret)
    assert "X-Prolific-Request-Signature" not in sent(mode="no-signature")[0]
    old = sent(age_seconds=301.0)
    assert signed(*old, secret)
    assert time.time() - float(old[0]["X-Prolific-Request-Timestamp"]) > 300
    again = sent(mode="replay", event_id="one")
    assert again[1] == good[1]
    name = "X-Prolific-Request-Signature"
    assert again[0][name] == good[0][name]


def token_of(desk: Desk, number: int) -> tuple[str, str, str]:
    """Submission, the address before it was signed, and the token."""
    study = desk.study(is_external_study_url_secure=True)
    wanted = {"participant": desk.person(number)}
    reply = desk.post(f"/market/studies/{study}/take-part", wanted)
    address, _, token = str(reply["url"]).partition("&prolific_token=")
    return str(reply["submission_id"]), address, token


def test_a_signed_address_can_be_checked_with_the_published_keys(desk: Desk) -> None:
    submission, address, token = token_of(desk, 0)
    published = desk.get("/.well-known/study/jwks.json")
    keys = KeySet.import_key_set(cast(KeySetSerialization, published))
    decoded = jwt.decode(token, keys, algorithms=["RS256"])
    assert decoded.header["alg"] == "RS256"
    claims = decoded.claims
    assert (claims["iss"], claims["sub"]) == ("https://www.prolific.com", submission)
    assert claims["aud"] == address
    assert claims["exp"] - claims["iat"] == 120
    assert claims["prolific"]["PROLIFIC_PID"] == desk.person(0)
    assert claims["prolific"]["workspace_id"] == desk.workspace
    desk.faults({"operation": "study-url", "kind": "forged"})
    with pytest.raises(JoseError):
        jwt.decode(token_of(desk, 1)[2], keys, algorithms=["RS256"])
    desk.faults({"operation": "study-url", "kind": "expired"})
    expired = jwt.decode(token_of(desk, 2)[2], keys, algorithms=["RS256"])
    with pytest.raises(ExpiredTokenError):
        jwt.JWTClaimsRegistry().validate(expired.claims)
    desk.faults({"operation": "study-url", "kind": "foreign"})
    submission, _, token = token_of(desk, 3)
    assert jwt.decode(token, keys, algorithms=["RS256"]).claims["sub"] != submission


def test_without_the_feature_addresses_are_not_signed() -> None:
    with a_desk(features=frozenset()) as desk:
        desk.post("studies/", draft(is_external_study_url_secure=True), 403)


def test_an_error_before_the_effect_and_one_after_it(desk: Desk) -> None:
    study = desk.study()
    submission = desk.finished(study)
    bulk = desk.set_up_bonus(study, f"{submission},1")["id"]
    address = f"bulk-bonus-payments/{bulk}/pay/"
    pay = "pay-bonus-payments"
    desk.faults({"operation": pay, "kind": "5xx-before", "times": 1, "status": 502})
    desk.post(address, None, 502)
    desk.faults({"operation": pay, "kind": "429", "times": 1})
    desk.post(address, None, 429)
    desk.wait(60)
    assert desk.bonuses(submission) == []
    desk.faults({"operation": pay, "kind": "5xx-after", "times": 1})
    desk.post(address, None, 503)
    desk.wait(60)
    assert desk.bonuses(submission) == [100]
    kinds = [call.fault for call in desk.emulator.state.calls if call.operation == pay]
    assert kinds == ["5xx-before", "429", "5xx-after"]


@pytest.mark.parametrize(("kind", "paid"), [("timeout-before", []), ("timeout-after", [100])])
def test_a_call_that_hangs(desk: Desk, kind: str, paid: list[int]) -> None:
    study = desk.study()
    submission = desk.finished(study)
    bulk = desk.set_up_bonus(study, f"{submission},1")["id"]
    desk.faults({"operation": "pay-*", "kind": kind, "seconds": 1.0})
    with pytest.raises(httpx.ReadTimeout):
        desk.http.post(f"/api/v1/bulk-bonus-payments/{bulk}/pay/", timeout=0.1)
    desk.wait(60)
    assert desk.bonuses(submission) == paid


def test_faults_come_as_often_as_they_are_told_to(desk: Desk) -> None:
    desk.faults(
        {"operation": "get-user", "kind": "5xx-before", "probability": 0.2},
        {"operation": "get-user", "kind": "429", "probability": 0.1},
    )
    codes = [desk.http.get("/api/v1/users/me/").status_code for _ in range(300)]
    assert 35 <= codes.count(503) <= 85
    assert 10 <= codes.count(429) <= 45


def test_a_status_that_is_seen_late(desk: Desk, receiver: Receiver) -> None:
    subscribe(desk, receiver.url)
    study = desk.study()
    submission = desk.take_part(study)
    eventually(lambda: len(receiver.came) == 2)
    desk.faults({"operation": "submission-status", "kind": "late", "seconds": 120.0, "times": 1})
    desk.post(f"/market/submissions/{submission}/complete", {"code": "DONE"})
    desk.wait(100)
    assert desk.status(submission) == "ACTIVE"
    (short,) = cast(list[Body], desk.get(f"studies/{study}/submissions/")["results"])
    assert (short["status"], short["study_code"]) == ("ACTIVE", None)
    assert len(receiver.came) == 2
    desk.wait(30)
    assert desk.status(submission) == "AWAITING REVIEW"
    eventually(lambda: len(receiver.came) == 3)


def test_many_at_once_never_take_more_than_the_places(desk: Desk) -> None:
    study = desk.study(total_available_places=7)
    taken: list[str] = []

    def come(number: int) -> None:
        wanted = {"participant": desk.person(number)}
        address = f"{desk.emulator.url}/market/studies/{study}/take-part"
        reply = httpx.post(address, json=wanted, trust_env=False, timeout=60)
        if reply.status_code == 200:
            taken.append(reply.json()["submission_id"])

    threads = [threading.Thread(target=come, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 7


def test_the_pages_from_the_list_to_the_earnings(desk: Desk) -> None:
    """As a browser: forms, redirects and a cookie, no JSON."""
    study = desk.study(completion_codes=[code("YES", "AUTOMATICALLY_APPROVE")])
    with httpx.Client(base_url=desk.emulator.url, trust_env=False, timeout=60) as browser:
        person = desk.person(2)
        front = browser.get("/", params={"participant": person})
        assert "Group pictures" in front.text
        assert "£1.00" in front.text
        gone = browser.post(f"/studies/{study}/take-part", data={"participant": person})
        assert gone.status_code == 303
        there = httpx.URL(gone.headers["location"])
        assert there.params["PROLIFIC_PID"] == person
        assert there.params["STUDY_ID"] == study
        assert "You are taking part" in browser.get("/").text
        done = browser.get("/submissions/complete", params={"cc": "YES"})
        assert "Thank you" in done.text
        desk.wait(5)
        again = browser.get("/submissions/complete", params={"cc": "YES"})
        assert again.status_code == 200
        assert "£1.00" in browser.get("/earnings").text
        assert "No studies are available" in browser.get("/").text
        assert "All places" not in browser.get(f"/studies/{study}").text
        stranger = browser.get("/submissions/complete", params={"participant": desk.person(3)})
        assert stranger.status_code == 400
    assert desk.status(there.params["SESSION_ID"]) == "APPROVED"
    assert desk.journal("reward") == {"money": 100, "fee": 33}


def test_a_wrong_code_is_shown_as_wrong(desk: Desk) -> None:
    submission = desk.take_part(desk.study())
    with httpx.Client(base_url=desk.emulator.url, trust_env=False, timeout=60) as browser:
        back = {"cc": "<b>X", "participant": desk.person()}
        page = browser.get("/submissions/complete", params=back)
        assert "&lt;b&gt;X" in page.text
        assert "does not have the code" in page.text
    desk.wait(5)
    assert desk.status(submission) == "AWAITING REVIEW"
    assert desk.get(f"submissions/{submission}/")["entered_code"] == "<b>X"
