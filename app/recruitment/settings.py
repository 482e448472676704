"""What a requester decides about a link, the settings of every channel, and presets for panels.

For people from other sites, a link's settings name the parameters of its address that are kept, the
addresses that people are sent back to, and the sites that may frame its page.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from app.core.fields import checked_fields
from app.core.headers import LOCAL
from app.recruitment.channels.paid import Paid
from app.recruitment.channels.registry import LINK, get_channel
from app.recruitment.models import Recruitment

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
# With these kinds of access, people use personal addresses, and the link's own address lets nobody
# in.
PERSONAL = ("listed", "single_use")
# What an id may look like (app.recruitment.parameters).
PersonForm = Literal["any", "word", "digits", "hex", "uuid"]


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


class LinkSettings(BaseModel):
    """Settings of a link. Likewise does not pay on this channel; it records what is owed."""

    model_config = ConfigDict(extra="forbid")

    access: Literal["open", "password", "listed", "single_use"] = Field(
        default="open",
        title="Who can take part",
        description="open: anyone with the link. password: anyone who also knows the password. "
        "listed: one address for each person on your list. single_use: addresses that each allow "
        "one assignment.",
    )
    per_device: int = Field(
        default=0,
        ge=0,
        le=1000,
        title="Assignments per device",
        description="How many one browser, or one person who is known by a list or an ID, can do. "
        "0: no limit.",
    )
    parameters: list[KeptParameter] = Field(
        default=[],
        max_length=MOST_PARAMETERS,
        title="Parameters to keep",
        description="Parameters of the address that are kept with each assignment. Others are "
        "ignored.",
    )
    person: str = Field(
        default="",
        max_length=60,
        title="Person's ID",
        description="The parameter that identifies the person, in every browser. Empty: none.",
    )
    person_required: bool = Field(
        default=True,
        title="ID is required",
        description="Otherwise, people without an ID are known by their browser.",
    )
    person_form: PersonForm = Field(
        default="any",
        title="Form of the ID",
        description="any: letters, digits and . _ ~ @ + : = - in any order. digits: digits only. "
        "word: letters, digits, - and _. hex: digits and a to f. uuid: as in RFC 9562.",
    )
    returns: Returns = Field(
        default=Returns(),
        title="Return addresses",
        description="Where people are sent back to. {id}, {code} and {parameter} are replaced.",
    )
    framed_by: list[Origin] = Field(
        default=[],
        max_length=MOST_FRAMES,
        title="Sites that can show the page in a frame",
        description="Such as https://survey.example.org. Empty: none.",
    )

    @field_validator("framed_by")
    @classmethod
    def _each_site_once(cls, origins: list[str]) -> list[str]:
        return list(dict.fromkeys(origins))

    @model_validator(mode="after")
    def _parameters_fit(self) -> "LinkSettings":
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("each parameter can be kept only once")
        if self.person and self.person not in names:
            raise ValueError(f"the ID “{self.person}” is not among the parameters to keep")
        if self.person and self.access in PERSONAL:
            raise ValueError("personal addresses already identify people; leave the ID out")
        if self.person and self.access == "password":
            raise ValueError(
                "an ID in the address lets people in without the password; leave one of them out"
            )
        if self.person not in ("", PERSON) and PERSON in names:
            raise ValueError(f"a parameter called {PERSON} can only be the person's ID")
        self._require_known_placeholders(names)
        return self

    def _require_known_placeholders(self, names: list[str]) -> None:
        known = [CODE, *names, *([PERSON] if self.person else [])]
        for outcome, template in self.returns.model_dump().items():
            for name in placeholders_of(template):
                if name not in known:
                    raise ValueError(
                        f"return address “{outcome}”: unknown placeholder {{{name}}}; choose from "
                        + ", ".join(f"{{{choice}}}" for choice in dict.fromkeys(known))
                    )


def settings_model(channel: str) -> type[BaseModel]:
    """Return the settings model of a channel. Raises UnknownChannel."""
    return LinkSettings if channel == LINK else get_channel(channel).settings


def checked_settings(channel: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with the field that is
    wrong."""
    model = settings_model(channel)
    return checked_fields(model, values, name="Settings", code="bad_recruitment")


