"""CONTRIBUTING.md is true: its paths, names and commands exist, its recipes name every place."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from itertools import product
from typing import get_args

import pytest

from app.annotation.catalogues import catalogues
from app.annotation.quality import Score
from app.annotation.requester import AnnotatorScore
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.models import Campaign
from app.campaigns.pages import SECTIONS
from app.campaigns.plan import CampaignPlan
from app.campaigns.schemas import CampaignChanges, CampaignOut, NewCampaign
from app.core.settings import Settings
from app.kinds import all_kinds
from app.recruitment.channels.registry import all_channels
from app.results.catalogue import EXPORTS
from app.strategies import all_strategies
from testbed.servers import ROOT
from tests.support.deployment import commands
from tests.support.read_campaign import PAGES

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = [
    "Add a kind of task",
    "Add an export",
    "Add a strategy",
    "Add a channel",
    "Add a server setting",
    "Add a campaign field",
    "Add a column to the annotators' list",
    "Add a page for requesters",
    "Add a language",
    "Add a command",
]
SECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
NAME = r"[\w.<>{},-]+"
PATH = re.compile(rf"(?:{NAME}/)+(?:{NAME})?|\.env\.\w+|{NAME}\.(?:py|ts|svelte|html|md|yml|toml)")
EXAMPLES = {
    "<kind>": [kind.name for kind in all_kinds()],
    "<strategy>": [strategy.name for strategy in all_strategies()],
    "<channel>": [channel.name for channel in all_channels()],
    "<language>": list(catalogues()),
    "<command>": ["doctor", "forget", "simulate"],
}
# Tools, which no file on their line need name.
OTHER_NAMES = {"pytest", "vitest"}


@cache
def tracked_files() -> frozenset[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(listed.stdout.splitlines())


def sections() -> dict[str, str]:
    return dict(SECTION.findall(TEXT))


def expanded(path: str) -> list[str]:
    """The paths that braces and placeholders stand for; a placeholder needs an example."""
    parts = re.split(r"(<\w+>|\{[^}]*\})", path)
    choices = [
        EXAMPLES[part] if part.startswith("<")
        else part[1:-1].split(",") if part.startswith("{")
        else [part]
        for part in parts
    ]  # fmt: skip
    return ["".join(chosen) for chosen in product(*choices)]


def references(text: str) -> Iterator[tuple[str, str]]:
    """(path, name or "") of all that code spans name, also inside commands."""
    for span in SPAN.findall(text):
        for word in span.split():
            path, _, name = as_path(word).partition("::")
            if PATH.fullmatch(path) and not path.startswith(".venv/"):
                yield from ((file, name) for file in expanded(path))


def as_path(word: str) -> str:
    """`app.core.errors.NotFound` and `src/…` as a path from the root."""
    if re.fullmatch(r"(?:app|workers|learning|likewise|emulators|tests)(?:\.\w+)+", word):
        module, _, name = word.rpartition(".")
        return f"{module.replace('.', '/')}.py::{name}"
    return f"frontend/{word}" if word.startswith("src/") else word


def files_at(path: str) -> set[str]:
    """Tracked files that a path names: a file, all in a folder, or any called so."""
    if path in tracked_files():
        return {path}
    folder = path.rstrip("/") + "/"
    inside = {file for file in tracked_files() if file.startswith(folder)}
    if inside or "/" in path:
        return inside
    return {file for file in tracked_files() if file.endswith(f"/{path}")}


def named_in(text: str) -> set[str]:
    """Files that a text names one by one: a folder names none of its files."""
    return {path for path, _ in references(text) if path in tracked_files()}


def assigned(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def names_of(file: str) -> frozenset[str]:
    """What a Python file defines: `name`, and `Class.member`."""
    body = ast.parse((ROOT / file).read_text()).body
    names = {name for node in body for name in assigned(node)}
    for node in body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for member in node.body for name in assigned(member)}
    return frozenset(names)


def sources(*folders: str) -> dict[str, str]:
    """Source files, without tests, in these folders."""
    return {
        file: (ROOT / file).read_text()
        for file in sorted(tracked_files())
        if file.startswith(folders)
        and file.endswith((".py", ".ts", ".svelte", ".html"))
        and ".test." not in file
    }


def with_quoted(names: tuple[str, ...], texts: dict[str, str]) -> set[str]:
    """Files that list all of these names, as strings or as keys."""
    return {
        file
        for file, text in texts.items()
        if all(re.search(rf"[\"']{name}[\"']|^\s*{name}:", text, re.MULTILINE) for name in names)
    }


def with_compared(what: str, names: tuple[str, ...], texts: dict[str, str]) -> set[str]:
    """Files that compare `what` with one of these names."""
    compared = re.compile(rf"\b{what}\b.? [!=]==? [\"'](?:{'|'.join(names)})[\"']")
    return {file for file, text in texts.items() if compared.search(text)}


def quoted_before(text: str, start: str, end: str) -> str:
    """What stands between two marks of a source file."""
    return text.partition(start)[2].partition(end)[0]


def test_paths_that_are_named_exist() -> None:
    named = list(references(TEXT))
    assert len(named) > 150
    assert {path for path, _ in named if not files_at(path)} == set()


def test_names_of_python_files_exist() -> None:
    named = {(path, name) for path, name in references(TEXT) if name}
    assert len(named) > 40
    assert {(path, name) for path, name in named if name not in names_of(path)} == set()


def test_names_beside_a_path_occur_in_its_file() -> None:
    missing = []
    for line in TEXT.splitlines():
        files = {file for path, _ in references(line) for file in files_at(path)}
        texts = [
            (ROOT / file).read_text() for file in files if file.endswith((".py", ".ts", ".svelte"))
        ]
        for name in set(re.findall(r"`([A-Za-z_]\w{3,})`", line)) - OTHER_NAMES:
            if texts and not any(re.search(rf"\b{name}\b", text) for text in texts):
                missing.append(f"{name}: {line}")
    assert missing == []


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"`make ([a-z-]+)`", TEXT))
    assert {"up", "test", "lint"} <= targets
    makefile = (ROOT / "Makefile").read_text()
    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.M)} == set()


def test_searches_that_are_named_find_something() -> None:
    searches = [span for span in SPAN.findall(TEXT) if span.startswith("git grep ")]
    for search in searches:
        result = subprocess.run(shlex.split(search), cwd=ROOT, capture_output=True, check=False)
        assert result.stdout, search


def test_every_recipe_is_there() -> None:
    assert list(sections()) == RECIPES


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_says_which_tests_to_run(recipe: str) -> None:
    run = sections()[recipe].partition("\nTests: ")[2]
    command = re.search(r"`pytest (tests/[^`]+)`", run)
    assert command, "no command"
    assert all(re.fullmatch(r"tests/\w+/test_\w+\.py", word) for word in command[1].split())


def test_core_imports_no_other_folder_of_the_application() -> None:
    for file, text in sources("app/core/").items():
        assert set(re.findall(r"^\s*(?:from|import) app\.(\w+)", text, re.M)) <= {"core"}, file


def test_nothing_asks_for_a_kind_of_task_by_its_name() -> None:
    texts = sources("app/", "likewise/", "workers/", "learning/", "frontend/src/")
    names = tuple(kind.name for kind in all_kinds())
    asking = with_quoted(names, texts)
    for what in ("kind", "kind.name", "interface"):
        asking |= with_compared(what, names, texts)
    assert asking == set()
    assert with_compared("kind", names, {"here": 'kind == "bins"'}) == {"here"}


def test_nothing_asks_for_a_channel_by_its_name() -> None:
    texts = sources("app/", "likewise/", "workers/", "frontend/src/")
    names = tuple(channel.name for channel in all_channels())
    asking = with_compared("channel", names, texts) | with_compared("platform", names, texts)
    assert asking == set()
    assert with_compared("channel", names, {"here": 'channel == "mturk"'}) == {"here"}


def test_every_place_that_knows_a_channel_is_named() -> None:
    texts = sources("app/", "likewise/", "workers/", "frontend/src/")
    names = tuple(channel.name for channel in all_channels())
    folders = re.compile(rf"app\.recruitment\.channels\.(?:{'|'.join(names)})\b")
    files = with_quoted(names, texts)
    files |= {file for file, text in texts.items() if folders.search(text)}
    apart = {file for file in files if file.startswith("app/recruitment/channels/")}
    # A list of words that make a poor password, and a fixture of tests.
    apart |= {"app/accounts/passwords.py", "frontend/src/dashboard/recruit/platforms.fixture.ts"}
    assert len(apart) > 10
    assert files - apart - named_in(sections()["Add a channel"]) == set()


def test_every_file_that_exports_are_from_is_named() -> None:
    catalogue = ast.parse((ROOT / "app/results/catalogue.py").read_text())
    makers = {
        f"{node.module.replace('.', '/')}/{alias.name}.py"
        for node in ast.walk(catalogue)
        if isinstance(node, ast.ImportFrom) and node.module in ("app.results", "app.recruitment")
        for alias in node.names
        if alias.name != "hooks"
    }
    assert len(makers) > 5
    assert makers <= named_in(sections()["Add an export"])
    document = (ROOT / "docs/exports.md").read_text()
    assert [export.name for export in EXPORTS if f"### {export.name}\n" not in document] == []


def test_every_strategy_is_one_file_that_the_package_imports() -> None:
    named = named_in(sections()["Add a strategy"])
    package = (ROOT / "app/strategies/__init__.py").read_text()
    for strategy in all_strategies():
        assert type(strategy).__module__ == f"app.strategies.{strategy.name}"
        assert f"app/strategies/{strategy.name}.py" in named
        assert f'"{strategy.name}",' in package


def test_every_setting_is_in_the_table_that_the_recipe_names() -> None:
    assert "docs/operations.md" in named_in(sections()["Add a server setting"])
    table = (ROOT / "docs/operations.md").read_text()
    own = [name for name, field in Settings.model_fields.items() if not field.validation_alias]
    assert [name for name in own if f"| `LIKEWISE_{name.upper()}` |" not in table] == []


def test_every_campaign_field_is_in_the_models_that_the_recipe_names() -> None:
    recipe = sections()["Add a campaign field"]
    assert {"app/campaigns/plan.py", "tools/campaign_table.py"} <= named_in(recipe)
    planned = set(CampaignPlan.model_fields)
    for model in (NewCampaign, CampaignChanges, CampaignOut):
        assert planned <= set(model.model_fields), model.__name__
    assert planned <= set(Campaign.__table__.columns.keys())


def test_every_column_of_the_annotators_list_is_where_the_recipe_says() -> None:
    assert {field.name for field in fields(Score)} <= set(AnnotatorScore.model_fields)
    folder = ROOT / "frontend/src/dashboard/annotators"
    columns = quoted_before((folder / "work.ts").read_text(), "COLUMNS: ", "\n];")
    written = quoted_before((folder / "WorkTable.svelte").read_text(), "function cell(", "\n  }\n")
    ids = re.findall(r"^    id: '(\w+)'", columns, re.MULTILINE)
    assert len(ids) > 5
    assert [column for column in ids if f"'{column}'" not in written] == []
    for field in re.findall(r"score\.(\w+)", columns):
        assert field in AnnotatorScore.model_fields


def test_every_page_of_a_campaign_is_where_the_recipe_says() -> None:
    script = quoted_before((ROOT / "frontend/src/dashboard.ts").read_text(), "islands: ", "};")
    for name, section in SECTIONS.items():
        assert f"  {section.island}: () => import('./dashboard/" in script
        assert f"/{name}" in PAGES


def test_every_language_can_be_chosen() -> None:
    offered = get_args(AnnotationSettings.model_fields["language"].annotation)
    assert set(offered) - {"auto"} == set(catalogues())


def test_every_command_is_where_the_recipe_says() -> None:
    for name, command in commands().items():
        parts = getattr(command, "commands", {}).values()
        for function in [part.callback for part in parts] or [command.callback]:
            module = function.__module__
            assert module == "likewise.cli" or module.startswith("likewise.commands."), name
