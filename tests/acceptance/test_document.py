"""The tables of acceptance tests name tests that exist."""

import ast

from bench.reliability.statements import statements
from testbed.servers import ROOT


def test_every_named_test_exists_and_every_statement_has_one_or_is_missing() -> None:
    rows = statements()
    assert [one.name for one in rows[:25]] == [str(number) for number in range(1, 26)]
    assert len({one.name for one in rows}) == len(rows)
    for one in rows:
        assert one.tests or one.lacking == "missing", one.name
        for test in one.tests:
            path, _, name = test.partition("::")
            assert name in names_in(path), f"{one.name}: {test}"


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
