"""The emulator of Prolific: what it accepts, what it refuses, who takes part."""

from datetime import datetime, timedelta
from typing import cast

import httpx
import pytest

from emulators.prolific.server import running
from tests.emulators.researcher import LONG, Body, Desk, code, draft, error, results

DAY = 24 * 3600.0


def test_approving_at_the_moment_of_submission_is_refused(desk: Desk) -> None:
    submission = desk.take_part(desk.study())
    desk.post(f"/market/submissions/{submission}/complete", {"code": "DONE"})
    assert desk.status(submission) == "ACTIVE"
    desk.decide(submission, "APPROVE", 400)
    desk.wait(5)
    desk.decide(submission, "APPROVE")


def test_a_rejection_needs_a_category_and_a_hundred_characters(desk: Desk) -> None:
    submission = desk.finished(desk.study())
    desk.decide(submission, "REJECT", 400)
    desk.decide(submission, "REJECT", 400, rejection_category="LOW_EFFORT", message="x" * 99)
    desk.decide(submission, "REJECT", 400, rejection_category="RUDE", message=LONG)
    desk.decide(submission, "REJECT", rejection_category="LOW_EFFORT", message=LONG)
    assert desk.status(submission) == "REJECTED"


def test_a_transition_twice_is_one(desk: Desk) -> None:
    study = desk.study()
    submission = desk.finished(study)
    for _ in range(3):
        desk.decide(submission, "APPROVE")
    assert desk.journal("reward") == {"money": 100, "fee": 33}
    desk.decide(submission, "REJECT", 400, rejection_category="OTHER", message=LONG)
    other = desk.finished(study, 1)
    for _ in range(2):
        desk.decide(other, "REJECT", rejection_category="OTHER", message=LONG)
    desk.decide(other, "APPROVE", 400)
    for _ in range(2):
        desk.decide(other, "UNREJECT")
    desk.decide(other, "APPROVE")
    assert desk.journal("reward") == {"money": 200, "fee": 66}


def test_nobody_decides_for_21_days_and_it_is_approved(desk: Desk) -> None:
    submission = desk.finished(desk.study())
    desk.wait(21 * DAY - 60)
    assert desk.status(submission) == "AWAITING REVIEW"
    desk.wait(60)
    assert desk.status(submission) == "APPROVED"


@pytest.mark.parametrize(
    "change",
    [
        {"completion_code": "DONE"},  # a field of an older API
        {"reward": "100"},
        {"reward": 1.5},
        {"reward": 49},  # below £6 an hour
        {"total_available_places": 0},
        {"external_study_url": "nowhere"},
        {"maximum_allowed_time": 16},
        {"project": "0" * 24},
        {"filters": [{"filter_id": "shoe-size", "selected_values": ["1"]}]},
        {"filters": [{"filter_id": "sex", "selected_values": ["9"]}]},
        {"filters": [{"filter_id": "approval_rate", "selected_range": {}}]},
        {"completion_codes": [code("A"), code("A")]},
        {"completion_codes": [code("A", "MANUALLY_REVIEW", "AUTOMATICALLY_APPROVE")]},
        {"completion_codes": [code("A", "DYNAMIC_PAYMENT")]},
        {"completion_codes": [code("A", {"action": "REQUEST_RETURN"})]},
        {"access_details": [{"external_url": "http://x/", "total_allocation": 3}]},
    ],
    ids=str,
)
def test_what_prolific_does_not_describe_is_refused(desk: Desk, change: Body) -> None:
    problem = error(desk.post("studies/", draft(**change), 400))
    assert problem["status"] == 400
    assert isinstance(problem["detail"], dict)


def test_errors_lists_and_parameters(desk: Desk) -> None:
    anonymous = httpx.get(f"{desk.emulator.url}/api/v1/users/me/", trust_env=False, timeout=60)
    assert anonymous.status_code == 401
    assert set(anonymous.json()["error"]) == {
        "status", "error_code", "title", "detail", "interactive",
    }  # fmt: skip
    assert error(desk.get("no-such-call/", 404))["status"] == 404
    assert "limit" in cast(Body, error(desk.get("workspaces/", 400, limit=1000))["detail"])
    for _ in range(5):
        desk.study(publish=False)
    first = desk.get("studies/", page_size=2)
    studies, address = results(first), cast(Body, cast(Body, first["_links"])["next"])["href"]
    while address:
        reply = desk.http.get(str(address)).json()
        studies += reply["results"]
        address = reply["_links"]["next"]["href"]
    assert len({study["id"] for study in studies}) == 5
    desk.get("studies/", 404, page_size=2, page=4)


