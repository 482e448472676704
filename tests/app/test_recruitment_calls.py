"""What becomes of what a platform was to be told."""

from sqlalchemy import select

from app.core.database import transaction
from app.recruitment import calls
from app.recruitment.models import ChannelCall, Posting, Recruitment
from app.recruitment.steps import work_once
from testbed.builders import a_campaign, a_recruitment, an_account


def test_places_that_could_not_be_published_are_given_up_once(
    environment: dict[str, str],
) -> None:
    owner = an_account()
    made = a_recruitment(owner, a_campaign(owner), places=1)
    with transaction() as session:
        found = session.get_one(Recruitment, made.id)
        # Five more in a further study, and ten more in that one before it was published.
        found.state, found.places = "open", 1 + 5 + 10
        ended = Posting(
            recruitment_id=made.id, number=1, places=1, state="closed", external_id="STUDY"
        )
        refused = Posting(recruitment_id=made.id, number=2, places=5 + 10)
        session.add_all([ended, refused])
        session.flush()
        publish = calls.ask(session, found, "publish", posting=refused)
        calls.ask(session, found, "extend", posting=refused, places=10, total=15)
        calls.fail(session, publish, "Prolific refused it.")
    while work_once():
        continue
    with transaction() as session:
        assert session.get_one(Recruitment, made.id).places == 1
        states = session.scalars(select(ChannelCall.state)).all()
    assert states == ["failed", "failed"]
