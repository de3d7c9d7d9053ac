"""Tables of several sizes are made and asked in turn, by a real server; the figures mean nothing here."""

import pytest

from bench import table_size
from bench.generators import Load


def test_each_table_is_measured_with_and_without_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_size, "FLIGHTS", 2_000)
    found = table_size.measure([1_000, 5_000], Load(2, 1, seed=0), repetitions=1)
    assert [one["rows"] for one in found["rows"]] == [1_000, 5_000]
    for one in found["rows"]:
        assert one["table_bytes"] > one["index_bytes"] > 0
        for asked in table_size.ASKED:
            assert one[asked]["requests_per_second"]["median"] > 0
            assert one[asked]["us"]["smallest"] <= one[asked]["us"]["largest"]
    assert found["load"] == {"protocol": "prepared", "clients": 2, "seconds": 1, "repetitions": 1}
