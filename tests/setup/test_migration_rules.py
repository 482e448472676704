"""Expand, migrate, contract: a migration takes nothing away that the release before still uses.

docs/operations.md says why. What is taken away on purpose has a comment in its statement or above
it that names the release which stopped using it: `# contract: unused since 0.4`.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from testbed.servers import ROOT

# The rule came after this one.
LAST_WITHOUT = "0011"
MARK = re.compile(r"#\s*contract: \D*\d+\.\d+")
TAKES_AWAY = ("drop_column", "drop_table", "rename_table")
IN_SQL = re.compile(
    r"\b(DROP\s+(COLUMN|TABLE)|RENAME\s+(COLUMN|TO)\b|RENAME\s+\w+\s+TO|SET\s+NOT\s+NULL)", re.I
)


def row_security_problems(source: str) -> list[str]:
    """Statements of a migration's way up that the rule forbids, with their lines."""
    tree, lines = ast.parse(source), source.splitlines()
    way_up = [statement for statement in tree.body if getattr(statement, "name", "") != "downgrade"]
    calls = [
        node
        for part in way_up
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    new_tables = {_text(call.args[0]) for call in calls if _name(call) == "create_table"}
    problems = []
    for call in calls:
        marked = any(MARK.search(line) for line in _around(call, lines))
        if not marked and _is_forbidden(call, new_tables):
            problems.append(f"line {call.lineno}: {lines[call.lineno - 1].strip()}")
    return problems


def _around(call: ast.Call, lines: list[str]) -> Iterator[str]:
    above = call.lineno - 2
    while above >= 0 and lines[above].lstrip().startswith("#"):
        yield lines[above]
        above -= 1
    yield from lines[call.lineno - 1 : call.end_lineno]


def _is_forbidden(call: ast.Call, new_tables: set[str]) -> bool:
    name = _name(call)
    if name == "execute":
        return any(IN_SQL.search(_text(node)) for node in ast.walk(call))
    if not call.args or _text(call.args[0]) in new_tables:
        return False
    if name == "alter_column":
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        return "new_column_name" in given or _is_false(given.get("nullable"))
    if name == "add_column":
        return any(_needs_a_value(node) for node in ast.walk(call) if isinstance(node, ast.Call))
    return name in TAKES_AWAY


def _needs_a_value(column: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in column.keywords}
    return _is_false(given.get("nullable")) and "server_default" not in given


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_false(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_new_migrations_can_be_run_while_the_release_before_works() -> None:
    for file in sorted((ROOT / "migrations" / "versions").glob("*.py")):
        if file.name[:4] > LAST_WITHOUT:
            assert row_security_problems(file.read_text()) == [], (
                f"{file.name}: see docs/operations.md, Migrations without downtime"
            )


@pytest.mark.parametrize(
    "statement",
    [
        'op.drop_column("campaign", "name")',
        'op.drop_table("campaign")',
        'op.rename_table("campaign", "study")',
        'op.alter_column("campaign", "name", new_column_name="title")',
        'op.alter_column("campaign", "name", nullable=False)',
        'op.add_column("campaign", sa.Column("x", sa.Integer(), nullable=False))',
        'op.execute("ALTER TABLE campaign DROP COLUMN name")',
        'op.execute("ALTER TABLE campaign ALTER COLUMN name SET NOT NULL")',
        'op.execute(f"ALTER TABLE campaign RENAME name TO {title}")',
        'with op.batch_alter_table("campaign") as batch:\n        batch.drop_column("name")',
    ],
)
def test_what_the_rule_forbids(statement: str) -> None:
    source = f"def upgrade():\n    {statement}\n"
    assert len(row_security_problems(source)) == 1
    assert row_security_problems(source.replace("upgrade", "downgrade")) == []
    # A mark says when; a comment that does not, is none.
    before, _, last = source.rstrip().rpartition("\n")
    indent = last[: len(last) - len(last.lstrip())]
    for comment, n in (("# contract: unused since 0.4", 0), ("# contract: not used", 1)):
        assert len(row_security_problems(f"{before}\n{indent}{comment}\n{last}\n")) == n
        assert len(row_security_problems(f"{source.rstrip()}  {comment}\n")) == n


@pytest.mark.parametrize(
    "statement",
    [
        'op.add_column("campaign", sa.Column("x", sa.Integer()))',
        'op.add_column("t", sa.Column("x", sa.Integer(), nullable=False, server_default="0"))',
        'op.create_table("new", sa.Column("x", sa.Integer(), nullable=False))',
        'op.create_table("new")\n    op.alter_column("new", "x", nullable=False)',
        'op.execute("UPDATE campaign SET x = 0 WHERE x IS NULL")',
        'op.alter_column("campaign", "x", nullable=True)',
        'op.drop_constraint("ck", "campaign")',
    ],
)
def test_what_it_allows(statement: str) -> None:
    assert row_security_problems(f"def upgrade():\n    {statement}\n") == []
