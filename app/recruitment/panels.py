"""Panels and survey tools from which people come by a link. A new one is one more entry here.

An entry fills a link's form. “…” stands for what the requester copies from the panel; an address
that still has one is refused.
"""

from dataclasses import dataclass

from app.recruitment.link_fields import KeptParameter, Returns
from app.recruitment.settings import PersonForm


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
