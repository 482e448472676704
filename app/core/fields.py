"""Field types of settings and request bodies, and checks of settings."""

from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, Strict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from app.core.errors import InvalidInput

# A whole number in a request body: not true, which Python counts as 1, and not text. This matters
# most for money.
StrictInt = Annotated[int, Strict()]
# True or false in a request body, not a number or text.
StrictBool = Annotated[bool, Strict()]
# Amounts are whole cents; forms show them with two decimals.
MONEY: dict[str, JsonValue] = {"unit": "hundredths of the currency"}
# Shares are from 0 to 1; forms show them in per cent.
SHARE: dict[str, JsonValue] = {"unit": "share"}
# What people read in place of pydantic's messages. `{}` is the limit.
WORDS = {
    "less_than_equal": ("le", "at most {}"),
    "greater_than_equal": ("ge", "at least {}"),
    "less_than": ("lt", "less than {}"),
    "greater_than": ("gt", "more than {}"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_too_short": ("min_length", "at least {} characters"),
    "int_parsing": ("", "enter a whole number"),
    "int_type": ("", "enter a whole number"),
    "int_from_float": ("", "enter a whole number"),
    "float_parsing": ("", "enter a number"),
    "float_type": ("", "enter a number"),
    "finite_number": ("", "enter a number"),
}


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
        title = field.title if field is not None and field.title else place or name
        raise InvalidInput(
            f"{where}: {message}.",
            code=code,
            fields=[f"{name}.{first['loc'][0]}"] if place else [],
            words=f"{title}: {in_words(first, field)}.",
        ) from error


def in_words(error: ErrorDetails, field: FieldInfo | None) -> str:
    """Return what is wrong with a field as people say it, without its name."""
    limit, words = WORDS.get(error["type"], ("", ""))
    if not words:
        return error["msg"].removeprefix("Value error, ")
    value = error.get("ctx", {}).get(limit, "")
    return words.format(f"{100 * value:g} %" if limit and _is_share(field) else value)


def _is_share(field: FieldInfo | None) -> bool:
    extra = field.json_schema_extra if field is not None else None
    return isinstance(extra, dict) and extra.get("unit") == SHARE["unit"]