def test_a_stranger_finds_nothing(desk: Desk) -> None:
    study = desk.study()
    submission = desk.finished(study)
    bulk = desk.set_up_bonus(study, f"{submission},1")["id"]
    desk.post("/emulator/researchers", {"token": "other"})
    stranger = Desk(desk.emulator, "other")
    assert results(stranger.get("studies/")) == []
    stranger.get(f"studies/{study}/", 404)
    stranger.get(f"submissions/{submission}/", 404)
    stranger.get(f"workspaces/{desk.workspace}/balance/", 404)
    stranger.decide(submission, "APPROVE", 404)
    stranger.post(f"bulk-bonus-payments/{bulk}/pay/", None, 404)


def test_lists_are_filtered_and_ordered(desk: Desk) -> None:
    study = desk.study()
    done, going = desk.finished(study, 0), desk.take_part(study, 1)
    completed = datetime.fromisoformat(str(desk.get(f"submissions/{done}/")["completed_at"]))
    day = completed.strftime("%d/%m/%Y")

    def listed_ids(**wanted: str) -> list[object]:
        return [
            submission["id"]
            for submission in results(desk.get("submissions/", study=study, **wanted))
        ]

    assert listed_ids() == [done, going]
    assert listed_ids(ordering="-started_at") == [going, done]
    assert listed_ids(status="awaiting_review") == listed_ids(completed="yes") == [done]
    assert listed_ids(active="true") == listed_ids(awaiting_review="0") == [going]
    assert listed_ids(submitted_from=day) == [done]
    assert listed_ids(submitted_before=day) == []
    for wrong in ({"active": "maybe"}, {"status": "lost"}, {"submitted_from": "2026-01-01"}):
        desk.get("submissions/", 400, study=study, **wrong)
    desk.get("submissions/", 400)
    assert len(results(desk.get("studies/", state="(active|paused)"))) == 1
    assert results(desk.get("studies/", state="COMPLETED")) == []


def test_messages_and_returns_that_are_asked_for(desk: Desk) -> None:
    study = desk.study()
    submission = desk.finished(study)
    message = {"recipient_id": desk.person(0), "body": "Thank you.", "study_id": study}
    desk.post("messages/", message, 204)
    desk.post("messages/", {**message, "recipient_id": desk.person(1)}, 400)
    reasons = {"request_return_reasons": ["Didn't finish the study"]}
    first = desk.post(f"submissions/{submission}/request-return/", reasons)
    again = desk.post(f"submissions/{submission}/request-return/", reasons)
    assert first["return_requested"] == again["return_requested"]
    heard = results(desk.get("messages/", user_id=desk.person(0)))
    assert heard[0]["body"] == "Thank you."
    desk.post(f"/market/submissions/{submission}/return")
    assert desk.status(submission) == "RETURNED"
    desk.get("messages/", 400)


def test_a_study_that_is_planned_and_one_that_is_copied(desk: Desk) -> None:
    study = desk.study(publish=False)
    plan = {"action": "SCHEDULE_PUBLISH"}
    desk.post(f"studies/{study}/transition/", plan, 400)
    soon = (desk.emulator.state.now + timedelta(hours=1)).isoformat()
    desk.post(f"studies/{study}/transition/", {**plan, "publish_at": soon})
    assert desk.study_status(study) == "SCHEDULED"
    desk.wait(3600)
    assert desk.study_status(study) == "ACTIVE"
    desk.finished(study)
    copy = str(desk.post(f"studies/{study}/clone/")["id"])
    assert copy != study
    desk.publish(copy)
    desk.take_part(copy, 0, 400)  # copies keep those out who were in the original
    desk.take_part(copy, 1)


