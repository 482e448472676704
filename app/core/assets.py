"""Addresses of the built frontend files, read from Vite's manifest."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import starlette.staticfiles
from starlette.responses import Response

from app.core.errors import LikewiseError

BUILD = Path(__file__).parent.parent / "static" / "build"


class StaticFiles(starlette.staticfiles.StaticFiles):
    """Serves static files. Browsers keep those with a hash of their content in the name forever."""

    def file_response(self, full_path: Any, *args: Any, **options: Any) -> Response:
        response = super().file_response(full_path, *args, **options)
        if BUILD / "assets" in Path(full_path).parents:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


class FrontendNotBuilt(LikewiseError):
    """The frontend's manifest is missing."""

    code = "frontend_not_built"
    status = 500


@lru_cache
def _manifest() -> dict[str, Any]:
    path = BUILD / "manifest.json"
    if not path.exists():
        raise FrontendNotBuilt("The frontend is not built. Run `make frontend`.")
    manifest: dict[str, Any] = json.loads(path.read_text())
    return manifest


def _with_imports(name: str, seen: list[str]) -> list[str]:
    if name not in seen:
        seen.append(name)
        for imported in _manifest()[name].get("imports", []):
            _with_imports(imported, seen)
    return seen


def script_of(entry: str) -> str:
    """Return the address of an entry's JavaScript module, e.g. entry `dashboard`."""
    return f"/static/build/{_manifest()[f'src/{entry}.ts']['file']}"


def imports_of(entry: str) -> list[str]:
    """Return the addresses of the modules that an entry imports, so that pages can preload them."""
    chunks = _with_imports(f"src/{entry}.ts", [])[1:]
    return [f"/static/build/{_manifest()[chunk]['file']}" for chunk in chunks]


def styles_of(entry: str) -> list[str]:
    """Return the addresses of all style sheets that an entry and its shared chunks need."""
    chunks = _with_imports(f"src/{entry}.ts", [])
    files = [file for chunk in reversed(chunks) for file in _manifest()[chunk].get("css", [])]
    return [f"/static/build/{file}" for file in dict.fromkeys(files)]
