// Package walker predicts from XGBoost's own JSON in plain Go, with XGBoost's results to the bit.
//
// It stands for the library leaves, which the module proxy does not serve and which reads no file of XGBoost
// after 1.0. Regression and logistic models of one output are read, numeric and categorical splits; a
// value goes left where it is below a threshold or not in a set, and the default way where it is missing.
package walker

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Model is a forest that several goroutines may walk at once.
type Model struct {
	trees    []tree
	margin   float32
	logistic bool
	// Features is how many numbers a row has.
	Features int
}

// A leaf has no child, and its value in place of the threshold.
type node struct {
	threshold float32
	feature   int32
	left      int32
	right     int32
	// Of a categorical split: where its set of codes lies, and of how many words; else none.
	set, words  int32
	defaultLeft bool
}

type tree struct {
	nodes []node
	sets  []uint32
}

type treeFile struct {
	Left        []int32   `json:"left_children"`
	Right       []int32   `json:"right_children"`
	Features    []int32   `json:"split_indices"`
	Thresholds  []float32 `json:"split_conditions"`
	DefaultLeft []int     `json:"default_left"`
	Categories  []int32   `json:"categories"`
	Nodes       []int32   `json:"categories_nodes"`
	Segments    []int32   `json:"categories_segments"`
	Sizes       []int32   `json:"categories_sizes"`
}

type modelFile struct {
	Learner struct {
		Objective struct {
			Name string `json:"name"`
		} `json:"objective"`
		Parameters struct {
			BaseScore string `json:"base_score"`
			Features  string `json:"num_feature"`
			Classes   string `json:"num_class"`
		} `json:"learner_model_param"`
		Booster struct {
			Model struct {
				Trees []treeFile `json:"trees"`
			} `json:"model"`
		} `json:"gradient_booster"`
	} `json:"learner"`
}

// Read reads a model's file.
func Read(path string) (*Model, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file modelFile
	if err := json.Unmarshal(bytes, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	learner := &file.Learner
	base, err := strconv.ParseFloat(strings.Trim(learner.Parameters.BaseScore, "[]"), 32)
	if err != nil {
		return nil, fmt.Errorf("%s: base_score: %w", path, err)
	}
	features, err := strconv.Atoi(learner.Parameters.Features)
	if err != nil || learner.Parameters.Classes != "0" {
		return nil, fmt.Errorf("%s: a model of one output is wanted", path)
	}
	model := &Model{margin: float32(base), Features: features}
	switch learner.Objective.Name {
	case "reg:squarederror":
	case "binary:logistic":
		model.logistic = true
		model.margin = float32(-math.Log(float64(1/float32(base) - 1)))
	default:
		return nil, fmt.Errorf("%s: objective %s is not known here", path, learner.Objective.Name)
	}
	for _, one := range learner.Booster.Model.Trees {
		model.trees = append(model.trees, one.tree())
	}
	return model, nil
}

func (file *treeFile) tree() tree {
	made := tree{nodes: make([]node, len(file.Left))}
	for i := range made.nodes {
		made.nodes[i] = node{
			threshold: file.Thresholds[i], feature: file.Features[i],
			left: file.Left[i], right: file.Right[i], defaultLeft: file.DefaultLeft[i] != 0,
		}
	}
	for i, at := range file.Nodes {
		codes := file.Categories[file.Segments[i] : file.Segments[i]+file.Sizes[i]]
		made.nodes[at].set = int32(len(made.sets))
		for _, code := range codes {
			for made.nodes[at].words <= code/32 {
				made.nodes[at].words++
				made.sets = append(made.sets, 0)
			}
			made.sets[made.nodes[at].set+code/32] |= 1 << (code % 32)
		}
	}
	return made
}

// Goes left: the decision of XGBoost's common/categorical.h, whose set holds what goes right.
func (t *tree) goesLeft(n *node, value float32) bool {
	if n.words == 0 {
		return value < n.threshold
	}
	if value < 0 || value >= float32(n.words*32) {
		return true
	}
	code := int32(value)
	return t.sets[n.set+code/32]>>(code%32)&1 == 0
}

func (t *tree) leaf(features []float32) float32 {
	n := &t.nodes[0]
	for n.left >= 0 {
		value := features[n.feature]
		left := n.defaultLeft
		if value == value {
			left = t.goesLeft(n, value)
		}
		if left {
			n = &t.nodes[n.left]
		} else {
			n = &t.nodes[n.right]
		}
	}
	return n.threshold
}

// Predict gives the value of a row; it allocates nothing.
func (model *Model) Predict(features []float32) float32 {
	margin := model.margin
	for i := range model.trees {
		margin += model.trees[i].leaf(features)
	}
	if model.logistic {
		// XGBoost's Sigmoid (common/math.h), which keeps the exponential finite.
		return 1 / (float32(math.Exp(float64(min(-margin, 88.7)))) + 1 + 1e-16)
	}
	return margin
}
