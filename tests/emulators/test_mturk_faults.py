"""Lists, notices and faults of the MTurk emulator."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from emulators.mturk.server import Emulator
from testbed.servers import ROOT
from tests.emulators.support import Crowd, a_hit, client

JSON = {"Content-Type": "application/json"}


def test_pages_neither_skip_nor_repeat_while_work_comes_in(mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk, MaxAssignments=30)
    for _ in range(12):
        crowd.work(hit)
    first = mturk.list_assignments_for_hit(HITId=hit)
    assert (first["NumResults"], len(first["Assignments"])) == (10, 10)
    # The first page's work leaves the filter and new work comes; the second page loses nothing.
    for assignment in first["Assignments"]:
        mturk.approve_assignment(AssignmentId=assignment["AssignmentId"])
    crowd.work(hit)
    second = mturk.list_assignments_for_hit(
        HITId=hit, NextToken=first["NextToken"], AssignmentStatuses=["Submitted"]
    )
    assert (second["NumResults"], "NextToken" in second) == (3, False)
    with pytest.raises(ClientError):
        mturk.list_hits(NextToken=first["NextToken"])
    pages = mturk.get_paginator("list_assignments_for_hit").paginate(
        HITId=hit, PaginationConfig={"PageSize": 4}
    )
    ids = [assignment["AssignmentId"] for page in pages for assignment in page["Assignments"]]
    assert len(ids) == len(set(ids)) == 13


def test_late_work_comes_behind_what_was_read(mturk: Any, crowd: Crowd) -> None:
    crowd.faults(late_share=1, late_seconds=120)
    hit = a_hit(mturk)
    late = crowd.work(hit)["assignment_id"]
    crowd.faults()
    prompt = crowd.work(hit)["assignment_id"]

    def listed() -> list[str]:
        answer = mturk.list_assignments_for_hit(HITId=hit, MaxResults=100)
        return [assignment["AssignmentId"] for assignment in answer["Assignments"]]

    assert listed() == [prompt]
    crowd.later(120)
    assert listed() == [prompt, late]


@pytest.mark.parametrize("kind", ["throttle", "error_before", "timeout_before"])
def test_a_fault_before_the_effect_leaves_nothing(
    emulator: Emulator, crowd: Crowd, kind: str
) -> None:
    crowd.faults(calls=[{"kind": kind, "share": 1, "operations": ["CreateHIT"]}], hold_seconds=0.01)
    impatient = client(emulator)
    with pytest.raises(Exception, match=r"ThrottlingException|ServiceFault|Connection was closed"):
        a_hit(impatient)
    assert impatient.list_hits()["NumResults"] == 0


def test_a_bonus_repeated_with_its_token_is_paid_once_under_faults(
    emulator: Emulator, mturk: Any, crowd: Crowd
) -> None:
    assignment = crowd.work(a_hit(mturk))
    shares = ("throttle", 0.1), ("error_after", 0.3), ("timeout_after", 0.2), ("error_before", 0.1)
    rules = [{"kind": k, "share": s, "operations": ["SendBonus"]} for k, s in shares]
    crowd.faults(seed=3, calls=rules, hold_seconds=0.005)
    outcomes = []
    for number in range(40):
        while True:
            try:
                mturk.send_bonus(
                    AssignmentId=assignment["assignment_id"],
                    WorkerId=assignment["worker_id"],
                    BonusAmount="0.07",
                    Reason="Grids beyond the minimum",
                    UniqueRequestToken=f"bonus-{number}",
                )
                outcomes.append("paid")
                break
            except ClientError as error:
                if "has already been processed" in str(error):
                    outcomes.append("paid before")
                    break
            except ConnectionClosedError:
                continue
    assert crowd.totals()["bonus"] == 40 * Decimal("0.07")
    assert outcomes.count("paid before") >= 10
    met = {call["outcome"] for call in emulator.state.calls if call["operation"] == "SendBonus"}
    assert met >= {kind for kind, _ in shares}


def test_notices_come_by_queue_and_twice_when_asked(
    emulator: Emulator, mturk: Any, crowd: Crowd
) -> None:
    sqs = client(emulator, "sqs")
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as error:
        sqs.get_queue_url(QueueName="likewise")
    assert error.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    queue = sqs.create_queue(QueueName="likewise")["QueueUrl"]
    hit = a_hit(mturk, MaxAssignments=1)
    kind = mturk.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    events = ["AssignmentAccepted", "AssignmentReturned", "AssignmentSubmitted", "HITReviewable"]
    mturk.update_notification_settings(
        HITTypeId=kind,
        Notification={
            "Destination": queue,
            "Transport": "SQS",
            "Version": "2014-08-15",
            "EventTypes": events,
        },
    )
    crowd.faults(duplicate_notifications=1)
    worker = crowd.worker()
    crowd.give_back(crowd.accept(hit, worker))
    assignment = crowd.work(hit, worker)
    mturk.approve_assignment(AssignmentId=assignment["assignment_id"])  # not asked for
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    documents = [httpx.Response(200, text=message["Body"]).json() for message in messages]
    names = [document["Events"][0]["EventType"] for document in documents]
    event_types = [
        "AssignmentAccepted",
        "AssignmentReturned",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "HITReviewable",
    ]
    assert names == [name for name in event_types for _ in range(2)]
    assert len({document["EventDocId"] for document in documents}) == 5
    submitted = documents[6]["Events"][0]
    assert submitted["AssignmentId"] == assignment["assignment_id"]
    assert submitted["HITId"] == hit
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)  # hidden, not gone
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=messages[0]["ReceiptHandle"])
    crowd.later(31)
    assert len(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]) == 9


def test_a_reader_of_the_queue_waits_for_a_test_notice(emulator: Emulator, mturk: Any) -> None:
    sqs = client(emulator, "sqs")
    queue = sqs.create_queue(QueueName="likewise")["QueueUrl"]
    wanted = {
        "Destination": queue,
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": ["Ping"],
    }
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(sqs.receive_message, QueueUrl=queue, WaitTimeSeconds=10)
        mturk.send_test_event_notification(Notification=wanted, TestEventType="Ping")
        [message] = waiting.result(5)["Messages"]
    assert httpx.Response(200, text=message["Body"]).json()["Events"][0]["EventType"] == "Ping"


def test_a_fault_of_an_unknown_operation_is_refused(crowd: Crowd) -> None:
    rule = {"kind": "throttle", "share": 1, "operations": ["PayBonus"]}
    assert crowd.http.put("/emulator/faults", json={"calls": [rule]}).status_code == 422


def test_the_log_of_calls_holds_no_secrets(emulator: Emulator, mturk: Any, crowd: Crowd) -> None:
    mturk.get_account_balance()
    text = crowd.http.get("/emulator/calls").text + crowd.http.get("/emulator/state").text
    assert "GetAccountBalance" in text
    for secret in ("emulator-secret", "AWS4", "Signature"):
        assert secret not in text


def test_the_faults_that_the_documents_show_can_be_switched_on(crowd: Crowd) -> None:
    text = (ROOT / "docs/emulators.md").read_text()
    [shown] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    reply = crowd.http.put("/emulator/faults", content=shown, headers=JSON)
    assert reply.json() == json.loads(shown) | {
        "throttle_status": 400,
        "calls": [{"operations": None} | rule for rule in json.loads(shown)["calls"]],
    }
