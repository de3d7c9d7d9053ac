package walker_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgboost/bench/caller/walker"
)

// Two splits: of a number, and of a category, whose set {1, 33} goes right.
const twoSplits = `{"learner": {
  "objective": {"name": "reg:squarederror"},
  "learner_model_param": {"base_score": "[2E0]", "num_class": "0", "num_feature": "2"},
  "gradient_booster": {"model": {"trees": [{
    "left_children": [1, -1, 3, -1, -1], "right_children": [2, -1, 4, -1, -1],
    "split_indices": [0, 0, 1, 0, 0], "split_conditions": [1.5, -0.25, 0, 0.5, 8], "default_left": [1, 0, 0, 0, 0],
    "categories": [1, 33], "categories_nodes": [2], "categories_segments": [0], "categories_sizes": [2]
  }]}}
}}`

func read(t *testing.T, text string) (*walker.Model, error) {
	path := filepath.Join(t.TempDir(), "model.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return walker.Read(path)
}

func TestRowsGoWhereXGBoostSendsThem(t *testing.T) {
	model, err := read(t, twoSplits)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	for _, one := range []struct{ number, code, value float32 }{
		{1, 1, 1.75}, {nan, 1, 1.75}, {1.5, 1, 10}, {2, 33, 10}, {2, 0, 2.5}, {2, 32, 2.5},
		// A code that no set knows goes left, a missing one the default way.
		{2, 64, 2.5}, {2, -1, 2.5}, {2, nan, 10},
	} {
		if got := model.Predict([]float32{one.number, one.code}); got != one.value {
			t.Errorf("%v and %v: %v, not %v", one.number, one.code, got, one.value)
		}
	}
}

func TestAnUnknownObjectiveIsRefused(t *testing.T) {
	if _, err := read(t, `{"learner": {"objective": {"name": "rank:ndcg"},
		"learner_model_param": {"base_score": "0", "num_class": "0", "num_feature": "1"}}}`); err == nil {
		t.Error("it was read")
	}
}
