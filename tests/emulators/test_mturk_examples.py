"""The documented examples of the requester API pass the emulator both ways."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from botocore import xform_name as snake
from botocore.parsers import create_parser

from emulators.mturk import shapes
from emulators.mturk.operations import OPERATIONS
from emulators.mturk.server import Emulator
from tests.emulators.support import Crowd, a_hit, client

FOLDER = Path(__file__).parent / "mturk_examples"
EXAMPLES = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
NAMES = [example["operation"] for example in EXAMPLES]

HIT = "123RVWYBAZW00EXAMPLE"
HIT_TYPE = "T100CN9P324W00EXAMPLE"
ASSIGNMENT = "123RVWYBAZW00EXAMPLE456RVWYBAZW00EXAMPLE"
WORKER = "AZ3456EXAMPLE"
QUALIFICATION = "789RVWYBAZW00EXAMPLE951RVWYBAZW00EXAMPLE"


def prepare(given: list[str], emulator: Emulator, mturk: Any, crowd: Crowd) -> dict[str, str]:
    """A world in which a request can succeed; its ids by those of the reference."""
    crowd.worker(worker_id=WORKER)
    client(emulator, "sqs").create_queue(QueueName="my_mturk_queue")
    kind = mturk.create_qualification_type(
        Name="SentenceEditing",
        Description="Ability to edit sentences",
        QualificationTypeStatus="Active",
    )["QualificationType"]["QualificationTypeId"]
    hit = a_hit(mturk)
    ids = {HIT: hit, HIT_TYPE: mturk.get_hit(HITId=hit)["HIT"]["HITTypeId"], QUALIFICATION: kind}
    if "submitted" in given:
        ids[ASSIGNMENT] = crowd.work(hit, WORKER)["assignment_id"]
    if "approved" in given:
        mturk.approve_assignment(AssignmentId=ids[ASSIGNMENT])
    if "bonus" in given:
        mturk.send_bonus(
            WorkerId=WORKER, AssignmentId=ids[ASSIGNMENT], BonusAmount="1", Reason="Good work"
        )
    if "expired" in given:
        mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    if "reviewing" in given:
        mturk.update_hit_review_status(HITId=hit)
    if "qualified" in given:
        mturk.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=WORKER)
    if "blocked" in given:
        mturk.create_worker_block(WorkerId=WORKER, Reason="Careless")
    return ids


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_a_documented_request_passes_and_is_answered_in_the_same_shape(
    example: dict[str, Any], emulator: Emulator, mturk: Any, crowd: Crowd
) -> None:
    ids = prepare(example["given"], emulator, mturk, crowd)
    text = json.dumps(example["request"])
    # The longest first: an assignment's example id begins with its HIT's.
    for documented in sorted(ids, key=len, reverse=True):
        text = text.replace(documented, ids[documented])
    answer = getattr(mturk, snake(example["operation"]))(**json.loads(text))
    assert emulator.state.violations == []
    del answer["ResponseMetadata"]
    assert set(answer) <= set(example["response"])
    assert set(example["response"]) - set(answer) <= {"NextToken"}


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_a_documented_answer_passes_the_check_and_the_parser(example: dict[str, Any]) -> None:
    model = shapes.MTURK.operation_model(example["operation"])
    parser = create_parser("json")
    raw = {"status_code": 200, "headers": {}, "body": orjson.dumps(example["response"])}
    parsed = parser.parse(raw, model.output_shape)
    del parsed["ResponseMetadata"]
    assert set(parsed) == set(example["response"])
    # Parsed times are times, as the emulator's own answers hold them before they are written.
    assert shapes.problems(model.output_shape, parsed) == []


def test_every_emulated_operation_has_an_example() -> None:
    assert set(NAMES) == set(OPERATIONS)
