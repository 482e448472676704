"""What annotators see of a campaign and its images, in the form of the API."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.annotation.bundles import pictures_at
from app.annotation.consent import key_of
from app.annotation.hooks import Pay
from app.annotation.schemas import CampaignForAnnotators, LeasedImage, QuestionsOut
from app.annotation.texts import Texts
from app.campaigns.alt_texts import alt_texts
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.questions import Question
from app.campaigns.questions import key_of as questions_key
from app.collections.media import image_urls
from app.core.markdown import render_markdown
from app.kinds import kind_of


def for_annotators(
    campaign: Campaign, language: str = "", pay: Pay | None = None
) -> CampaignForAnnotators:
    """Return what annotators who read a language see of a campaign, with what their assignment pays
    (`pay`) if that is not the campaign's own reward."""
    paying = pay or campaign
    settings = annotation_of(campaign.annotation)
    kind = kind_of(campaign)
    texts = Texts(campaign, settings, language)
    return CampaignForAnnotators(
        id=campaign.id,
        name=campaign.name,
        kind=campaign.kind,
        interface=kind.interface,
        question=texts["question"].text,
        max_groups=campaign.max_groups,
        classes=texts.classes,
        grid_size=campaign.grid_size,
        columns=kind.columns,
        descriptions=kind.descriptions_of(settings.descriptions),
        image_background=settings.image_background,
        quick_pause=settings.quick_pause,
        consent_html=render_markdown(texts["consent"].text),
        consent_key=key_of(texts["consent"].text),
        instructions_html=render_markdown(texts["instructions"].text),
        thanks_html=render_markdown(texts["thanks"].text),
        screen_out_html=render_markdown(texts["screen_out_text"].text),
        languages=texts.languages,
        completion=settings.completion,
        completion_url=settings.completion_url,
        reward_cents=paying.reward_cents,
        currency=paying.currency,
    )


def shown_questions(
    questions: Sequence[Question], asked: Sequence[Question] | None = None
) -> QuestionsOut:
    """Return the questions that somebody is asked (all by default), without the rules that screen
    people out."""
    shown = questions if asked is None else asked
    return QuestionsOut.model_validate(
        {"key": questions_key(questions), "questions": [question.shown() for question in shown]}
    )


def leased_images(
    session: Session, campaign: Campaign, positions: Sequence[int]
) -> list[LeasedImage]:
    """Return the images at these positions in this order, with signed addresses and
    descriptions."""
    shown = []
    described = alt_texts(session, campaign, positions)
    for picture in pictures_at(session, campaign, positions):
        url, large = image_urls(picture.collection_id, picture.sha256, "thumb", "large")
        text = described.get(picture.position, "")
        shown.append(LeasedImage(image=picture.position, url=url, large_url=large, alt_text=text))
    return shown
