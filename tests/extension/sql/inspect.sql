-- Descriptions of a model: the view, model_info, model_features, feature_importance.
\pset null (null)
\d pgboost_models
SELECT name, version, deployed, owner, objective, features, outputs, trees, depth, format, library_version, size, loaded_by,
       loaded_at BETWEEN now() - interval '1 minute' AND now() AS just_now
  FROM pgboost_models ORDER BY name;
SELECT count(*) FROM pgboost_models AS p JOIN model_file AS f ON f.name = p.name AND length(f.content) = p.size;

-- model_info has it all as one object; what differs from run to run is taken out here.
SELECT jsonb_pretty(model_info('flower') - ARRAY['loaded_at', 'deployed_at', 'sha256']);
SELECT model_info('price') ->> 'sha256' = encode(sha256(file_of('price')), 'hex') AS digest,
       (model_info('price') ->> 'loaded_at')::timestamptz = (SELECT loaded_at FROM pgboost_models WHERE name = 'price') AS loaded_at;
SELECT load_model('price', file_of('price_doubled'));
SELECT model_info('price') - ARRAY['loaded_at', 'deployed_at', 'sha256'] = model_info('price@2') - ARRAY['loaded_at', 'deployed_at', 'sha256'] AS same,
       model_info('price') -> 'deployed' AS now, model_info('price@1') -> 'deployed' AS before, model_info('price@1') -> 'size' AS size;

-- Parameters and metrics come back as they went in, also where no float holds them.
SELECT load_model('told', file_of('price'), params => '[1]');
SELECT load_model('told', file_of('price'), metrics => '0.5');
SELECT load_model('told', file_of('price'), params => '{"large": 1e400, "long": 1.2345678901234567890}',
                  metrics => ('{"deep": ' || repeat('[', 200) || repeat(']', 200) || '}')::jsonb);
SELECT model_info('told') -> 'parameters' ->> 'long' AS long, (model_info('told') #>> '{parameters,large}')::numeric = 1e400 AS large,
       length(model_info('told') ->> 'metrics') AS nested;
SELECT drop_model('told');

-- Features, with their categories, in the model's order; from the file, or as they were given on loading.
SELECT * FROM model_features('price');
SELECT * FROM model_features('tickets');
SELECT * FROM model_features('codes');
SELECT * FROM model_features('nameless');
SELECT load_model('nameless', file_of('nameless'), feature_names => ARRAY['ten', 'one']);
SELECT * FROM model_features('nameless');
SELECT * FROM model_features('nameless@1');
SELECT predict('nameless', r) FROM (SELECT 1 AS one, 0 AS ten) AS r;
SELECT m, f.feature FROM unnest(ARRAY['price', 'gaps']) AS m, LATERAL model_features(m) AS f ORDER BY m, f.position DESC;
SELECT pg_typeof(position), pg_typeof(feature), pg_typeof(type), pg_typeof(categories) FROM model_features('price') LIMIT 1;

-- Importances: of each kind, most important first.
SELECT kind, feature, importance FROM unnest(ARRAY['weight', 'gain', 'cover', 'total_gain', 'total_cover']) AS kind,
       LATERAL feature_importance('gaps', kind) ORDER BY kind, importance DESC, feature;
SELECT * FROM feature_importance('price@1');
SELECT * FROM feature_importance('tickets', 'total_gain');
SELECT * FROM feature_importance('targets', importance_type => 'weight');

-- Versions by their last deployment: the second is the one deployed before.
SELECT load_model('price', file_of('price'), deploy => false);
SELECT deploy_model('price@1');
SELECT version, deployed, deployed_at IS NOT NULL AS was_deployed FROM pgboost_models WHERE name = 'price'
 ORDER BY deployed_at DESC NULLS LAST;
SELECT (model_info('price') ->> 'deployed_at')::timestamptz > (model_info('price@2') ->> 'deployed_at')::timestamptz AS later;
