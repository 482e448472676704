"""Decodes one file after the other, each in a child of its own that is measured.

`python -m tests.support.measured_decoding` reads paths from its input, one a line, and writes one
JSON line for each: `outcomes` (the code of each file's refusal, or "taken"), CPU `seconds` and the
most `megabytes` that memory grew by.
"""

import json
import os
import resource
import sys
from pathlib import Path

from app.collections.archives import is_archive, members
from app.collections.decoding import RejectedImage
from app.collections.images import prepare_image

# ru_maxrss: KiB on Linux.
PER_MEGABYTE = 1024


def outcomes(filename: str, data: bytes) -> list[str]:
    """What becomes of an upload: of a file, or of each member of an archive."""
    try:
        files = list(members(data)) if is_archive(filename, data) else [(filename, data)]
    except RejectedImage as error:
        return [error.code]
    return [_outcome(content) for _, content in files]


def _outcome(content: bytes | RejectedImage) -> str:
    try:
        if isinstance(content, RejectedImage):
            raise content
        prepare_image(content)
    except RejectedImage as error:
        return error.code
    return "taken"


def measured(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF)
    results = outcomes(path.name, data)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "outcomes": results,
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "megabytes": (after.ru_maxrss - before.ru_maxrss) / PER_MEGABYTE,
    }


def main() -> None:
    prepare_image(Path(sys.argv[1]).read_bytes())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            # Written as one line, so that nothing of it is lost when the child leaves.
            os.write(1, json.dumps(measured(Path(line.strip()))).encode() + b"\n")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            os.write(1, json.dumps({"outcomes": [f"died: {status}"]}).encode() + b"\n")


if __name__ == "__main__":
    main()
