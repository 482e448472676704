"""MTurk's two kinds of XML: the question that we send, and the answers that come back."""

from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from app.recruitment.channel import ChannelRefused

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
QUESTION = _SCHEMAS + "2006-07-14/ExternalQuestion.xsd"
ANSWERS = _SCHEMAS + "2005-10-01/QuestionFormAnswers.xsd"
MAX_BYTES = 65_535
# Height in pixels; 0 means as tall as the worker's window.
FRAME_HEIGHT = 0


class BadAnswer(ValueError):
    """An answer is not QuestionFormAnswers XML, or contains more than that."""


def external_question(url: str, *, encrypted: bool = True) -> str:
    """Return an ExternalQuestion that shows `url` in a frame. MTurk adds its parameters to the
    query.

    `encrypted` requires that the page uses HTTPS, as MTurk itself does. Raises ChannelRefused if
    the address cannot be shown.
    """
    _require_showable(url, encrypted)
    root = Element(f"{{{QUESTION}}}ExternalQuestion")
    SubElement(root, f"{{{QUESTION}}}ExternalURL").text = url
    SubElement(root, f"{{{QUESTION}}}FrameHeight").text = str(FRAME_HEIGHT)
    text = tostring(root, encoding="unicode", default_namespace=QUESTION)
    if len(text.encode()) > MAX_BYTES:
        raise ChannelRefused("The address of the annotators' page is too long for MTurk.")
    return text


def _require_showable(url: str, encrypted: bool) -> None:
    parts = urlsplit(url)
    if encrypted and parts.scheme != "https":
        raise ChannelRefused(
            f"MTurk shows only HTTPS pages, and this server's address is {url[:60]}. Serve "
            "Likewise over HTTPS and set LIKEWISE_BASE_URL to its https:// address.",
            "needs_https",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        raise ChannelRefused(f"MTurk can't show {url[:60]} because it is not a page's address.")


def answer_fields(text: str) -> dict[str, str]:
    """Return the posted form's fields by name. Only free text is read, because a form produces
    nothing else.

    Anyone who accepts a task decides what is posted, so no entities and no DTD are read. Raises
    BadAnswer.
    """
    if len(text) > 4 * MAX_BYTES:
        raise BadAnswer("The answer is too long.")
    try:
        root = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BadAnswer(f"The answer is not XML: {type(error).__name__}.") from error
    if root.tag != f"{{{ANSWERS}}}QuestionFormAnswers":
        raise BadAnswer("The answer is not QuestionFormAnswers XML.")
    fields = {}
    for answer in root.iterfind(f"{{{ANSWERS}}}Answer"):
        name = answer.findtext(f"{{{ANSWERS}}}QuestionIdentifier")
        if name:
            fields[name] = answer.findtext(f"{{{ANSWERS}}}FreeText") or ""
    return fields
