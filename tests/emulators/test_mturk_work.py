"""Work on the MTurk emulator's HITs, who may do it, and every cent of it."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError
from defusedxml.ElementTree import fromstring

from tests.emulators.support import DAY, Crowd, a_hit, code_of, sentence_of


def test_from_hit_to_bonus(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, MaxAssignments=2, Reward="0.55")
    assert mturk.get_account_balance()["AvailableBalance"] == "9998.68"  # 2 × (0.55 + 20 %) held
    worker = crowd.worker()
    accepted = crowd.accept(hit, worker)
    address = httpx.URL(accepted["frame_url"])
    assert dict(address.params) == {
        "campaign": "7",
        "kind": "grids",
        "assignmentId": accepted["assignment_id"],
        "hitId": hit,
        "workerId": worker,
        "turkSubmitTo": str(crowd.http.base_url).rstrip("/"),
    }
    with pytest.raises(ClientError) as error:
        mturk.get_assignment(AssignmentId=accepted["assignment_id"])
    assert code_of(error) == "InvalidAssignmentState"
    crowd.submit(accepted, work="a < b & c", note="").raise_for_status()
    [assignment] = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    assert (assignment["WorkerId"], assignment["AssignmentStatus"]) == (worker, "Submitted")
    answers = [[part.text for part in answer] for answer in fromstring(assignment["Answer"])]
    assert answers == [["work", "a < b & c"], ["note", None]]
    mturk.approve_assignment(AssignmentId=assignment["AssignmentId"], RequesterFeedback="Thanks")
    mturk.send_bonus(
        AssignmentId=assignment["AssignmentId"], WorkerId=worker, BonusAmount="0.11", Reason="Quick"
    )
    assert crowd.totals() == {
        "reward": Decimal("0.55"),
        "fee": Decimal("0.11"),
        "bonus": Decimal("0.11"),
        "bonus_fee": Decimal("0.022"),
    }
    # 10000 − 0.66 − 0.132 − 0.66 still held; never shown larger than it is.
    assert mturk.get_account_balance()["AvailableBalance"] == "9998.54"
    [paid] = mturk.list_bonus_payments(HITId=hit)["BonusPayments"]
    assert (paid["BonusAmount"], paid["Reason"]) == ("0.11", "Quick")
    with pytest.raises(mturk.exceptions.RequestError) as error:
        mturk.approve_assignment(AssignmentId=assignment["AssignmentId"])
    assert code_of(error) == "InvalidAssignmentState"


def test_ten_assignments_cost_more_and_nine_never_become_ten(mturk: Any) -> None:
    nine = a_hit(mturk, MaxAssignments=8, Reward="1.00")
    mturk.create_additional_assignments_for_hit(HITId=nine, NumberOfAdditionalAssignments=1)
    assert mturk.get_account_balance()["AvailableBalance"] == "9989.20"  # 9 × 1.20
    with pytest.raises(ClientError) as error:
        mturk.create_additional_assignments_for_hit(HITId=nine, NumberOfAdditionalAssignments=1)
    assert code_of(error) == "InvalidMaximumAssignmentsIncrease"
    a_hit(mturk, MaxAssignments=10, Reward="1.00")
    assert mturk.get_account_balance()["AvailableBalance"] == "9975.20"  # 10 × 1.40
    with pytest.raises(ClientError) as error:
        a_hit(mturk, MaxAssignments=9, Reward="1000")
    assert code_of(error) == "InsufficientFunds"


def test_money_of_places_nobody_took_comes_back_and_is_held_again(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, Reward="1.00", MaxAssignments=3, LifetimeInSeconds=3600)
    crowd.work(hit)
    end = crowd.later(3600).timestamp()
    assert mturk.get_account_balance()["AvailableBalance"] == "9998.80"  # one waits for approval
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Reviewable"
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=end + DAY)
    assert mturk.get_account_balance()["AvailableBalance"] == "9996.40"
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Assignable"
    with pytest.raises(ClientError, match="has already been processed"):
        mturk.update_expiration_for_hit(HITId=hit, ExpireAt=end + DAY)


def test_tokens_are_kept_for_a_day(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, UniqueRequestToken="hit-1", LifetimeInSeconds=30 * DAY)
    with pytest.raises(ClientError) as error:
        a_hit(mturk, UniqueRequestToken="hit-1")
    assert code_of(error) == "HitAlreadyExists"
    assert hit in sentence_of(error)
    assignment = crowd.work(hit)
    bonus: dict[str, Any] = {
        "AssignmentId": assignment["assignment_id"],
        "WorkerId": assignment["worker_id"],
        "BonusAmount": "2",
        "Reason": "Well done",
        "UniqueRequestToken": "bonus-1",
    }
    more: dict[str, Any] = {
        "HITId": hit,
        "NumberOfAdditionalAssignments": 1,
        "UniqueRequestToken": "more-1",
    }
    for call, values in [
        (mturk.send_bonus, bonus),
        (mturk.create_additional_assignments_for_hit, more),
    ]:
        call(**values)
        with pytest.raises(ClientError, match=f'"{values["UniqueRequestToken"]}" has already'):
            call(**values)
    assert crowd.totals()["bonus"] == 2
    crowd.later(DAY)
    mturk.send_bonus(**bonus)
    assert a_hit(mturk, UniqueRequestToken="hit-1") != hit
    assert crowd.totals()["bonus"] == 4


def test_a_bonus_goes_only_to_who_did_the_assignment(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk)
    done, held = crowd.work(hit), crowd.accept(hit, crowd.worker())
    for assignment, worker in [(done, held["worker_id"]), (held, held["worker_id"])]:
        with pytest.raises(ClientError):
            mturk.send_bonus(
                AssignmentId=assignment["assignment_id"],
                WorkerId=worker,
                BonusAmount="1",
                Reason="x",
            )
    assert crowd.totals()["bonus"] == 0


def test_a_given_back_id_goes_to_the_next_worker(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk)
    first, second = crowd.worker(), crowd.worker()
    returned = crowd.accept(hit, first)
    crowd.give_back(returned)
    again = crowd.accept(hit, second)
    assert again["assignment_id"] == returned["assignment_id"]
    # The former holder's form names its worker and is refused; the holder's is taken.
    assert crowd.submit(returned, workerId=first, done="yes").status_code == 403
    assert crowd.submit(again).status_code == 200
    assert mturk.get_assignment(AssignmentId=again["assignment_id"])["Assignment"]["WorkerId"] == (
        second
    )
    mturk.approve_assignment(AssignmentId=again["assignment_id"])
    [entry] = [
        entry
        for entry in crowd.http.get("/emulator/journal").json()["entries"]
        if entry["kind"] == "reward"
    ]
    assert entry["worker_id"] == second


def test_abandoned_work_is_refused_and_its_place_is_free(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, MaxAssignments=1)
    slow, next_worker = crowd.worker(), crowd.worker()
    late = crowd.accept(hit, slow)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Unassignable"
    assert crowd.open_hits(next_worker) == []
    crowd.later(601)
    reply = crowd.submit(late)
    assert (reply.status_code, "abandoned" in reply.text) == (410, True)
    with pytest.raises(ClientError) as error:
        mturk.approve_assignment(AssignmentId=late["assignment_id"])
    assert code_of(error) == "AssignmentDoesNotExist"
    assert crowd.work(hit, next_worker)["assignment_id"] == late["assignment_id"]


def test_forms_that_are_nobodys_work_are_refused(mturk: Any, crowd: Crowd) -> None:
    accepted = crowd.accept(a_hit(mturk), crowd.worker())
    send = crowd.http.post
    for form, status in [
        ({"done": "yes"}, 400),
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "done": "yes"}, 400),
        ({"assignmentId": accepted["assignment_id"], "hitId": accepted["hit_id"]}, 400),
        ({"assignmentId": "3UNKNOWN", "done": "yes"}, 404),
        ({"assignmentId": accepted["assignment_id"], "hitId": "3OTHER", "done": "yes"}, 403),
        ({"assignmentId": accepted["assignment_id"], "done": "yes"}, 200),
        ({"assignmentId": accepted["assignment_id"], "done": "again"}, 409),
    ]:
        assert send("/mturk/externalSubmit", data=form).status_code == status, form
    assert mturk.get_assignment(AssignmentId=accepted["assignment_id"])


def test_work_approves_itself_and_a_rejection_can_be_taken_back(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, Reward="1.00", LifetimeInSeconds=300 * DAY)
    forgotten, rejected, lost = (crowd.work(hit)["assignment_id"] for _ in range(3))
    for assignment_id in (rejected, lost):
        mturk.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Not sorted")
    crowd.later(3 * DAY)
    assert (
        mturk.get_assignment(AssignmentId=forgotten)["Assignment"]["AssignmentStatus"] == "Approved"
    )
    assert crowd.totals()["reward"] == 1
    with pytest.raises(ClientError) as error:
        mturk.approve_assignment(AssignmentId=rejected)
    assert code_of(error) == "InvalidAssignmentState"
    mturk.approve_assignment(AssignmentId=rejected, OverrideRejection=True)
    assert crowd.totals()["reward"] == 2
    crowd.later(28 * DAY)
    with pytest.raises(ClientError, match="within 30 days"):
        mturk.approve_assignment(AssignmentId=lost, OverrideRejection=True)


def test_one_assignment_per_worker_and_no_more_than_asked(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, MaxAssignments=5)
    workers = [crowd.worker() for _ in range(4)] * 3
    with ThreadPoolExecutor(12) as pool:
        paths = [f"/market/hits/{hit}/accept"] * len(workers)
        replies = pool.map(lambda p, w: crowd.http.post(p, json={"worker_id": w}), paths, workers)
        statuses = sorted(reply.status_code for reply in replies)
    assert statuses == [201] * 4 + [409] * 8
    crowd.accept(hit, crowd.worker())
    with pytest.raises(httpx.HTTPStatusError, match="410"):
        crowd.accept(hit, crowd.worker())


def test_a_hit_runs_through_its_states(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, MaxAssignments=1)

    def state() -> str:
        return str(mturk.get_hit(HITId=hit)["HIT"]["HITStatus"])

    with pytest.raises(ClientError) as error:
        mturk.delete_hit(HITId=hit)
    assert code_of(error) == "InvalidHITState"
    assignment = crowd.work(hit)
    assert state() == "Reviewable"
    mturk.update_hit_review_status(HITId=hit)
    assert state() == "Reviewing"
    assert mturk.list_reviewable_hits(Status="Reviewing")["NumResults"] == 1
    mturk.update_hit_review_status(HITId=hit, Revert=True)
    with pytest.raises(ClientError) as error:
        mturk.delete_hit(HITId=hit)  # work waits to be judged
    mturk.reject_assignment(AssignmentId=assignment["assignment_id"], RequesterFeedback="Empty")
    mturk.create_additional_assignments_for_hit(HITId=hit, NumberOfAdditionalAssignments=1)
    assert state() == "Assignable"
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    mturk.delete_hit(HITId=hit)
    assert state() == "Disposed"
    assert mturk.list_hits()["NumResults"] == 0
    with pytest.raises(ClientError):
        mturk.approve_assignment(AssignmentId=assignment["assignment_id"], OverrideRejection=True)
    assert mturk.get_account_balance()["AvailableBalance"] == "10000.00"


def requirement(kind: str, comparator: str, **rest: object) -> dict[str, object]:
    return {"QualificationTypeId": kind, "Comparator": comparator, **rest}


def test_qualifications_keep_workers_away(mturk: Any, crowd: Crowd) -> None:
    former = mturk.create_qualification_type(
        Name="Former annotators", Description="Took part before", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    hit = a_hit(
        mturk,
        QualificationRequirements=[
            requirement("000000000000000000L0", "GreaterThanOrEqualTo", IntegerValues=[95]),
            requirement("00000000000000000040", "GreaterThan", IntegerValues=[100]),
            requirement(
                "00000000000000000071",
                "In",
                LocaleValues=[{"Country": "US", "Subdivision": "CA"}, {"Country": "NZ"}],
                ActionsGuarded="PreviewAndAccept",
            ),
            requirement(former, "DoesNotExist", ActionsGuarded="DiscoverPreviewAndAccept"),
        ],
    )
    good = {"percent_approved": 97, "number_approved": 101, "country": "NZ"}
    californian = crowd.worker(**good | {"country": "US", "subdivision": "CA"})
    crowd.accept(hit, californian)
    texan = crowd.worker(**good | {"country": "US", "subdivision": "TX"})
    poor = crowd.worker(**good | {"percent_approved": 94})
    new = crowd.worker(**good | {"number_approved": 100})
    known = crowd.worker(**good)
    mturk.associate_qualification_with_worker(QualificationTypeId=former, WorkerId=known)
    seen = {
        name: bool(crowd.open_hits(worker))
        for name, worker in {"texan": texan, "poor": poor, "new": new, "known": known}.items()
    }
    assert seen == {"texan": True, "poor": True, "new": True, "known": False}
    previews = [
        crowd.http.get(f"/market/hits/{hit}/preview", params={"worker": worker}).status_code
        for worker in (texan, poor, known)
    ]
    assert previews == [403, 200, 403]
    for worker in (texan, poor, new, known):
        with pytest.raises(httpx.HTTPStatusError, match="403"):
            crowd.accept(hit, worker)
    mturk.disassociate_qualification_from_worker(QualificationTypeId=former, WorkerId=known)
    mturk.create_worker_block(WorkerId=known, Reason="For now")
    with pytest.raises(httpx.HTTPStatusError, match="403"):
        crowd.accept(hit, known)
    mturk.delete_worker_block(WorkerId=known)
    crowd.accept(hit, known)


@pytest.mark.parametrize(
    ("requirements", "code"),
    [
        ([requirement("00000000000000000040", "Exists")] * 11, "ParameterOutOfRange"),
        ([requirement("3UNKNOWN", "Exists")], "QualificationTypeDoesNotExist"),
        ([requirement("00000000000000000040", "EqualTo")], "InvalidParameterCombinationError"),
        (
            [requirement("00000000000000000071", "EqualTo", IntegerValues=[1])],
            "InvalidParameterCombinationError",
        ),
        (
            [
                requirement(
                    "00000000000000000040",
                    "Exists",
                    RequiredToPreview=True,
                    ActionsGuarded="Accept",
                )
            ],
            "InvalidParameterCombinationError",
        ),
    ],
)
def test_requirements_that_make_no_sense_are_refused(
    mturk: Any, requirements: list[dict[str, object]], code: str
) -> None:
    with pytest.raises(ClientError) as error:
        a_hit(mturk, QualificationRequirements=requirements)
    assert code_of(error) == code


def test_letters_reach_only_those_whose_work_was_judged(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk)
    judged, waiting = crowd.work(hit), crowd.work(hit)
    mturk.approve_assignment(AssignmentId=judged["assignment_id"])
    failures = mturk.notify_workers(
        Subject="More",
        MessageText="There is more.",
        WorkerIds=[judged["worker_id"], waiting["worker_id"]],
    )["NotifyWorkersFailureStatuses"]
    assert [failure["WorkerId"] for failure in failures] == [waiting["worker_id"]]
    [letter] = crowd.http.get("/emulator/letters").json()
    assert letter["workers"] == [judged["worker_id"]]
