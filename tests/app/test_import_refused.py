"""Files of answers that cannot be imported: every mistake is named, and nothing is stored."""

import gzip
import io
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from app.annotation.importing.file import MOST_LINE_BYTES, MOST_LINES, read_lines
from app.annotation.importing.lines import AnswerLine, read_line
from app.annotation.importing.problems import BadAnswerFile, BadLine
from app.campaigns.models import Grid, Round
from app.collections.models import Collection
from app.collections.service import add_files
from app.core.database import transaction
from testbed.builders import a_campaign, a_collection, a_png, an_account
from tests.support.answer_files import GOOD, Line, a_line, bring, name_of, refusal


def test_unknown_images_are_refused_by_name(client: TestClient) -> None:
    campaign = a_campaign()
    lines = [a_line("ada", [0, 1], [0, 1]), *[
        {"annotator": "ada", "images": ["image-000.png", f"bird {k}.jpg"], "groups": [0, 1]}
        for k in range(12)
    ]]  # fmt: skip
    message = refusal(campaign, [*lines, lines[-1]])
    assert "These 12 images are not in the collection “Collection of 30”:" in message
    assert [line for line in message.splitlines() if line.startswith("  'bird")] == [
        f"  'bird {k}.jpg' (line {k + 2})" for k in range(10)
    ]
    assert message.endswith("  and 2 more images")


def test_positions_name_images_where_that_is_said(client: TestClient) -> None:
    campaign = a_campaign()
    line = {"annotator": 1, "images": [3, 29], "groups": [0, 1]}
    message = refusal(campaign, [line])
    assert "holds the number 3. Use file names" in message
    assert bring(campaign, [line], named_by="position").n_new == 1
    with transaction() as session:
        query = select(Grid.images).join(Round, Grid.round_id == Round.id).where(Round.number == 0)
        assert session.scalars(query).all() == [[3, 29]]
    for image in (30, -1, 10**30):
        message = refusal(campaign, [{**line, "images": [3, image]}], named_by="position")
        assert "(positions 0 to 29)" in message
        assert f"  {image} (line 1)" in message
    message = refusal(campaign, [a_line("ada", [0, 1], [0, 1])], named_by="position")
    assert "holds the name 'image-000.png'" in message


def test_names_that_several_images_have_are_refused(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner, 12)
    files = [("image-003.webp", a_png(50)), ("twice.png", a_png(51)), ("twice.png", a_png(52))]
    with transaction() as session:
        add_files(session, owner, session.get_one(Collection, collection.id), files)
    campaign = a_campaign(owner, collection)

    def line(name: str) -> list[Line]:
        return [{"annotator": 1, "images": ["image-000", name], "groups": [0, 1]}]

    for name in ("twice.png", "twice", "image-003"):
        message = refusal(campaign, line(name))
        assert f"The collection has several images called '{name}'. Use --by position." in message
    # The whole name is one image's alone.
    assert bring(campaign, line("image-003.png")).n_new == 1


def test_images_that_joined_after_the_start_are_no_part_of_the_campaign(
    client: TestClient,
) -> None:
    owner = an_account()
    collection = a_collection(owner, 12)
    campaign = a_campaign(owner, collection)
    with transaction() as session:
        here = session.get_one(Collection, collection.id)
        add_files(session, owner, here, [("late.png", a_png(99))])
    line = {"annotator": 1, "images": ["image-000.png", "late.png"], "groups": [0, 1]}
    message = refusal(campaign, [line])
    assert "The image 'late.png' was added to the collection after the campaign started." in message


