"""The standbys' measurement as a whole, with short runs: nothing is lost and nothing is wrong."""

from bench.generators import Load
from bench.replicas.__main__ import run


def test_a_promotion_loses_nothing_and_standbys_serve_their_share() -> None:
    result = run(Load(4, 2, seed=1, warm_up=1), repetitions=1, rows=20_000)
    promotion = result["promotion"]
    assert promotion["written"] > 10 and promotion["predictions"] > 100
    # The primary's clients were thrown out; what was acknowledged is there.
    assert promotion["broken"] > 0 and promotion["lost"] == 0
    for count, (one,) in result["rates"].items():
        assert one["per second"] > 0
        assert one["least share"] > 0.5 / count
    assert result["deploy"]["count"] == 20
    assert result["row"]["count"] == 100
