"""The tables of acceptance tests name tests that exist."""

import ast

from bench.reliability.statements import statements
from testbed.servers import ROOT


def test_every_named_test_exists_and_every_statement_has_one_or_is_missing() -> None:
    rows = statements()
    assert [row.name for row in rows[:25]] == [str(number) for number in range(1, 26)]
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert row.tests or row.lacking == "missing", row.name
        for test in row.tests:
            path, _, name = test.partition("::")
            assert name in names_in(path), f"{row.name}: {test}"


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
