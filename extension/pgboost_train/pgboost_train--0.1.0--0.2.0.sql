-- What ALTER EXTENSION pgboost_train UPDATE runs on 0.1.0: afterwards the extension is as pgboost_train--0.2.0.sql makes it.
\echo Use "ALTER EXTENSION pgboost_train UPDATE TO '0.2.0'" to load this file. \quit
