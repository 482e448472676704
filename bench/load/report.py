"""The report, from all rows that were stored."""

from __future__ import annotations

from collections.abc import Mapping

from bench.harness.tables import Goal, Row, goals_table, of, table
from bench.load.parts import ANSWERS, CAMPAIGNS, CROWDS, N_IMAGES, PROCESSES, SHOWN, Part

TODAY = "today"
COMPARISON, LAWS = "comparison", "laws"


def report(rows: list[Row]) -> str:
    return "\n".join(
        [
            "# Under load",
            "",
            f"`python -m bench.load`: one bins campaign of {N_IMAGES} images, {SHOWN} in a grid, "
            "durable commits, one web process, on a machine with two cores that also runs the "
            "crowd. Trainings are included in core ms per answer where there are some. Each answer "
            "brings the next grid, so that people ask for one (a claim) only at the beginning and "
            "when there was none for them; in code before `next`, they ask for each.",
            "",
            *_crowds(rows),
            "",
            *goals_table(TODAY, goals(rows)),
            "",
            *_section("Web processes", _processes(rows)),
            *_section("Answers that are there already", _sizes(rows)),
            *_section("Compared with Label Studio", _comparison(rows)),
            *_section("Laws under load", _laws(rows)),
        ]
    )


def _section(title: str, lines: list[str]) -> list[str]:
    """Nothing where nothing was measured."""
    return [f"## {title}", "", *lines, ""] if lines else []


def _crowds(rows: list[Row]) -> list[str]:
    head = ["", "code", "answers/s", "claim p50 / p95 / p99, ms", "images", "submit",
            "waits", "core ms per answer", "of these web", "PostgreSQL", "trainings"]  # fmt: skip
    body = [
        [
            title,
            row["code"],
            _rate(row),
            *(_waits(row, kind) for kind in ("claim", "images", "submit")),
            str(row["waits"]),
            *_costs(row),
            str(row["trainings"]),
        ]
        for title, row in _measured(rows, CROWDS)
    ]
    return table(head, body)


def _processes(rows: list[Row]) -> list[str]:
    head = ["", "web processes", "code", "answers/s", "claim p50 / p95 / p99, ms", "submit",
            "core ms per answer", "of these web, all processes", "PostgreSQL"]  # fmt: skip
    body = [
        [
            title,
            str(PROCESSES[row["part"]].servers),
            row["code"],
            _rate(row),
            _waits(row, "claim"),
            _waits(row, "submit"),
            *_costs(row),
        ]
        for title, row in _measured(rows, PROCESSES)
    ]
    intro = "The crowd is spread over web servers at ports of their own."
    return [intro, "", *table(head, body)] if body else []


def _sizes(rows: list[Row]) -> list[str]:
    head = ["before the run", "code", "answers/s", "core ms per answer", "of these web",
            "PostgreSQL", "claim p50 / p99, ms", "submit p50 / p99, ms"]  # fmt: skip
    body = [
        [
            title,
            row["code"],
            _rate(row),
            *_costs(row),
            *(_waits(row, kind, "p50", "p99") for kind in ("claim", "submit")),
        ]
        for title, row in _measured(rows, {**ANSWERS, **CAMPAIGNS})
    ]
    intro = (
        "10 people without a pause, in a campaign that has had answers for long, or for many "
        "campaigns in turn: everybody before them has answered fifty grids, and one grid in fifty "
        "was left by who had it first."
    )
    return [intro, "", *table(head, body)] if body else []


