"""Subscribing to Prolific's notifications."""

from pydantic import ValidationError

from app.recruitment.channel import ChannelUnavailable
from app.recruitment.channels.prolific.hooks import EVENT_TYPES
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.replies import Nothing, Secret, Subscription

_SECRETS = "/api/v1/hooks/secrets/"
_SUBSCRIPTIONS = "/api/v1/hooks/subscriptions/"


def ensure_hooks(http: ProlificHttp, workspace: str, url: str) -> str:
    """Have a workspace's events sent to `url`, and return the secret that signs them. Repeatable.

    A workspace has one secret. An existing one is used, because a new one would break notifications
    for everyone else who receives this workspace's events.
    """
    secret = _secret(http, workspace)
    on, off = (_subscriptions(http, workspace, url, enabled) for enabled in (True, False))
    for event_type in EVENT_TYPES:
        if event_type in {subscription.event_type for subscription in on}:
            continue
        # The subscription was never confirmed, or was switched off after days of failures. Prolific
        # sends the secret that confirms it only once, when it is created.
        for subscription in off:
            if subscription.event_type == event_type:
                http.delete(f"{_SUBSCRIPTIONS}{subscription.id}/")
        _subscribe(http, workspace, event_type, url)
    return secret


def _secret(http: ProlificHttp, workspace: str) -> str:
    known = [
        secret
        for secret in http.pages(_SECRETS, Secret, {"workspace_id": workspace})
        if secret.workspace_id in ("", workspace)
    ]
    if known:
        return known[0].value
    return http.post(_SECRETS, {"workspace_id": workspace}, Secret).value


def _subscriptions(
    http: ProlificHttp, workspace: str, url: str, enabled: bool
) -> list[Subscription]:
    params = {"workspace_id": workspace, "is_enabled": "true" if enabled else "false"}
    subscriptions = http.pages(_SUBSCRIPTIONS, Subscription, params)
    return [
        subscription
        for subscription in subscriptions
        if subscription.target_url == url and subscription.is_enabled is enabled
    ]


def _subscribe(http: ProlificHttp, workspace: str, event_type: str, url: str) -> None:
    body = {"workspace_id": workspace, "event_type": event_type, "target_url": url}
    response = http.post_for_response(_SUBSCRIPTIONS, body)
    word = response.headers.get("X-Hook-Secret", "")
    try:
        subscription = Subscription.model_validate_json(response.content)
    except ValidationError as error:
        raise ChannelUnavailable("Prolific's answer could not be read.") from error
    http.post(f"{_SUBSCRIPTIONS}{subscription.id}/", {"secret": word}, Nothing)