def test_places_of_a_published_study_only_grow(desk: Desk) -> None:
    study = desk.study(total_available_places=1)
    desk.call("PATCH", f"studies/{study}/", 400, json={"reward": 200})
    desk.call("PATCH", f"studies/{study}/", 400, json={"total_available_places": 0})
    desk.decide(desk.finished(study), "APPROVE")
    assert desk.study_status(study) == "COMPLETED"
    desk.call("PATCH", f"studies/{study}/", json={"internal_name": "again"})
    assert desk.study_status(study) == "COMPLETED"
    desk.call("PATCH", f"studies/{study}/", json={"total_available_places": 2})
    assert desk.study_status(study) == "ACTIVE"
    desk.take_part(study, 1)


def test_a_studys_way(desk: Desk) -> None:
    study = desk.study(publish=False)
    desk.publish(study, "PAUSE", 400)
    desk.publish(study)
    submission = desk.take_part(study)
    desk.publish(study, "PAUSE")
    desk.take_part(study, 1, 400)
    assert desk.come_back(submission) == "AWAITING REVIEW"
    desk.publish(study, "START")
    desk.publish(study, "STOP")
    desk.publish(study, "START", 400)
    desk.decide(submission, "APPROVE")
    desk.call("DELETE", f"studies/{study}/", 400)
    unready = desk.study(publish=False, completion_codes=None)
    assert desk.get(f"studies/{unready}/")["is_ready_to_publish"] is False
    desk.publish(unready, status=400)
    desk.call("DELETE", f"studies/{unready}/")
    desk.get(f"studies/{unready}/", 404)


def test_places_come_back_when_people_give_up(desk: Desk) -> None:
    study = desk.study(total_available_places=1, maximum_allowed_time=30)
    returned = desk.take_part(study)
    desk.take_part(study, 1, 400)
    desk.post(f"/market/submissions/{returned}/return")
    desk.take_part(study, 0, 400)  # once is once
    late = desk.take_part(study, 1)
    desk.wait(30 * 60)
    assert desk.status(late) == "TIMED-OUT"
    desk.post(f"/market/submissions/{late}/complete", {"code": "DONE"}, 400)
    rejected = desk.finished(study, 2)
    assert desk.study_status(study) == "AWAITING REVIEW"
    desk.decide(rejected, "REJECT", rejection_category="OTHER", message=LONG)
    assert desk.study_status(study) == "ACTIVE"
    held = desk.post(
        f"/market/studies/{study}/take-part", {"participant": desk.person(3), "start": False}
    )
    assert desk.status(str(held["submission_id"])) == "RESERVED"
    desk.wait(10 * 60)
    desk.decide(desk.finished(study, 4), "APPROVE")
    assert desk.study_status(study) == "COMPLETED"
    counts = desk.get(f"studies/{study}/submissions/counts/")
    assert (counts["RETURNED"], counts["TIMED-OUT"], counts["REJECTED"]) == (2, 1, 1)
    assert (counts["APPROVED"], counts["TOTAL"]) == (1, 5)


def test_more_than_one_submission_a_person(desk: Desk) -> None:
    study = desk.study(submissions_config={"max_submissions_per_participant": 2})
    desk.finished(study)
    desk.finished(study)
    desk.take_part(study, 0, 400)
    listed = results(desk.get(f"studies/{study}/submissions/"))
    assert [submission["has_siblings"] for submission in listed] == [True, True]


