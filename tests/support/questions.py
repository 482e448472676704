"""A question before the grids, and its answer."""

from fastapi.testclient import TestClient

AGE = {"key": "age", "type": "number", "title": "How old are you?", "min": 0, "max": 120,
       "screen_out_below": 18}  # fmt: skip


def answer_age(client: TestClient, who: dict[str, str], age: int) -> None:
    """Answer it as the annotator of these headers."""
    path = "/api/v1/annotate/questions/before"
    key = client.get(path, headers=who).json()["key"]
    reply = client.post(path, json={"key": key, "answers": {"age": age}}, headers=who)
    assert reply.json()["stage"] != "questions", reply.text
