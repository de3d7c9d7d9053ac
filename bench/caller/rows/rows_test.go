package rows_test

import (
	"os"
	"path/filepath"
	"testing"

	"pgboost/bench/caller/rows"
)

const file = `{"name": "people", "columns": [{"name": "class", "categories": ["1st", "2nd"]}, {"name": "age", "categories": null}],
 "rows": [["2nd", 42.5], [null, null], ["none", 1]], "features": [[1, 42.5], [null, null], [null, 1]], "answers": [1065353216, 0, 0]}`

func TestRowsBecomeTheFeaturesThatTheFileHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := rows.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if table.Answers[0] != 1 {
		t.Errorf("an answer is %v", table.Answers[0])
	}
	features := make([]float32, 2)
	for row, wanted := range table.Features {
		rows.Preprocess(table.Columns, table.Raw[row], features)
		for i := range wanted {
			same := features[i] == wanted[i] || (features[i] != features[i] && wanted[i] != wanted[i])
			if !same {
				t.Errorf("row %d: %v, not %v", row, features, wanted)
			}
		}
	}
}
