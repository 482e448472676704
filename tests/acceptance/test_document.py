"""The table of acceptance tests names tests that exist."""

import ast
import re

from tests.support.servers import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROW = re.compile(r"^\| (\d+) \|(.*)\|(.*)\|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)


def test_every_named_test_exists_and_every_statement_has_one_or_is_missing() -> None:
    rows = ROW.findall((ROOT / "docs" / "acceptance.md").read_text())
    assert [int(number) for number, *_ in rows] == list(range(1, 26))
    for number, _, tests, _, _, lacking in rows:
        named = NAMED.findall(tests)
        assert named or lacking.strip() == "missing", number
        for path, name in named:
            assert name in names_in(path), f"{number}: {path}::{name}"


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
