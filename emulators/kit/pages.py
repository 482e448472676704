"""Pages of people who work on an emulated platform."""

from pathlib import Path

from starlette.templating import Jinja2Templates


def templates(folder: Path) -> Jinja2Templates:
    """An emulator's own templates, which extend `layout.html` here."""
    return Jinja2Templates([folder, Path(__file__).parent / "templates"])
