"""XGBoost's own library in the server predicts, by a function of pgboost_train."""

from bench.systems.sql import Sql


class Libxgboost(Sql):
    """The same statements with xgboost_predict."""

    call = "xgboost_predict('{model}', ARRAY[{columns}])"

    def install(self) -> dict[str, str]:
        database = self._site.database
        database.execute(("CREATE EXTENSION IF NOT EXISTS pgboost_train", ()))
        query = "SELECT extversion FROM pg_extension WHERE extname = 'pgboost_train'"
        return {**super().install(), "pgboost_train": database.one(query)}
