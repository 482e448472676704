"""Backups that are not as `likewise backup` wrote them."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from likewise.backups.contents import MANIFEST, PARTS

Members = dict[str, bytes]


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(file: Path, target: Path, change: Callable[[Members], None]) -> Path:
    """With other members, as a ZIP file in order."""
    members = members_of(file)
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def with_sums(members: Members) -> None:
    """The list of parts and the manifest say of the members what is so."""
    parts = [
        {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
        if name not in (PARTS, MANIFEST)
    ]
    members[PARTS] = "".join(json.dumps(part) + "\n" for part in parts).encode()
    changed(parts_sha256=hashlib.sha256(members[PARTS]).hexdigest())(members)


def changed(**values: object) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), **values}).encode()

    return change
