"""Field types of settings and request bodies, and checks of settings."""

from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, Strict, ValidationError

from app.core.errors import InvalidInput

# A whole number in a request body: not true, which Python counts as 1, and not text. This matters
# most for money.
StrictInt = Annotated[int, Strict()]
# True or false in a request body, not a number or text.
StrictBool = Annotated[bool, Strict()]
# Amounts are whole cents; forms show them with two decimals.
MONEY: dict[str, JsonValue] = {"unit": "hundredths of the currency"}


def labels(**names: str) -> dict[str, JsonValue]:
    """Return what a form calls the choices of a field, for its JSON schema."""
    return {"labels": {**names}}


def checked_fields(
    model: type[BaseModel], values: dict[str, Any], *, name: str, code: str
) -> dict[str, Any]:
    """Return settings with defaults filled in. Raises InvalidInput, with this code, that names the
    field that is wrong: by the title that forms show, and for programs. `name` is that of the
    settings as a whole."""
    try:
        return model.model_validate(values).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        field = model.model_fields.get(str(first["loc"][0])) if place else None
        where = f"{field.title} ({place})" if field is not None and field.title else place or name
        message = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"{where}: {message}.", code=code) from error
