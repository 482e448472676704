"""What the documents say about names, files and settings is true."""

import json
import re
import subprocess
from pathlib import Path

from botocore import xform_name
from botocore.session import get_session
from pydantic import AliasChoices
from pydantic_core import PydanticUndefined

from app.core.settings import Settings
from testbed.servers import ROOT
from tests.support.deployment import SETTING, commands, known_variables

DOCUMENTS = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
CODE = re.compile(r"`([^`\n]+)`")


def tracked_files() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(listed.stdout.splitlines())


def setting_defaults() -> dict[str, str]:
    """Default of every setting by environment variable, as the table writes it."""
    defaults = {}
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variable = alias.choices[0] if isinstance(alias, AliasChoices) else f"LIKEWISE_{name}"
        default = field.default
        text = "required" if default is PydanticUndefined else str(default) or "empty"
        defaults[str(variable).upper()] = text
    return defaults


def test_the_table_of_settings_is_complete_and_right() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    table = {name: value or word for name, value, word in SETTING.findall(text)}
    defaults = setting_defaults()
    assert {name: table.get(name) for name in defaults} == defaults
    assert set(table) == known_variables()


def json_blocks(text: str) -> list[dict[str, list[dict[str, object]]]]:
    """The JSON that a document shows."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


def test_the_policy_for_mturk_allows_the_requests_that_are_made_and_no_others() -> None:
    names = get_session().get_service_model("mturk").operation_names
    sources = "".join(
        module.read_text() for module in ROOT.glob("app/recruitment/channels/mturk/*.py")
    )
    actions = {
        f"mechanicalturk:{operation}"
        for operation in names
        if f'"{xform_name(operation)}"' in sources
    }
    policy, of_queue = json_blocks((ROOT / "docs" / "operations.md").read_text())
    assert policy["Statement"][0]["Action"] == sorted(actions)
    assert of_queue["Statement"][0]["Action"] == "sqs:SendMessage"


def test_headings_that_links_name_exist() -> None:
    for document in DOCUMENTS:
        for target, heading in LINK.findall(document.read_text()):
            if heading and "://" not in target:
                assert heading.removeprefix("#") in headings(document.parent / target), (
                    f"{document.name}: {target}{heading}"
                )
        for heading in re.findall(r"\]\(#([^)\s]+)\)", document.read_text()):
            assert heading in headings(document), f"{document.name}: #{heading}"


def headings(document: Path) -> set[str]:
    """As addresses, the way GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


def test_links_between_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target, _ in LINK.findall(document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_files_and_names_of_the_architecture_exist() -> None:
    files = tracked_files()
    code_files = [file for file in files if file.endswith((".py", ".ts", ".svelte"))]
    words, classes = set[str](), set[str]()
    for file in code_files:
        source = (ROOT / file).read_text()
        words.update(re.findall(r"\w+", source))
        classes.update(re.findall(r"class (\w+)", source))
    documents = [ROOT / "docs" / "architecture.md", *sorted(ROOT.glob("docs/decisions/*.md"))]
    for document in documents:
        for code in CODE.findall(document.read_text()):
            if re.fullmatch(r"[\w./-]+/[\w.-]+\.(py|ts|svelte|toml)", code):
                known = code in files or f"app/{code}" in files
                assert known or code == "app/cli.py", f"{document.name}: {code}"
            elif re.fullmatch(r"_?[a-z]+(_[a-z]+)+", code):
                assert code in words, f"{document.name}: {code}"
            elif match := re.fullmatch(r"([A-Z]\w+)\.(\w+)", code):
                assert match[1] in classes, f"{document.name}: {code}"
                assert match[2] in words, f"{document.name}: {code}"


def test_commands_that_documents_name_exist() -> None:
    for document in DOCUMENTS:
        for code in CODE.findall(document.read_text()):
            if match := re.match(r"(?:\.venv/bin/)?likewise ([a-z]+)", code):
                assert match[1] in commands(), f"{document.name}: {code}"


def test_make_targets_that_documents_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for document in DOCUMENTS:
        for target in re.findall(r"(?:^|[`(] ?|&& )make ([a-z-]+)", document.read_text(), re.M):
            assert re.search(rf"^{target}:", makefile, re.M), f"{document.name}: make {target}"


def test_no_document_names_a_path_of_somebody_s_machine() -> None:
    for document in [*DOCUMENTS, *(ROOT / name for name in ("Dockerfile", "docker-compose.yml"))]:
        assert not re.search(r"/(home|Users|work|root)/", Path(document).read_text()), document
