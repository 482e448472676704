"""Lists in pages: `?limit=&after=` returns `{items, next}` and a Link header (RFC 8288).

`next` is an opaque, signed cursor with the sort keys of the page's last row, so rows that are added
or removed in the meantime are neither repeated nor hidden. It is null on the last page.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar, TypeVarTuple
from uuid import UUID

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Select, literal, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.errors import InvalidInput
from app.core.security import sign, unsign

Item = TypeVar("Item")
Row = TypeVar("Row")
Columns = TypeVarTuple("Columns")
MOST = 1000
READ: dict[type[Any], Callable[[Any], Any]] = {datetime: datetime.fromisoformat, UUID: UUID}


class BadCursor(InvalidInput):
    """The value of `after` does not come from this list."""

    code = "bad_cursor"


class Page(BaseModel, Generic[Item]):
    """A page of a list. Send `next` as `after` to get the next page."""

    items: list[Item]
    next: str | None = Field(description="Cursor of the next page; null on the last one.")


class Paging:
    """The requested page of a list; routes of lists depend on it."""

    def __init__(
        self,
        request: Request,
        response: Response,
        limit: Annotated[int, Query(ge=1, le=MOST, description="Number of items on a page.")] = 100,
        after: Annotated[
            str | None, Query(max_length=1000, description="The `next` value of the previous page.")
        ] = None,
    ) -> None:
        self.limit = limit
        self._request, self._response = request, response
        self._after = self._read(after)
        self._next: str | None = None

    @property
    def _purpose(self) -> str:
        return f"cursor {self._request.url.path}"

    def _read(self, after: str | None) -> list[str | int] | None:
        if after is None:
            return None
        keys = unsign(self._purpose, after)
        if not isinstance(keys, list):
            raise BadCursor(
                "`after` is not a cursor of this list. Send the `next` value of the "
                "previous page unchanged, or leave `after` out to start from the beginning."
            )
        return keys

    def rows(
        self,
        session: Session,
        query: Select[*Columns],
        *keys: InstrumentedAttribute[Any],
        newest_first: bool = False,
    ) -> Sequence[Any]:
        """Return the rows of this page, sorted by `keys`: columns of the query's first entity that
        are unique together. `newest_first` reverses the order."""
        if self._after is not None:
            place = tuple_(*self._place(keys))
            query = query.where(tuple_(*keys) < place if newest_first else tuple_(*keys) > place)
        order = [key.desc() if newest_first else key for key in keys]
        rows = session.execute(query.order_by(*order).limit(self.limit + 1)).all()
        return self._cut(rows, lambda row: [getattr(row[0], key.key) for key in keys])

    def _place(self, keys: tuple[InstrumentedAttribute[Any], ...]) -> list[Any]:
        values = self._after or []
        if len(values) != len(keys):
            raise BadCursor(
                "`after` is a cursor of another list. Leave it out to start from the beginning."
            )
        return [
            literal(READ.get(key.type.python_type, lambda same: same)(value), key.type)
            for key, value in zip(keys, values, strict=True)
        ]

    def slice(self, offset: int, fetch: Callable[[int, int], Sequence[Row]]) -> Sequence[Row]:
        """Return a page of rows that are found by their index: `fetch` takes a start and a limit.
        `offset` is used if there is no cursor."""
        start = int(self._after[0]) if self._after is not None else offset
        rows = fetch(start, self.limit + 1)
        if len(rows) > self.limit:
            self._next = sign(self._purpose, [start + self.limit])
        return rows[: self.limit]

    def part(self, rows: Sequence[Row], key: Callable[[Row], int]) -> Sequence[Row]:
        """Return a page of computed rows that are sorted by `key`."""
        if self._after is not None:
            (last,) = self._after
            rows = [row for row in rows if key(row) > int(last)]
        return self._cut(rows, lambda row: [key(row)])

    def _cut(self, rows: Sequence[Row], keys: Callable[[Row], list[Any]]) -> Sequence[Row]:
        if len(rows) > self.limit:
            last = [_as_json(value) for value in keys(rows[self.limit - 1])]
            self._next = sign(self._purpose, last)
        return rows[: self.limit]

    def page(self, items: list[Item]) -> Page[Item]:
        """Return the response body, and set the Link header."""
        if self._next is not None:
            following = self._request.url.include_query_params(after=self._next)
            address = f"{following.path}?{following.query}"
            self._response.headers["Link"] = f'<{address}>; rel="next"'
        return Page(items=items, next=self._next)


Paged = Annotated[Paging, Depends()]


def _as_json(value: Any) -> str | int:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)
