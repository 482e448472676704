"""Texts, comments and documents use the field's terms (docs/glossary.md), not the old ones."""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
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
DOCUMENTS = ("*.md", "*.html", "app/messages/en.json", "frontend/src", ":!CHANGELOG.md")


def listed(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "--", *patterns]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def old_words(name: str, text: str) -> list[str]:
    """The old words of a text that nothing allows."""
    for file, patterns in ALLOWED.items():
        if file == "*" or name.startswith(file):
            for pattern in patterns:
                text = re.sub(pattern, "", text)
    return [found.group() for found in PATTERN.finditer(text)]


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Strings and comments with their lines."""
    wanted = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in wanted:
            yield token.start[0], token.string


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
