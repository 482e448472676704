"""The Python client: it aligns features, places new images, and saves the alignment."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.alignments import learning
from likewise.client import Conflict, Likewise, TrainingFailed
from testbed.builders import a_png, an_account, an_api_token, sign_in
from tests.app.test_alignments import loaded_outside, use_anyway
from tests.support.aligned_campaigns import (
    aligned,
    alignments_of,
    answered_campaign,
    clip_of,
    run,
    with_features,
)
from tests.support.feature_sets import computed


def test_the_client_aligns_and_places(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "N_REPEATS", 1)
    owner = an_account()
    sign_in(client, owner)
    answered = answered_campaign(owner)
    with_features(client, answered, clip=clip_of(), few=clip_of()[:5])
    token = an_api_token(owner)
    with (
        Likewise("http://testserver", token, transport=client._transport) as likewise,
        ThreadPoolExecutor(1) as pool,
    ):
        campaign = likewise.campaign(str(answered.id))
        waiting = pool.submit(campaign.align, "clip", poll=0.1)
        while not (items := client.get(alignments_of(answered)).json()["items"]):
            time.sleep(0.05)
        run(items[0])
        [clip] = waiting.result(timeout=60)
        assert (clip.state, clip.used, clip.figures is not None) == ("done", True, True)
        new = clip_of(3, seed=5)
        places = campaign.place_vectors("clip", new, k=4)
        assert [place.name for place in places] == ["0", "1", "2"]
        assert [len(place.neighbours) for place in places] == [4, 4, 4]
        saved = campaign.download_alignment("clip", tmp_path)
        position, _ = loaded_outside(saved.read_bytes(), new, tmp_path)
        assert np.allclose(position, [place.position for place in places], atol=1e-4)

        picture = tmp_path / "new.png"
        picture.write_bytes(a_png(3))
        with pytest.raises(Conflict, match="were uploaded"):
            campaign.place_images("clip", [picture])
        with pytest.raises(KeyError):
            campaign.place_images("appearance", [picture])
        computed(client, answered.collection_id, "appearance")
        [appearance] = aligned(client, answered, "appearance")
        use_anyway(appearance["id"])
        [place] = campaign.place_images("appearance", [picture], k=2)
        assert (place.name, len(place.neighbours)) == ("new.png", 2)

        aligned(client, answered, "few")
        failing = pool.submit(campaign.align, "few", poll=0.1)
        while client.get(alignments_of(answered)).json()["items"][1]["state"] != "queued":
            time.sleep(0.05)
        run(client.get(alignments_of(answered)).json()["items"][1])
        with pytest.raises(TrainingFailed, match="Only 5 images"):
            failing.result(timeout=60)
