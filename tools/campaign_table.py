"""`python -m tools.campaign_table` writes the table of a campaign's fields into the user guide."""

from pathlib import Path

from pydantic.fields import FieldInfo

from app.campaigns.plan import CHANGEABLE, RANGES, CampaignPlan

DOCUMENT = Path(__file__).parent.parent / "docs" / "user-guide.md"
BEGIN, END = "<!-- campaign fields: begin -->", "<!-- campaign fields: end -->"
HEAD = "| field | in the API | default | range | can change later | meaning |\n" + "|---" * 6 + "|"


def table() -> str:
    """One row for each field of a campaign's plan, as Markdown."""
    return "\n".join([HEAD, *(_row(*field) for field in CampaignPlan.model_fields.items())])


def _row(name: str, field: FieldInfo) -> str:
    default = "required" if field.is_required() else field.get_default(call_default_factory=True)
    cells = [
        field.title,
        f"`{name}`",
        # The kind, the strategy and the settings have their own defaults.
        "automatic" if default in (None, {}) else default if default != [] else "none",
        str(RANGES.get(name, "")),
        "yes" if name in CHANGEABLE else "no",
        field.description,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def written(text: str) -> str:
    """The document with the table of these fields in the place of the one it has."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    DOCUMENT.write_text(written(DOCUMENT.read_text()))
