"""A window of each browser; fixtures are imported where they are used."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines import ENGINES, Engine
from tests.support.work_page import WorkPage


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    opened, lacks = ENGINES[request.param]
    if lacks():
        pytest.skip(f"{request.param} cannot be driven: {lacks()}")
    with opened(tmp_path) as running:
        yield running


@pytest.fixture
def page(engine: Engine) -> WorkPage:
    return WorkPage(engine)
