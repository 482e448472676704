"""Field types of settings and request bodies, and their names for people."""

from typing import Annotated

from pydantic import BaseModel, Strict

# A whole number in a request body: not true, which Python counts as 1, and not text. This matters
# most for money.
StrictInt = Annotated[int, Strict()]
# True or false in a request body, not a number or text.
StrictBool = Annotated[bool, Strict()]


def field_title(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """Return the title that forms show for the field of an error, and its name for programs."""
    name = ".".join(str(part) for part in place)
    field = model.model_fields.get(str(place[0])) if place else None
    return f"{field.title} ({name})" if field is not None and field.title else name