BAD_LINES: list[tuple[str | Line, str]] = [
    ("{", "It is not JSON"),
    ("[1, 2]", "It is not a JSON object"),
    ('"text"', "It is not a JSON object"),
    ('{"annotator": NaN, "images": [], "groups": []}', "NaN is not a JSON number"),
    ('{"a":' * 5_000, "It is not JSON"),
    ('{"seconds": ' + "9" * 5_000 + "}", "It is not JSON"),
    ({}, 'It has no "annotator" and no "images" and no "groups".'),
    ({**GOOD, "annotator": None}, 'It has no "annotator".'),
    ({**GOOD, "annotator": "  "}, '"annotator" must be text or a number'),
    ({**GOOD, "annotator": True}, '"annotator" must be text or a number'),
    ({**GOOD, "annotator": ["ada"]}, '"annotator" must be text or a number'),
    ({**GOOD, "annotator": "a" * 501}, '"annotator" is longer than 500 characters'),
    ({**GOOD, "annotator": "\ud800"}, '"annotator" has an incomplete surrogate pair'),
    ({**GOOD, "images": "image-000.png"}, '"images" must be a list of 2 to 100 images'),
    ({**GOOD, "images": ["image-000.png"], "groups": [0]}, "not 1 of them"),
    ({**GOOD, "images": [name_of(k % 30) for k in range(101)]}, "not 101 of them"),
    ({**GOOD, "images": ["image-000.png", 1.5, None]}, "must hold names or whole numbers, not 1.5"),
    ({**GOOD, "images": ["image-000", "image-001", "image-000.png"]}, "'image-000' twice."),
    ({**GOOD, "groups": [0, 1]}, '"images" has 3 entries and "groups" has 2'),
    ({**GOOD, "groups": {"0": 1}}, '"groups" must be a list of whole numbers'),
    ({**GOOD, "groups": [0, 1, -2]}, "it holds -2"),
    ({**GOOD, "groups": [0, 1, 100]}, "it holds 100"),
    ({**GOOD, "groups": [0, 1, 10**400]}, "it holds 1000"),
    ({**GOOD, "groups": [0, 1, 0.5]}, "it holds 0.5"),
    ({**GOOD, "groups": [0, 1, True]}, "it holds True"),
    ({**GOOD, "groups": [0, 1, "1"]}, "it holds '1'"),
    ({**GOOD, "seconds": -1}, '"seconds" must be a number from 0 to 1,000,000, not -1.'),
    ({**GOOD, "seconds": 1e300}, '"seconds" must be a number'),
    ({**GOOD, "seconds": "3"}, '"seconds" must be a number'),
    ({**GOOD, "words": "red"}, '"words" must be a list with one text per group'),
    ({**GOOD, "words": {"5": "red"}}, "names a group without images: '5'."),
    ({**GOOD, "words": {"-1": "red"}}, "names a group without images: '-1'."),
    ({**GOOD, "words": [3]}, '"words" must hold texts, not 3.'),
    ({**GOOD, "words": ["a" * 501]}, '"words" is longer than 500 characters'),
    ({**GOOD, "answered_at": "yesterday"}, '"answered_at" must be a time such as'),
    ({**GOOD, "answered_at": 1715938200}, '"answered_at" must be a time such as'),
    ({**GOOD, "answered_at": "2999-01-01T00:00:00Z"}, "must be between 1970 and now"),
    ({**GOOD, "answered_at": "0001-01-01T00:00:00+23:00"}, '"answered_at" must be'),
    ({**GOOD, "id": {}}, '"id" must be text or a number'),
]


def test_every_mistake_of_a_file_is_named_with_its_line(client: TestClient) -> None:
    campaign = a_campaign()
    for wrong, sentence in BAD_LINES:
        # A blank line counts, as editors count lines.
        message = refusal(campaign, [json.dumps(GOOD), "", json.dumps(wrong)
                                  if isinstance(wrong, dict) else wrong])  # fmt: skip
        assert "1 line has a problem:\n  Line 3: " in message, wrong
        assert sentence in message, wrong
    lines = [wrong for wrong, _ in BAD_LINES]
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    unknown = json.dumps({**GOOD, "images": ["x", "image-000", "y"]})
    message = refusal(campaign, [*texts, unknown])
    assert "These 2 images are not in the collection “Collection of 30”:\n  'x' (line" in message
    assert f"{len(lines)} lines have problems:" in message
    assert message.endswith(f"  and {len(lines) - 10} more lines")


def test_files_that_cannot_be_read_are_refused(client: TestClient) -> None:
    campaign = a_campaign()
    good = json.dumps(GOOD).encode()
    whole = gzip.compress(good * 100)
    files = {
        b"": "The file is empty.",
        b"\n \r\n\t\n": "The file is empty.",
        gzip.compress(b""): "The file is empty.",
        whole[:-20]: "The file is damaged or incomplete",
        whole[:10] + b"\xff" * 20: "The file is damaged or incomplete",
        good + b"\n" + b"\xff\xfe": "Line 2: It is not UTF-8 (byte 1).",
        b" " * (MOST_LINE_BYTES + 1): "Line 1 is longer than 1,048,576 bytes.",
        gzip.compress(bytes(200_000_000)): "Line 1 is longer than 1,048,576 bytes.",
        b"[" + good + b"]": "It is not a JSON object",
    }
    for content, sentence in files.items():
        assert sentence in refusal(campaign, io.BytesIO(content))
    with pytest.raises(BadAnswerFile, match=r"more than 200,000 answers. Split it"):
        list(read_lines(io.BytesIO(b"{}\n" * (MOST_LINES + 1))))
    blank = gzip.compress(b" " * 1_000_000 + b"\n")
    with pytest.raises(BadAnswerFile, match="larger than 512 MiB"):
        list(read_lines(io.BytesIO(blank * 550)))
    # What other programs write before the first line does no harm.
    assert bring(campaign, io.BytesIO(b"\xef\xbb\xbf" + good)).n_new == 1


def test_the_wrong_file_is_not_read_to_its_end(client: TestClient) -> None:
    message = refusal(a_campaign(), ["{}"] * 20_000)
    assert "10,000 lines have problems:" in message
    assert message.endswith("Reading stopped there.")


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
field_names = st.sampled_from([*GOOD, "seconds", "words", "answered_at", "id", "other"])


@given(st.dictionaries(field_names, json_values, max_size=7), st.booleans())
def test_a_line_is_read_or_refused_in_words(changes: dict[str, Any], whole: bool) -> None:
    content = json.dumps({**GOOD, **changes} if whole else changes).encode()
    read = read_or_refused(content)
    if isinstance(read, str):
        assert "\n" not in read
        assert len(read) < 700
    else:
        assert len(read.images) == len(read.groups)


def read_or_refused(content: bytes) -> AnswerLine | str:
    try:
        return read_line(1, content, None)
    except BadLine as refused:
        return str(refused)
