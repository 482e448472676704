"""Names of downloaded files, which say where a file is from: many of them end up in one folder."""

import re
import unicodedata
from urllib.parse import quote

MOST_WORDS = 8
MOST_LETTERS = 60


def attachment(owner: str, file: str) -> dict[str, str]:
    """Return the header of a download: `file` after the name of its campaign or collection.

    "Faces of 2026!" and "answers.csv" become "faces-of-2026-answers.csv". Names in other scripts
    are given as RFC 6266 has it, in UTF-8, next to a name in ASCII for old clients.
    """
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", owner).lower())[:MOST_WORDS]
    start = "-".join(words)[:MOST_LETTERS].rstrip("-")
    ascii_start = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode()
    ascii_start = re.sub("-+", "-", ascii_start).strip("-")
    value = f'attachment; filename="{_joined(ascii_start, file)}"'
    if ascii_start != start:
        value += f"; filename*=UTF-8''{quote(_joined(start, file))}"
    return {"Content-Disposition": value}


def _joined(start: str, file: str) -> str:
    return f"{start}-{file}" if start else file
