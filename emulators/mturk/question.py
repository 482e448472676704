"""A HIT's ExternalQuestion: the strict parser, and the addresses that a worker's browser opens."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from emulators.mturk.errors import Refused, not_emulated

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
NAMESPACE = SCHEMAS + "2006-07-14/ExternalQuestion.xsd"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
MAX_BYTES = 65_535


@dataclass(frozen=True)
class ExternalQuestion:
    url: str
    frame_height: int


def read_question(text: str, allow_http: bool) -> ExternalQuestion:
    """Parse what the published schema permits: one ExternalURL, then one FrameHeight."""
    if len(text.encode()) > MAX_BYTES:
        raise Refused(f"Question is longer than {MAX_BYTES} bytes.", "ParameterLengthTooLong")
    try:
        root = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise _invalid(str(error) or type(error).__name__) from None
    kind = root.tag.rpartition("}")[2]
    if kind in ("HTMLQuestion", "QuestionForm"):
        raise not_emulated(f"A question of kind {kind}")
    if root.tag != f"{{{NAMESPACE}}}ExternalQuestion":
        raise _invalid(f"Cannot find the declaration of element '{root.tag}'.")
    names = [child.tag for child in root]
    if names != [f"{{{NAMESPACE}}}ExternalURL", f"{{{NAMESPACE}}}FrameHeight"]:
        raise _invalid(f"ExternalURL, then FrameHeight expected, not {names}.")
    for element in (root, *root):
        _check_plain(element, root)
    url, height = (child.text or "" for child in root)
    _check_url(url, allow_http)
    if not height.strip().isdecimal():
        raise _invalid(f"'{height}' is not a valid value for FrameHeight.")
    return ExternalQuestion(url.strip(), int(height))


def _check_plain(element: Element, root: Element) -> None:
    if element.attrib:
        raise _invalid(f"Attributes {sorted(element.attrib)} are not allowed.")
    if element is root:
        stray = [element.text, *(child.tail for child in element)]
        if any(text and text.strip() for text in stray):
            raise _invalid("ExternalQuestion has text outside its elements.")
    elif len(element):
        raise _invalid(f"Elements are not allowed inside '{element.tag}'.")


def _check_url(url: str, allow_http: bool) -> None:
    parts = urlsplit(url.strip())
    schemes = ("https", "http") if allow_http else ("https",)
    if parts.scheme not in schemes or not parts.hostname:
        raise _invalid(f"ExternalURL must begin with {' or '.join(schemes)}://.")


def _invalid(details: str) -> Refused:
    # Users quote this error; its type is not in the service model.
    return Refused(
        "There was an error parsing the XML question or answer data in your request. Please make "
        "sure the data is well-formed and validates against the appropriate schema. "
        f"Details: {details}",
        "XMLParseError",
        kind="ParameterValidationError",
    )


def preview_url(url: str, hit_id: str) -> str:
    return _with_query(url, {"assignmentId": PREVIEW, "hitId": hit_id})


def frame_url(url: str, hit_id: str, assignment_id: str, worker_id: str, site: str) -> str:
    """The frame's address. `site` is the origin of the worker site, to which answers are posted."""
    added = {
        "assignmentId": assignment_id,
        "hitId": hit_id,
        "workerId": worker_id,
        "turkSubmitTo": site,
    }
    return _with_query(url, added)


def _with_query(url: str, added: dict[str, str]) -> str:
    parts = urlsplit(url)
    query = [*parse_qsl(parts.query, keep_blank_values=True), *added.items()]
    return urlunsplit(parts._replace(query=urlencode(query)))
