"""Loads flights into Redis: `python -m python_baseline.load --rows 1000000 --redis redis://...`.

As published: one process, a pipeline sent every 10,000 rows, under each key a list of
the features of its flights. Two things differ, for the comparison's sake. A row is pushed to the list's
end, not its beginning, so that its head is the flight that PostgreSQL's LIMIT 1 finds.
And the key's parts are integers by construction; a data frame made them floats.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import redis
from numpy.typing import NDArray
from tqdm import tqdm

from data.flights import Request, add_arguments, blocks, request_of
from python_baseline import keys
from python_baseline.serializers import SERIALIZERS

PIPELINE = 10_000


def _batches(request: Request) -> Iterator[NDArray[np.int32]]:
    for block in blocks(request):
        for start in range(0, len(block), PIPELINE):
            yield block[start : start + PIPELINE]


def load(client: redis.Redis, request: Request, serializer: str = "json") -> int:
    """Empties the database, fills it under a progress bar; returns how many rows."""
    dumps = SERIALIZERS[serializer].dumps
    client.flushdb()
    with tqdm(total=request.rows, unit=" rows", unit_scale=True, disable=None) as bar:
        for batch in _batches(request):
            pipeline = client.pipeline(transaction=False)
            rows = batch.tolist()
            for key, row in zip(batch[:, keys.INDICES].tolist(), rows, strict=True):
                pipeline.rpush(keys.text(key), dumps(row[1:]))
            pipeline.execute()
            bar.update(len(rows))
    return request.rows


def main() -> None:
    """Loads generated flights into the Redis database of a URL, which it empties first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redis", required=True, metavar="URL", help="the database to replace")
    parser.add_argument("--serializer", choices=SERIALIZERS, default="json")
    add_arguments(parser)
    arguments = parser.parse_args()
    request = request_of(arguments)
    if request.missing:
        parser.error("the benchmark's features are never missing")
    with redis.Redis.from_url(arguments.redis) as client:
        print(f"{load(client, request, arguments.serializer):,} flights loaded")


if __name__ == "__main__":
    main()
