"""Figures of the acceptance tests, for the report that `make acceptance` writes."""

import json
import os
from pathlib import Path


def keep(name: str, figures: object) -> None:
    """Write `figures` for the report, if one is being made; they are printed in any case."""
    print(json.dumps({name: figures}))
    folder = os.environ.get("LIKEWISE_ACCEPTANCE_RESULTS")
    if folder:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
