"""The emulator's models against documented requests and responses, both ways."""

import json
from pathlib import Path
from typing import cast

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from emulators.prolific.api import account, hooks, people, studies, submissions
from emulators.prolific.models.common import Error
from emulators.prolific.models.hooks import Payload

FOLDER = Path(__file__).parent / "prolific_examples"
FILES = sorted(FOLDER.glob("*.json"))
ROUTERS: list[APIRouter] = [m.router for m in (account, hooks, people, studies, submissions)]
ROUTES = {
    route.operation_id: route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
}
# Said without a call.
ELSEWHERE: dict[str, TypeAdapter[object]] = {
    "error": TypeAdapter(Error),
    "event": TypeAdapter(Payload),
}


def model(operation: str, side: str) -> TypeAdapter[object]:
    if operation in ELSEWHERE:
        return ELSEWHERE[operation]
    route = ROUTES[operation]
    if side == "response":
        answered: type = route.response_model
        return TypeAdapter(answered)
    assert route.body_field is not None, f"{operation} takes no body"
    wanted = route.body_field.field_info.annotation
    assert wanted is not None
    return TypeAdapter(wanted)


@pytest.mark.parametrize("file", FILES, ids=lambda file: cast(Path, file).stem)
def test_a_documented_body_is_read_and_written_again(file: Path) -> None:
    example = json.loads(file.read_text())
    sides = {"request", "response"} & set(example)
    assert sides
    assert example["source"].startswith("https://docs.prolific.com/")
    for side in sides:
        adapter = model(example["operation"], side)
        read = adapter.validate_python(example[side])
        written = adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)
        assert written == example[side]


def test_the_calls_that_the_issue_names_have_examples() -> None:
    shown = {json.loads(file.read_text())["operation"] for file in FILES}
    assert {
        "create-study", "publish-study", "update-study", "get-study-submissions",
        "get-submission", "transition-submission", "bulk-approve-submissions",
        "create-bonus-payments", "pay-bonus-payments", "create-subscription", "event", "error",
    } <= shown  # fmt: skip