def _comparison(rows: list[Row]) -> list[str]:
    head = ["", "server", "answers/s", "next p50 / p95 / p99, ms", "submit p50 / p95 / p99, ms",
            "core ms per answer"]  # fmt: skip
    body = [
        [
            row["code"] if "set_up" in row else f"Likewise, {row['code']}",
            row.get("set_up", "its own web server, one process"),
            _rate(row),
            _waits(row, "claim"),
            _waits(row, "submit"),
            _costs(row)[0],
        ]
        for row in of(rows, part=COMPARISON)
    ]
    intro = (
        "10 people without a pause, one after the other on the same machine, over the same "
        "PostgreSQL with durable commits. In Label Studio, a task has 20 images with a choice of "
        "four for each, as its labels know no bins; everybody is a user with a token, gets tasks "
        "in sequence with one annotation each (`GET /api/projects/ID/next`) and sends 20 choices "
        "(`POST /api/tasks/ID/annotations`). It has no Redis, as in its compose file, and leaves "
        "out the indexes for which the server lacks extensions (`SKIP_TRIGRAM_EXTENSION`, "
        "`SKIP_BTREE_GIN_EXTENSION`), which makes its answers cheaper. "
        "Its tables are vacuumed and analyzed, and a crowd of ten seconds comes before."
    )
    return [intro, "", *table(head, body)] if body else []


def _laws(rows: list[Row]) -> list[str]:
    lines = []
    for row in of(rows, part=LAWS):
        broken: Mapping[str, list[str]] = row["violations"]
        lines += [
            f"{row['code']}: {row['people']} clients without a pause, {row['answers']:,} answers "
            f"acknowledged ({row['surplus']:,} of them surplus) in {row['minutes']:.1f} minutes, "
            f"{row['trainings']} trainings, {row['rounds']} rounds, {row['wanted']} answers for "
            f"each grid, leases of {row['lease_seconds']} s. {row['repeated']:,} answers were sent "
            f"thrice with the same key, {row['tabs']:,} grids answered in two tabs at once, "
            f"{row['left']:,} left, {row['late']:,} answered after the lease ran out.",
            "",
            f"Violations of {row['n_laws']} laws: **{sum(map(len, broken.values()))}**",
            *(f"- {law}: {', '.join(what)}" for law, what in broken.items()),
        ]
    return lines


def _measured(rows: list[Row], parts: Mapping[str, Part]) -> list[tuple[str, Row]]:
    """In the order of the parts, with their titles."""
    return [(part.title, row) for name, part in parts.items() for row in of(rows, part=name)]


def _rate(row: Row) -> str:
    return f"{row['answers_per_second']:.0f}"


def _waits(row: Row, kind: str, *which: str) -> str:
    waits = row[kind]
    return " / ".join(f"{waits[name]:.0f}" for name in which or waits)


def _costs(row: Row) -> list[str]:
    """Core ms per answer: all, web, PostgreSQL."""
    cost = row["ms_per_answer"]
    return [f"{ms:.1f}" for ms in (sum(cost.values()), cost["web"], cost["postgresql"])]


def goals(rows: list[Row]) -> list[Goal]:
    """What is wanted of one campaign on two cores, with the crowd on the same machine."""
    today = {row["part"]: row for row in of(rows, code=TODAY)}
    reached = []
    for part, what, least in (
        ("ten", "answers/s without learning", 120),
        ("learning", "answers/s with learning", 80),
    ):
        if part in today:
            rate = today[part]["answers_per_second"]
            reached.append((what, f"{least}", f"{rate:.0f}", rate >= least))
    if "ten" in today:
        cost = sum(today["ten"]["ms_per_answer"].values())
        reached.append(("core ms for an answer", "at most 8", f"{cost:.1f}", cost <= 8))
    for kind, most in (("claim", 200), ("submit", 300)) if "class" in today else ():
        p99 = today["class"][kind]["p99"]
        goal = (f"500 people, {kind}, p99", f"less than {most} ms", f"{p99:.0f} ms", p99 < most)
        reached.append(goal)
    return [*reached, *_goal_of_comparison(rows)]


def _goal_of_comparison(rows: list[Row]) -> list[Goal]:
    compared = of(rows, part=COMPARISON)
    others = [row["answers_per_second"] for row in compared if "set_up" in row]
    own = [row["answers_per_second"] for row in compared if row["code"] == TODAY]
    if not others or not own:
        return []
    what = "answers/s, compared with Label Studio in the same run"
    return [(what, f"more than {max(others):.0f}", f"{own[0]:.0f}", own[0] > max(others))]
