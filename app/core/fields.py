"""Fields of settings as people know them."""

from typing import Annotated

from pydantic import BaseModel, Strict

# A number in the body of a request: neither true, which Python counts as 1, nor text. Of money
# above all.
Whole = Annotated[int, Strict()]
# Yes or no in the body of a request: true or false, neither a number nor text.
Flag = Annotated[bool, Strict()]


def field_title(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """The title by which forms show the field of an error, and its name for programs."""
    name = ".".join(str(part) for part in place)
    field = model.model_fields.get(str(place[0])) if place else None
    return f"{field.title} ({name})" if field is not None and field.title else name