def link_settings(stored: dict[str, Any]) -> LinkSettings:
    return LinkSettings.model_validate(stored)


def paid_settings(recruitment: Recruitment) -> Paid:
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    assert isinstance(settings, Paid)
    return settings


@dataclass(frozen=True)
class Panel:
    """A preset for a link. `help` says where its parts are found at the panel."""

    key: str
    title: str
    help: str
    parameters: tuple[KeptParameter, ...]
    person: str
    person_form: PersonForm
    returns: Returns


def _kept(name: str, placeholder: str = "") -> KeptParameter:
    return KeptParameter(name=name, placeholder=placeholder)


def _returns(completed: str, screened_out: str = "", others: str = "") -> Returns:
    # Not checked: “…” is for the requester to replace.
    return Returns.model_construct(
        completed=completed,
        screened_out=screened_out or others,
        no_consent=others,
        over_quota=others,
    )


def _with_outcomes(address: str) -> Returns:
    """Return one address for all outcomes, which the other survey reads as embedded data."""
    addresses = {outcome: f"{address}&outcome={outcome}" for outcome in Returns.model_fields}
    return Returns.model_construct(None, **addresses)


_CONNECT = "https://connect.cloudresearch.com/participant/project/…/complete"
# Panels and survey tools from which people come by a link. A new one is one more entry here.
#
# An entry fills a link's form. “…” stands for what the requester copies from the panel; an address
# that still has one is refused.
PANELS = (
    # https://www.sona-systems.com/researcher/external-study-credit-granting/
    Panel(
        "sona",
        "SONA",
        "Paste the link's address as the Study URL. Copy the Client-Side Completion URL from the "
        "study's page at SONA, and end it with survey_code={id}. SONA gives credit to everyone who "
        "opens it, so use it for Completed only.",
        (_kept("survey_code", "%SURVEY_CODE%"),),
        "survey_code",
        "digits",
        _returns(
            "https://….sona-systems.com/webstudy_credit.aspx"
            "?experiment_id=…&credit_token=…&survey_code={id}"
        ),
    ),
    # https://connect-researcher-help.cloudresearch.com/hc/en-us/articles/5046202939796
    Panel(
        "connect",
        "CloudResearch Connect",
        "Paste the link's address as the project's link; Connect adds its parameters itself. Copy "
        "the Redirect URL from the project's completion settings. For Screened out, copy the "
        "redirect of Connect's partial completes, if you use them.",
        (_kept("participantId"), _kept("assignmentId"), _kept("projectId")),
        "participantId",
        "any",
        _returns(_CONNECT),
    ),
    # https://www.qualtrics.com/support/survey-platform/survey-module/survey-flow/
    # standard-elements/passing-information-through-query-strings/
    Panel(
        "qualtrics",
        "Qualtrics",
        "In the survey before this study, redirect to the link's address at the End of Survey. The "
        "return addresses are those of the survey that follows; it reads ResponseID and outcome "
        "as embedded data.",
        (_kept("ResponseID", "${e://Field/ResponseID}"),),
        "ResponseID",
        "word",
        _with_outcomes("https://….qualtrics.com/jfe/form/SV_…?ResponseID={id}"),
    ),
    # https://manual.limesurvey.org/URL_fields
    Panel(
        "limesurvey",
        "LimeSurvey",
        "In the survey before this study, enter the link's address as the End URL and load it "
        "automatically. The return addresses are those of the survey that follows; add its "
        "parameters under Panel integration.",
        (_kept("savedid", "{SAVEDID}"), _kept("token", "{TOKEN}")),
        "savedid",
        "digits",
        _with_outcomes("https://…/index.php/…?newtest=Y&savedid={id}&token={token}"),
    ),
)
