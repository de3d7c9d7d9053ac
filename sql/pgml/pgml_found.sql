-- The models that PostgresML trained here, as the table pgml_model has them.
CREATE OR REPLACE TEMP VIEW pgml_found AS
    SELECT p.name, m.id, p.task::text, m.runtime::text, m.algorithm, m.hyperparams, m.metrics, s.columns,
           m.id = (SELECT d.model_id FROM pgml.deployments AS d
                    WHERE d.project_id = p.id ORDER BY d.created_at DESC, d.id DESC LIMIT 1) IS TRUE AS deployed,
           (SELECT string_agg(f.data, ''::bytea ORDER BY f.part) FROM pgml.files AS f
             WHERE f.model_id = m.id) AS bytes
      FROM pgml.models AS m
      JOIN pgml.projects AS p ON p.id = m.project_id
      LEFT JOIN pgml.snapshots AS s ON s.id = m.snapshot_id
     WHERE m.status = 'successful';
