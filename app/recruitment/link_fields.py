"""Fields of a link's settings for people from other sites: parameters of its address that are kept,
addresses that people are sent back to, and sites that may frame its page."""

import re
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from app.core.headers import LOCAL

Outcome = Literal["completed", "screened_out", "no_consent", "over_quota"]
MOST_PARAMETERS = 8
MOST_FRAMES = 5
LONGEST_ADDRESS = 2000
# The page uses these itself, or a return address gives them another meaning.
RESERVED = ("lang", "code")
# The placeholder for the parameter that identifies the person.
PERSON = "id"
CODE = "code"
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Printable ASCII without what ends or breaks an address in HTML, CSV or a header.
ADDRESS = re.compile(r"^[!#$%&'()*+,./0-9:;=?@A-Z_a-z{}~\[\]-]*$")
PANELS_WORDS = re.compile(r"^[!$%'()*+,./0-9:;=@A-Z_a-z{}~\[\]|-]*$")
ORIGIN = re.compile(r"^https?://(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[::1\])(?::[0-9]{1,5})?$")


def _not_reserved(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"“{name}” has another meaning here; choose another name")
    return name


def _panels_words(text: str) -> str:
    text = text.strip()
    if not PANELS_WORDS.match(text):
        raise ValueError("it can't contain spaces, quotes, <, >, & or #")
    return text


def is_secure(parts: SplitResult) -> bool:
    """Return whether an address is https, or http on this machine."""
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)


def _template(address: str) -> str:
    """Return a return address. Raises ValueError if a browser could be sent elsewhere by it, or by
    a value that is filled in."""
    address = address.strip()
    if not address:
        return ""
    if "…" in address:
        raise ValueError("replace each “…” with what your panel shows you")
    if not ADDRESS.match(address):
        raise ValueError("an address can't contain spaces, quotes, <, > or letters beyond ASCII")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ValueError("it is not an address") from error
    if not is_secure(parts) or not parts.hostname:
        raise ValueError("it must start with https:// (http:// only for localhost)")
    if "@" in parts.netloc or "{" in parts.netloc + parts.path or "}" in parts.netloc + parts.path:
        raise ValueError("placeholders such as {id} can only stand after the “?”")
    if set("{}") & set(PLACEHOLDER.sub("", address)):
        raise ValueError("a { or } is not part of a placeholder")
    return address


def _origin(text: str) -> str:
    """Return an origin as policies write it. Raises ValueError with an example."""
    origin = text.strip().lower().removesuffix("/")
    fitting = ORIGIN.match(origin) is not None
    try:
        fitting = fitting and is_secure(urlsplit(origin)) and urlsplit(origin).port != 0
    except ValueError:
        fitting = False
    if not fitting:
        raise ValueError(
            f"“{text[:100]}” is not a site such as https://survey.example.org, without a path"
        )
    return origin


Template = Annotated[str, StringConstraints(max_length=LONGEST_ADDRESS), AfterValidator(_template)]
Origin = Annotated[str, StringConstraints(max_length=300), AfterValidator(_origin)]
Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,59}$"),
    AfterValidator(_not_reserved),
]


class KeptParameter(BaseModel):
    """A parameter of the link's address whose value is kept. `placeholder` is what the panel
    replaces with the value; empty if the panel adds the parameter by itself."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(title="Parameter")
    placeholder: Annotated[
        str, StringConstraints(max_length=100), AfterValidator(_panels_words)
    ] = Field(default="", title="Placeholder")


class Returns(BaseModel):
    """Where people are sent back to, by how their visit ended. Empty: nowhere."""

    model_config = ConfigDict(extra="forbid")

    completed: Template = Field(default="", title="Completed")
    screened_out: Template = Field(default="", title="Screened out")
    no_consent: Template = Field(default="", title="No consent")
    over_quota: Template = Field(default="", title="Over quota")

    def template(self, outcome: Outcome) -> str:
        return str(getattr(self, outcome))


def placeholders_of(template: str) -> list[str]:
    """Return the names in braces of a return address."""
    return PLACEHOLDER.findall(template)
