"""The microservice that pgboost is compared with: Flask, Gunicorn, Redis, XGBoost."""
