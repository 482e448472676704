"""What the command says of a crowd on an emulator."""

from likewise.commands.simulate import what_came_of
from likewise.marketplace import WorkSession
from likewise.markets import Place


def test_why_people_were_refused_is_told() -> None:
    place = Place("A1", "H1", "S1", "http://127.0.0.1/a/mturk/link", 25)
    log = [*[WorkSession(place, "refused", code="bad_groups")] * 2, WorkSession(place, "returned")]
    assert what_came_of(log) == (
        "3 places were taken: 2 refused, 1 returned. Refused 2 times: bad_groups. Owed: 0.00."
    )
