"""The services of docs/from-flask-to-sql.md answer, and answer the same."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient

from tests.extension.pages.blocks import ROOT, blocks
from tests.extension.pages.conftest import copy
from tools.cluster import Cluster

PAGE = "docs/from-flask-to-sql.md"
DATABASE = "service"
BODY = {"age": 40, "income": 52000.0, "region": "north", "visits": None}
REQUESTS = {
    "score": ("GET", "/customers/90042/score", None),
    "nobody": ("GET", "/customers/0/score", None),
    "body": ("POST", "/score", BODY),
    "region": ("POST", "/score", BODY | {"region": "abroad"}),
    "missing": ("POST", "/score", {"age": 40}),
    "text": ("POST", "/score", BODY | {"age": "old"}),
    "zero byte": ("POST", "/score", BODY | {"region": "no\0rth"}),
    "bodies": ("POST", "/scores", [BODY | {"age": age} for age in (70, 18, 40)]),
    "riskiest": ("GET", "/riskiest", None),
    "reasons": ("GET", "/customers/90042/reasons", None),
    "reasons of nobody": ("GET", "/customers/0/reasons", None),
}
# The service of asyncpg has the first endpoints.
NOT_OF_ASYNCPG = {"bodies", "riskiest", "reasons", "reasons of nobody"}
# Refused by queries alone: a key beyond an integer by asyncpg, which psycopg does not find; a negative limit.
REFUSED = {
    "key": ("GET", f"/customers/{10**20}/score", None),
    "limit": ("GET", "/riskiest?limit=-1", None),
}


@contextmanager
def served(text: str) -> Iterator[TestClient]:
    """A client of the service that a block makes."""
    names: dict = {}
    exec(compile(text, PAGE, "exec"), names)
    try:
        with TestClient(names["app"], raise_server_exceptions=False) as client:
            yield client
    finally:
        if "pool" in names:
            names["pool"].close()


@pytest.fixture(scope="module")
def answers(
    cluster: Cluster, tables: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[dict]]:
    """The answers of each service to the same requests."""
    copy(cluster, DATABASE, PAGE)
    folder = tmp_path_factory.mktemp("service")
    with cluster.connect(DATABASE) as connection:
        (file,) = connection.execute("SELECT export_model('churn')").fetchone()
    (folder / "churn.ubj").write_bytes(file)
    programs = [block.text for block in blocks((ROOT / PAGE).read_text()) if block.language == "py"]
    assert len(programs) == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in cluster.environment(DATABASE).items():
            patch.setenv(name, value)
        found = []
        for program in programs:
            with served(program) as client:
                requests = (REQUESTS | REFUSED).items()
                found.append(
                    {name: client.request(*way, json=body) for name, (*way, body) in requests}
                )
        yield found


def test_all_answer(answers: list[dict]) -> None:
    statuses = [{name: found[name].status_code for name in REQUESTS} for found in answers]
    assert statuses[0] == statuses[1]
    assert statuses[0] == {
        "score": 200, "nobody": 404, "body": 200, "region": 422, "missing": 422, "text": 422,
        "zero byte": 422, "bodies": 200, "riskiest": 200, "reasons": 200, "reasons of nobody": 404,
    }  # fmt: skip
    assert statuses[2] == statuses[0] | dict.fromkeys(NOT_OF_ASYNCPG, 404)


def test_bad_input_is_not_an_error_of_the_server(answers: list[dict]) -> None:
    _, psycopg, asyncpg = answers
    assert (psycopg["key"].status_code, psycopg["limit"].status_code) == (404, 422)
    assert asyncpg["key"].status_code == 422


@pytest.mark.parametrize("name", ["score", "body", "bodies", "reasons"])
def test_the_numbers_are_the_same(answers: list[dict], name: str) -> None:
    service, *queries = (
        found[name].json() for found in (answers[:2] if name in NOT_OF_ASYNCPG else answers)
    )
    for query in queries:
        assert query == pytest.approx(service, rel=1e-5)


def test_the_riskiest_are_the_same(answers: list[dict]) -> None:
    service, query = (found["riskiest"].json() for found in answers[:2])
    assert len(query) == 3
    assert query == service
