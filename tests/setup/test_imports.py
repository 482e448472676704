"""No file imports itself through others; the order of rooms is import-linter's (pyproject.toml)."""

from graphlib import TopologicalSorter

import grimp

from app import tables
from app.core.hooks import Hook

PACKAGES = ("app", "workers", "learning", "likewise", "demo", "emulators")


def test_no_cycle_between_files() -> None:
    """Raises CycleError with the files of the cycle."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    order = list(TopologicalSorter(imported).static_order())
    assert len(order) == len(graph.modules)


def test_benchmarks_import_no_test() -> None:
    graph = grimp.build_graph("bench", "testbed", "tools", include_external_packages=True)
    assert "tests" not in graph.modules


def test_every_hook_is_answered_once_all_tables_are_imported() -> None:
    assert tables.ANSWERS
    assert Hook.defined
    assert [hook.name for hook in Hook.defined if not hook.is_answered] == []
