"""The demo: from an empty directory to predictions in SQL that equal XGBoost's."""