def test_the_code_decides(desk: Desk) -> None:
    group = desk.post("participant-groups/", {"name": "done", "workspace_id": desk.workspace}, 201)[
        "id"
    ]
    join = {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}
    back = {"action": "REQUEST_RETURN", "return_reason": "No consent"}
    codes = [code("OK", "AUTOMATICALLY_APPROVE", join), code("NO", back),
             code("MINE", "AUTOMATICALLY_APPROVE", actor="researcher")]  # fmt: skip
    study = desk.study(completion_codes=codes, total_available_places=9)
    approved, asked, stolen, wrong, none = (desk.take_part(study, n) for n in range(5))
    assert desk.come_back(approved, "OK") == "APPROVED"
    assert desk.come_back(asked, "NO") == "AWAITING REVIEW"
    assert desk.come_back(stolen, "MINE") == "AWAITING REVIEW"
    assert desk.come_back(wrong, "WHAT") == "AWAITING REVIEW"
    assert desk.come_back(none, None) == "AWAITING REVIEW"
    members = desk.get(f"participant-groups/{group}/participants/")
    assert [member["participant_id"] for member in results(members)] == [desk.person(0)]
    assert desk.get(f"submissions/{asked}/")["return_requested"] is not None
    assert desk.get(f"submissions/{wrong}/")["entered_code"] == "WHAT"
    assert desk.get(f"submissions/{none}/")["entered_code"] == "NOCODE"
    desk.decide(none, "COMPLETE", 400, completion_code="OK")
    assert desk.decide(none, "COMPLETE", completion_code="MINE")["status"] == "APPROVED"


def test_former_participants_stay_out(desk: Desk) -> None:
    first = desk.study()
    desk.finished(first, 0)
    new_group = {
        "name": "former",
        "workspace_id": desk.workspace,
        "participant_ids": [desk.person(1)],
    }
    group = str(desk.post("participant-groups/", new_group, 201)["id"])
    filters = [
        {"filter_id": "previous_studies_blocklist", "selected_values": [first]},
        {"filter_id": "participant_group_blocklist", "selected_values": [group]},
        {"filter_id": "custom_blocklist", "selected_values": [desk.person(2)]},
    ]
    second = desk.study(filters=filters, total_available_places=9)
    for number in range(3):
        desk.take_part(second, number, 400)
    desk.finished(first, 3)  # too late for a list that is read when the study is published
    desk.take_part(second, 3)
    added = {"participant_ids": [desk.person(4)]}
    desk.post(f"participant-groups/{group}/participants/", added)
    desk.take_part(second, 4, 400)  # groups are read at every moment


def test_screening_by_what_people_answer(desk: Desk) -> None:
    wanted = [
        {"filter_id": "current-country-of-residence", "selected_values": ["1"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 98}},
    ]
    study = desk.study(filters=wanted, total_available_places=20)
    assert desk.post("eligibility-count/", {"filters": wanted})["count"] == 0  # fewer than 25
    for number, person in enumerate(list(desk.emulator.state.participants.values())):
        rate, country = person.attributes["approval_rate"], "current-country-of-residence"
        fits = cast(int, rate) >= 98 and person.attributes[country] == "1"
        desk.take_part(study, number, 200 if fits else 400)


def test_bulk_approval(desk: Desk) -> None:
    study = desk.study()
    submissions = [desk.finished(study, number) for number in range(2)]
    going = desk.take_part(study, 2)
    desk.post("submissions/bulk-approve/", {"submission_ids": [*submissions, going]}, 400)
    desk.post("submissions/bulk-approve/", {"submission_ids": ["x"] * 1001}, 400)
    people = [desk.person(0), desk.person(1)]
    desk.post("submissions/bulk-approve/", {"study_id": study, "participant_ids": people})
    assert desk.status(submissions[0]) == "AWAITING REVIEW"
    desk.wait(60)
    assert [desk.status(submission) for submission in submissions] == ["APPROVED"] * 2


def test_a_test_study_is_for_testers_only(desk: Desk) -> None:
    study = desk.study(publish=False)
    desk.post(f"studies/{study}/test-study", None, 400)
    tester = desk.post("researchers/participants/", {"email": "me@example.org"}, 201)
    trial = desk.post(f"studies/{study}/test-study")["study_id"]
    desk.take_part(str(trial), 0, 400)
    desk.post(f"/market/studies/{trial}/take-part", {"participant": tester["participant_id"]})


def test_a_reply_that_breaks_its_model_is_not_sent() -> None:
    with running() as emulator:
        desk = Desk(emulator)
        study = desk.study()
        submission = desk.take_part(study)
        emulator.state.submissions[submission].bonuses.append("1.00")  # type: ignore[arg-type]
        desk.get(f"submissions/{submission}/", 500)
        (violation,) = emulator.state.violations
        assert violation.operation == "get-submission"
        assert "bonus_payments" in violation.problem
