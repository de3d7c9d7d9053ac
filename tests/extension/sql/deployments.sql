-- Deployments are remembered, a rollback goes back one of them, and comments say why.
\pset null (null)
CREATE VIEW history AS SELECT name, number, version, previous_version, deployed_by = current_user AS mine, deployed_at = now() AS now, comment
  FROM pgboost_deployments WHERE name IN ('m', 'renamed', 'f') ORDER BY name, number;
SELECT load_model('m', file_of('price'));
SELECT rollback_model('m');
SELECT load_model('m', file_of('price_doubled')), load_model('m', file_of('price'), deploy => false);
SELECT deploy_model('m@3', comment => 'trained on March');
SELECT name, number, version, previous_version, mine, comment FROM history;

-- Back as undo does: once more is one version further, and after a new deployment it undoes that one.
SELECT rollback_model('m', comment => 'March was wrong'), predict('m', 60, 4, 1);
SELECT rollback_model('m'), predict('m', 60, 4, 1);
SELECT rollback_model('m');
SELECT deploy_model('m@3'), deploy_model('m@3', comment => 'again'), rollback_model('m');
SELECT number, version, previous_version, comment FROM history;

-- The history follows the model's name, and what rolls back leaves no line.
SELECT rename_model('m', 'renamed');
BEGIN;
SELECT deploy_model('renamed@3');
ROLLBACK;
SELECT name, count(*), max(number) FROM history GROUP BY name;
SELECT rollback_model('m');
SELECT rollback_model('renamed@1');
SELECT rollback_model(NULL);
SELECT rollback_model('renamed', allow_change => NULL);

-- Not to a version that means something else, unless that is meant, and not to one that was dropped.
SELECT load_model('f', file_of('flower')), load_model('f', file_of('flower'), labels => '{a,b,c}', allow_change => true);
SELECT rollback_model('f');
SELECT rollback_model('f', allow_change => true);
SELECT deploy_model('renamed@2'), drop_model('renamed@1');
SELECT rollback_model('renamed');
SELECT predict('renamed', 60, 4, 1);

-- A registry of an earlier release has no history: the deployed version gets a line with the next deployment.
DELETE FROM pgboost_catalog.deployment;
SELECT rollback_model('renamed');
SELECT deploy_model('renamed@3');
SELECT number, version, previous_version, mine, comment FROM history WHERE name = 'renamed';
SELECT rollback_model('renamed');

-- Comments of a model and of a version.
SELECT set_model_comment('renamed', 'prices of homes'), set_model_comment('renamed@3', E'it''s "new"');
SELECT version, comment, model_comment FROM pgboost_models WHERE name = 'renamed' ORDER BY version;
SELECT model_info('renamed@3') ->> 'comment' AS comment, model_info('renamed@3') ->> 'model_comment' AS model_comment;
SELECT set_model_comment('renamed', NULL), set_model_comment('renamed@3', NULL);
SELECT count(comment), count(model_comment) FROM pgboost_models;
SELECT set_model_comment('renamed@9', 'x');
SELECT set_model_comment('none', 'x');

-- Only an owner deploys, goes back and comments; who may predict sees the history, others do not.
CREATE ROLE regress_deployer;
GRANT EXECUTE ON FUNCTION deploy_model, rollback_model, set_model_comment TO regress_deployer;
SET ROLE regress_deployer;
SELECT rollback_model('renamed');
SELECT set_model_comment('renamed', 'mine');
SELECT count(*) FROM pgboost_deployments;
RESET ROLE;
SELECT grant_model('renamed', 'regress_deployer');
SET ROLE regress_deployer;
SELECT rollback_model('renamed');
SELECT count(*) FROM pgboost_deployments;
RESET ROLE;
SELECT set_model_owner('renamed', 'regress_deployer');
SET ROLE regress_deployer;
SELECT deploy_model('renamed@3');
SELECT deployed_by FROM pgboost_deployments ORDER BY number DESC LIMIT 1;
RESET ROLE;

-- The history goes with the model: a new one of the name has its own.
SELECT drop_model('renamed'), drop_model('f');
SELECT count(*) FROM history;
DROP OWNED BY regress_deployer;
DROP ROLE regress_deployer;
