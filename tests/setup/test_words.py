"""Texts, comments, documents and names use the field's terms (docs/glossary.md), not old ones."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a word was used for, and what to write instead.
OLD = {
    "deeds?": "action",
    "foretells?|foretold": "predict, predicted",
    "anew": "again",
    "beside": "next to, in addition to",
    "meanwhile": "in the meantime, until then",
    "whoever": "anyone who, the person who",
    "purse": "budget, cost",
    "likeness": "similarity",
    "hand(?:s|ed)? in|handing in": "submit, submitted",
    "bears? out": "support",
    "unless told": "by default",
    "lies? ready": "is prefetched",
    "by and by": "gradually",
    "jury|jurors?": "votes, annotators",
    "alike": "similar, the same",
}
PATTERN = re.compile(rf"\b(?:{'|'.join(OLD)})\b", re.IGNORECASE)
# Fixed by somebody else, stored, or part of an address: by file (or all files), what to leave out.
ALLOWED: dict[str, tuple[str, ...]] = {
    "*": (
        r'^"(?:jury|foretold)"$',
        r"`jury`",
        r"foretold:",
    ),
    "docs/licences.md": ("exchangeable by whoever installs them",),
    "tools/supply/licences.py": ("exchangeable by whoever installs them",),
    # Figures as they were measured.
    "docs/benchmarks/reliability.md": ("handed in 476",),
    # Comments of migrations that databases have seen.
    "migrations": (".*",),
    # A rule's name.
    "frontend/src/dashboard/map/MapCanvas.svelte": ("svelte-ignore.*",),
}
# Names in code. These say nothing about what they hold:
EMPTY_NAMES = {"told", "one", "found", "made", "said", "deed"}
# An old word must not be a part of a name: payment_owed, OwedRow.
OLD_PARTS = re.compile(
    r"(?:^|_)(?:deeds?|jury|jurors?|foretells?|foretold|owed|purse|books|wall|walled|confined?"
    r"|anew|beside|alike|hundredths|speakers?|habits?|stints?|seal|seals|sealed|unseal|unsealed|likeness"
    r"|bears?_out|hand(?:s|ed)?_in|handing_in)(?:_|$)"
)
# Classes; the words themselves are ordinary.
OLD_CLASSES = {"Keyed", "KeptReply", "Whole", "Flag", "Character"}
# By file (or all files): names that others rely on, and why.
ALLOWED_NAMES: dict[str, set[str]] = {
    # Columns of the database.
    "*": {"handed_in_at", "rerun_anew"},
    # Schemas of the OpenAPI document and their fields.
    "app/annotation/schemas.py": {"HandIn", "hand_in"},
    "app/annotation/responses.py": {"HandIn"},
    "app/recruitment/channels/spec.py": {"HandIn"},
    "app/recruitment/channels/mturk/spec.py": {"HandIn"},
    "app/recruitment/channels/prolific/spec.py": {"HandIn"},
    "app/recruitment/parameters.py": {"HandIn"},
    "app/recruitment/link_schemas.py": {"OwedOut", "owed_cents"},
    "app/results/label_schemas.py": {"JurorOut"},
    "app/planning/schemas.py": {"foretold"},
    "app/webhooks/schemas.py": {"said"},
    "likewise/client/objects.py": {"said"},
    # Operations of the OpenAPI document are named by their functions.
    "app/recruitment/entry_routes.py": {"hand_in"},
    "app/recruitment/link_routes.py": {"OwedOut", "list_owed", "download_owed", "mark_owed_paid"},
    # Stored in the results of dry runs.
    "app/planning/dry_run.py": {"foretold"},
    # A local variable; the file is being changed elsewhere.
}
CODE = ("app", "workers", "likewise", "learning", "bench", "emulators", "testbed", "tools")
# Names in TypeScript and in the scripts of components.
OLD_TYPESCRIPT = re.compile(
    r"(?<![.\w$])(?:Laid|Told|Tells|Hands|Asking|Manner|told|said|deed)(?![\w$])"
)
NO_CODE = re.compile(
    r"""/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`""", re.DOTALL
)
SCRIPT = re.compile(r"<script\b[^>]*>(.*?)</script>", re.DOTALL)
# A field of the API: what a platform answered to an attempt.
ALLOWED_TYPESCRIPT = {"frontend/src/dashboard/recruit/payments.test.ts": {"said"}}
DOCUMENTS = ("*.md", "*.html", "app/messages/en.json", "frontend/src", ":!CHANGELOG.md")


def listed(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "--", *patterns]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def old_words(name: str, text: str) -> list[str]:
    """The old words of a text that nothing allows."""
    if not PATTERN.search(text):
        return []
    for file, patterns in ALLOWED.items():
        if file == "*" or name.startswith(file):
            for pattern in patterns:
                text = re.sub(pattern, "", text)
    return [match.group() for match in PATTERN.finditer(text)]


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Strings and comments with their lines."""
    wanted = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in wanted:
            yield token.start[0], token.string


def names_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Every name that the code defines or uses, with its line. A query's `.one()` is
    SQLAlchemy's."""
    tree = ast.parse(source)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.Attribute(attr=name) if name != "one" or id(node) not in called:
                yield node.lineno, name
            case ast.alias(name=path, asname=name):
                for part in [*path.split("."), *([name] if name else [])]:
                    yield node.lineno, part
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name


@cache
def names_in(file: str) -> list[tuple[int, str]]:
    return list(names_of_python((ROOT / file).read_text()))


@cache
def is_old_name(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return name in EMPTY_NAMES | OLD_CLASSES or OLD_PARTS.search(words) is not None


def old_names(file: str, names: Iterable[tuple[int, str]]) -> list[str]:
    """Those of a file's names that say nothing or have an old word, with their lines."""
    allowed = ALLOWED_NAMES["*"] | ALLOWED_NAMES.get(file, set())
    return [
        f"{file}:{line}: {name}"
        for line, name in names
        if name not in allowed and is_old_name(name)
    ]


def old_names_of_typescript(file: str, source: str) -> list[str]:
    if file.endswith(".svelte"):
        source = "\n".join(SCRIPT.findall(source))
    allowed = ALLOWED_TYPESCRIPT.get(file, set())
    names = OLD_TYPESCRIPT.findall(NO_CODE.sub(" ", source))
    return [f"{file}: {name}" for name in names if name not in allowed]


def test_documents_pages_and_frontend_use_the_fields_terms() -> None:
    assert [
        f"{name}:{number}: {word}"
        for name in listed(*DOCUMENTS)
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        for word in old_words(name, line)
    ] == []


def test_strings_and_comments_use_the_fields_terms() -> None:
    assert [
        f"{name}:{number}: {word}"
        for name in listed("*.py", ":!tests")
        for number, text in texts_of_python((ROOT / name).read_text())
        for word in old_words(name, text)
    ] == []


@pytest.mark.parametrize(
    "text", ["a deed", "Whoever comes", "was foretold", "handed in", "Two alike", "unless told"]
)
def test_old_words_are_found(text: str) -> None:
    assert old_words("README.md", text) != []
    assert old_words("docs/licences.md", text) != []


def test_what_is_allowed_is_needed() -> None:
    for name, patterns in ALLOWED.items():
        files = listed("*.py", *DOCUMENTS, ":!tests") if name == "*" else listed(name)
        whole = "\n".join((ROOT / file).read_text() for file in files)
        for pattern in patterns:
            assert re.search(pattern, whole, re.MULTILINE) or name == "*", (name, pattern)


def test_names_in_code_say_what_they_hold() -> None:
    files = listed(*(f"{folder}/*.py" for folder in CODE))
    assert len(files) > 500
    assert [name for file in files for name in old_names(file, names_in(file))] == []


def test_modules_are_called_by_the_fields_terms() -> None:
    files = listed(*(f"{folder}/*.py" for folder in CODE))
    assert [
        file for file in files if any(is_old_name(part) for part in Path(file[:-3]).parts)
    ] == []


def test_names_in_typescript_say_what_they_hold() -> None:
    files = listed("frontend/src/*.ts", "frontend/src/*.svelte")
    assert len(files) > 100
    assert [
        name for file in files for name in old_names_of_typescript(file, (ROOT / file).read_text())
    ] == []


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "for one in rows: pass",
        "def found(): pass",
        "def check(made): pass",
        "check(said=1)",
        "call.deed",
        "rows.one",
        "class Owed: pass",
        "class NoWall: pass",
        "def _seal_anew(): pass",
        "def hand_in(): pass",
        "payment_owed = 1",
        "class Whole: pass",
        "from app.recruitment.ledger import Owed",
        "import bench.wall",
        "with open(path) as one: pass",
    ],
)
def test_old_names_are_found(source: str) -> None:
    assert len(old_names("app/x.py", names_of_python(source))) == 1


@pytest.mark.parametrize(
    "source", ["rows.one()", "is_one_group = 1", "is_whole = 1", "def not_found(): pass"]
)
def test_ordinary_names_are_not_old(source: str) -> None:
    assert old_names("app/x.py", names_of_python(source)) == []


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("type Told = string;", 1),
        ("const said = await ask();", 1),
        ("function act(deed: string): void {}", 1),
        ("let a = reply.said; // what was said", 0),
        ("say('he said'); /* told */ say(`said`);", 0),
    ],
)
def test_old_names_of_typescript_are_found(source: str, n: int) -> None:
    assert len(old_names_of_typescript("x.ts", source)) == n
    component = f"<script lang='ts'>{source}</script><p>told</p>"
    assert len(old_names_of_typescript("x.svelte", component)) == n


def test_names_that_are_allowed_are_there() -> None:
    for file, names in ALLOWED_NAMES.items():
        files = listed(*(f"{folder}/*.py" for folder in CODE)) if file == "*" else [file]
        there = {name for each in files for _, name in names_in(each)}
        assert names <= there, file
