"""`python -m app.openapi FILE` writes the OpenAPI schema; the frontend's types are made from it."""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    # The schema depends on code alone, so that a build needs no running database.
    os.environ.setdefault("DATABASE_URL", "postgresql+psycopg://unused")
    for name in ("REDIS_URL", "LIKEWISE_SECRET_KEY"):
        os.environ.setdefault(name, "unused")
    from app.main import create_app

    schema = json.dumps(create_app().openapi(), indent=1, sort_keys=True)
    Path(sys.argv[1]).write_text(schema + "\n")


if __name__ == "__main__":
    main()
