"""Messages to participants (docs.prolific.com, Messages). They have no tokens, so after an attempt
without a clear answer, the message is looked for before it is sent again."""

from datetime import timedelta

from app.recruitment.channel import Message
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.replies import SentMessage

# Clocks may differ by so much.
CLOCKS = timedelta(minutes=5)


def send(http: ProlificHttp, message: Message) -> None:
    """Send a message about a study to someone who took part in it. Raises ChannelError."""
    if message.repeated and _is_sent(http, message):
        return
    body = {
        "recipient_id": message.person,
        "body": message.text,
        "study_id": message.posting.external_id,
    }
    http.post_for_response("/api/v1/messages/", body)


def _is_sent(http: ProlificHttp, message: Message) -> bool:
    params = {
        "user_id": message.person,
        "created_after": (message.since - CLOCKS).isoformat(),
    }
    sent = http.pages("/api/v1/messages/", SentMessage, params)
    return any(earlier.body.strip() == message.text.strip() for earlier in sent)
