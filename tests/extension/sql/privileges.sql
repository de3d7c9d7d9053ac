-- Who may do what with a model: a matrix of roles and functions, and rights that come and go.
\pset null (null)
SET client_min_messages = warning;
CREATE ROLE regress_owner;
CREATE ROLE regress_granted;
CREATE ROLE regress_group;
CREATE ROLE regress_member IN ROLE regress_group;
CREATE ROLE regress_idle NOINHERIT IN ROLE regress_group;
CREATE ROLE regress_heir IN ROLE regress_owner;
CREATE ROLE regress_other;
CREATE ROLE regress_super SUPERUSER;
GRANT EXECUTE ON FUNCTION load_model, deploy_model, drop_model, set_alias, pin_model
    TO regress_owner, regress_other, regress_granted;

SET ROLE regress_owner;
SELECT load_model('m', file_of('price'));
SELECT load_model('m', file_of('price_doubled'));
SELECT grant_model('m', 'regress_granted');
SELECT grant_model('m', 'regress_group');
SELECT load_model('open', file_of('price'));
SELECT grant_model('open', 'public');
RESET ROLE;

-- One line per role: what each call does. Whatever is changed is taken back.
CREATE FUNCTION outcome(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE command;
        RAISE EXCEPTION USING ERRCODE = 'P0999';
    EXCEPTION
        WHEN SQLSTATE 'P0999' THEN RETURN 'yes';
        WHEN insufficient_privilege THEN RETURN substr(SQLERRM, 1, strpos(SQLERRM, ' ') - 1);
    END;
END $$;
CREATE TABLE calls (id int, name text, command text);
GRANT SELECT ON calls TO PUBLIC;
INSERT INTO calls VALUES
    (1, 'predict', 'SELECT predict(''m'', 60, 4, 1)'), (2, 'version', 'SELECT predict(''m@1'', 60, 4, 1)'),
    (3, 'array', 'SELECT predict_array(''m'', 60, 4, 1)'), (4, 'margin', 'SELECT predict_margin(''m'', 60, 4, 1)'),
    (5, 'leaf', 'SELECT predict_leaf(''m'', 60, 4, 1)'), (6, 'info', 'SELECT model_info(''m'')'),
    (7, 'features', 'SELECT * FROM model_features(''m'')'), (8, 'importance', 'SELECT * FROM feature_importance(''m'')'),
    (9, 'export', 'SELECT export_model(''m'')'), (10, 'grant', 'SELECT grant_model(''m'', ''public'')'),
    (11, 'revoke', 'SELECT revoke_model(''m'', ''regress_group'')'), (12, 'deploy', 'SELECT deploy_model(''m@1'')'),
    (13, 'load', 'SELECT load_model(''m'', file_of(''price''))'), (14, 'drop version', 'SELECT drop_model(''m@1'')'),
    (15, 'drop', 'SELECT drop_model(''m'')'), (16, 'load new', 'SELECT load_model(''new'', file_of(''price''))'),
    (17, 'contribs', 'SELECT predict_contribs(''m'', 60, 4, 1)'), (18, 'explain', 'SELECT explain_prediction(''m'', ARRAY[60, 4, 1])'),
    (19, 'alias', 'SELECT set_alias(''m@1'', ''champion'')'), (20, 'pin', 'SELECT pin_model(''m@1'')');
CREATE VIEW matrix WITH (security_invoker) AS
    SELECT string_agg(name || ' ' || outcome(command), ', ' ORDER BY id) AS outcome FROM calls;
GRANT SELECT ON matrix TO PUBLIC;
-- "permission" is a missing privilege on the function or the model, "must" one that only the owner has.
\pset format unaligned
\pset tuples_only
SET ROLE regress_owner;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_heir;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_granted;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_member;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_idle;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_other;
SELECT current_user, outcome FROM matrix;
SET ROLE regress_super;
SELECT current_user, outcome FROM matrix;
RESET ROLE;
\pset format aligned
\pset tuples_only
-- After that all is as it was.
SELECT name, version, deployed FROM pgboost_models WHERE name IN ('m', 'new') ORDER BY version;

-- The view shows each role the models that it may use, with their owner.
CREATE VIEW visible WITH (security_invoker) AS
    SELECT name, version, owner, loaded_by FROM pgboost_models WHERE owner::text <> 'postgres' ORDER BY name, version;
GRANT SELECT ON visible TO PUBLIC;
SET ROLE regress_owner;
SELECT * FROM visible;
SET ROLE regress_member;
SELECT * FROM visible;
SET ROLE regress_other;
SELECT * FROM visible;
SELECT name FROM pgboost_models ORDER BY name;
SELECT predict('open', 60, 4, 1), model_info('open') ->> 'owner' AS owner;
SELECT predict('price', 60, 4, 1);
SELECT predict('m', 60, 4, 1);
SELECT deploy_model('open@1');

-- A role of no rights: PUBLIC may not load, deploy or drop at all.
SET ROLE regress_member;
SELECT load_model('mine', file_of('price'));
SELECT deploy_model('m@1');
SELECT drop_model('m');
SELECT predict('m', 60, 4, 1);

-- A revoked privilege has no effect on the next call, cached or not; a granted one has.
SET ROLE regress_granted;
SELECT predict('m', 60, 4, 1);
PREPARE again AS SELECT predict('m', 60, 4, 1);
EXECUTE again;
SET ROLE regress_owner;
SELECT revoke_model('m', 'regress_granted');
SET ROLE regress_granted;
SELECT predict('m', 60, 4, 1);
EXECUTE again;
SELECT predict('m@1', 60, 4, 1);
SET ROLE regress_owner;
SELECT grant_model('m', 'regress_granted'), grant_model('m', 'regress_granted');
SET ROLE regress_granted;
EXECUTE again;
-- A revoke that rolls back revokes nothing, a grant that rolls back grants nothing.
RESET ROLE;
BEGIN;
SELECT revoke_model('m', 'regress_granted');
SET LOCAL ROLE regress_granted;
SAVEPOINT s;
SELECT predict('m', 60, 4, 1);
ROLLBACK;
SET ROLE regress_granted;
EXECUTE again;
RESET ROLE;
BEGIN;
SELECT grant_model('m', 'regress_other');
SET LOCAL ROLE regress_other;
SELECT predict('m', 60, 4, 1);
ROLLBACK;
SET ROLE regress_other;
SELECT predict('m', 60, 4, 1);

-- Membership counts as it is now.
SET ROLE regress_member;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
REVOKE regress_group FROM regress_member;
SET ROLE regress_member;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
GRANT regress_group TO regress_member;
SET ROLE regress_member;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
-- From PostgreSQL 16 on, a grant inherits or not as the role did when it was granted.
ALTER ROLE regress_member NOINHERIT;
REVOKE regress_group FROM regress_member;
GRANT regress_group TO regress_member;
SET ROLE regress_member;
SELECT predict('m', 60, 4, 1);
SET ROLE regress_group;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
SET ROLE regress_super;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
ALTER ROLE regress_super NOSUPERUSER;
SET ROLE regress_super;
SELECT predict('m', 60, 4, 1);
RESET ROLE;

-- Revoking from public leaves grants to names; revoking a privilege that was never granted does nothing.
SELECT grant_model('m', 'public');
SET ROLE regress_other;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
SELECT revoke_model('m', 'regress_other');
SET ROLE regress_other;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
SELECT revoke_model('m', 'public'), revoke_model('m', 'public');
SET ROLE regress_other;
SELECT predict('m', 60, 4, 1);
SET ROLE regress_granted;
SELECT predict('m', 60, 4, 1);
RESET ROLE;
-- The owner's own right cannot be revoked, and a grant to the owner is not needed.
SELECT revoke_model('m', 'regress_owner');
SET ROLE regress_owner;
SELECT predict('m', 60, 4, 1);
RESET ROLE;

-- Dropping the model and loading another under its name gives no role the former privileges.
SELECT drop_model('m');
SET ROLE regress_other;
SELECT load_model('m', file_of('price'));
SET ROLE regress_granted;
SELECT predict('m', 60, 4, 1);
SET ROLE regress_owner;
SELECT predict('m', 60, 4, 1);
SELECT drop_model('m');
RESET ROLE;

-- Through views and functions: predict runs as the caller, and as the definer where that is wanted.
SELECT grant_model('m', 'regress_granted');
SET ROLE regress_granted;
CREATE TEMP VIEW by_view AS SELECT predict('m', 60, 4, 1) AS p;
CREATE FUNCTION pg_temp.definer() RETURNS real LANGUAGE sql SECURITY DEFINER AS $$ SELECT predict('m', 60, 4, 1) $$;
GRANT SELECT ON by_view TO PUBLIC;
SET ROLE regress_owner;
SELECT pg_temp.definer();
SELECT p FROM by_view;
SELECT predict('m', 60, 4, 1);
SELECT pg_temp.definer() FROM generate_series(1, 2);
RESET ROLE;
SELECT revoke_model('m', 'regress_granted');
SET ROLE regress_owner;
SELECT pg_temp.definer();
RESET ROLE;

-- A role that is gone leaves no rights behind for whoever comes after it.
SELECT grant_model('m', 'regress_granted');
DROP OWNED BY regress_granted;
DROP ROLE regress_granted;
SELECT count(*) FROM pgboost_models WHERE name = 'm';
DROP OWNED BY regress_other, regress_owner;
DROP ROLE regress_other;
SELECT name, owner IS NULL OR owner NOT IN (SELECT oid FROM pg_roles) AS owner_is_gone FROM pgboost_models WHERE name = 'm';
SELECT predict('m', 60, 4, 1), drop_model('m');
DROP ROLE regress_owner, regress_heir, regress_group, regress_member, regress_idle, regress_super;

-- A role that models are of cannot be dropped. A query gives them to another role; REASSIGN OWNED leaves them.
CREATE ROLE regress_leaver;
CREATE ROLE regress_successor;
GRANT EXECUTE ON FUNCTION load_model TO regress_leaver;
SET ROLE regress_leaver;
SELECT load_model('left', file_of('price')), load_model('left', file_of('price_doubled')), load_model('also_left', file_of('price'));
RESET ROLE;
REASSIGN OWNED BY regress_leaver TO regress_successor;
SELECT name, version, owner FROM pgboost_models WHERE name LIKE '%left' ORDER BY name, version;
SELECT count(set_model_owner(name, 'regress_successor')) FROM (SELECT DISTINCT name FROM pgboost_models WHERE owner = 'regress_leaver'::regrole) AS owned;
REVOKE EXECUTE ON FUNCTION load_model FROM regress_leaver;
DROP ROLE regress_leaver;
SET ROLE regress_successor;
SELECT name, version, owner, predict(name || '@' || version, 60, 4, 1) FROM pgboost_models WHERE name LIKE '%left' ORDER BY name, version;
RESET ROLE;
SELECT count(drop_model(name)) FROM (SELECT DISTINCT name FROM pgboost_models WHERE name LIKE '%left') AS owned;
-- DROP OWNED makes the models those of the extension's owner.
GRANT EXECUTE ON FUNCTION load_model TO regress_successor;
SET ROLE regress_successor;
SELECT load_model('orphan', file_of('price'));
RESET ROLE;
DROP ROLE regress_successor;
DROP OWNED BY regress_successor;
SELECT pg_has_role('regress_successor', owner, 'USAGE') AS owns FROM pgboost_models WHERE name = 'orphan';
DROP ROLE regress_successor;
SELECT owner = (SELECT extowner FROM pg_extension WHERE extname = 'pgboost') AS extensions FROM pgboost_models WHERE name = 'orphan';
