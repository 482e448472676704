"""E-mail by SMTP, if `LIKEWISE_SMTP_URL` is set: smtp://user:password@host:587 or smtps://…"""

import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from app.core.errors import LikewiseError
from app.core.settings import get_settings

TIMEOUT_SECONDS = 15


class MailFailed(LikewiseError):
    """The mail server could not be reached or refused the message."""

    code = "mail_failed"
    status = 502


def can_send() -> bool:
    return bool(get_settings().smtp_url.get_secret_value())


def send_mail(to: str, subject: str, text: str) -> None:
    """Send a plain-text message; raises MailFailed with the server's reason."""
    message = EmailMessage()
    try:
        message["From"], message["To"], message["Subject"] = get_settings().mail_from, to, subject
        message.set_content(text)
        with _connected() as server:
            server.send_message(message)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise MailFailed(f"The e-mail to {to} could not be sent: {error}.") from error


def _connected() -> smtplib.SMTP:
    address = urlsplit(get_settings().smtp_url.get_secret_value())
    host = address.hostname or ""
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if address.scheme == "smtps":
        server = smtplib.SMTP_SSL(
            host, address.port or 465, timeout=TIMEOUT_SECONDS, context=context
        )
    else:
        server = smtplib.SMTP(host, address.port or 587, timeout=TIMEOUT_SECONDS)
        server.ehlo()
        # Never send a password over an unencrypted connection.
        if server.has_extn("starttls") or address.username:
            server.starttls(context=context)
    if address.username:
        server.login(unquote(address.username), unquote(address.password or ""))
    return server
