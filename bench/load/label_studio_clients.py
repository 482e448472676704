"""Label Studio's users as coroutines: `python -m bench.load.label_studio_clients`.

Each has a token of their own, gets the next task and sends 20 choices at once. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from bench.load.connections import Connection, Record

NAMES = ("round", "another", "third")


async def work(
    address: str, project: int, tokens: list[str], seconds: float, record: Record
) -> None:
    connections = [Connection(address, record, is_kept=False) for _ in tokens]
    record.begin()
    await asyncio.gather(
        *(
            _annotate(connection, project, token, seconds, record)
            for connection, token in zip(connections, tokens, strict=True)
        )
    )


async def _annotate(
    connection: Connection, project: int, token: str, seconds: float, record: Record
) -> None:
    headers = f"Authorization: Token {token}\r\n"
    while record.elapsed < seconds:
        path = f"/api/projects/{project}/next"
        task = await connection.json("claim", "GET", path, None, headers)
        path, body = f"/api/tasks/{task['id']}/annotations", annotation_of(task)
        await connection.json("submit", "POST", path, body, headers)


def annotation_of(task: dict[str, Any]) -> dict[str, Any]:
    """A choice for each image."""
    return {
        "result": [
            {
                "id": f"{task['id']}-{k}",
                "from_name": f"bin-{k}",
                "to_name": f"image-{k}",
                "type": "choices",
                "value": {"choices": [NAMES[k % len(NAMES)]]},
            }
            for k in range(len(task["data"]))
        ],
        "lead_time": 8.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--project", type=int, required=True)
    parser.add_argument("--token", action="append", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asked = parser.parse_args()
    record = Record()
    asyncio.run(work(asked.address, asked.project, asked.token, asked.seconds, record))
    record.print()


if __name__ == "__main__":
    main()
