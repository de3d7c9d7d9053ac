package main

import (
	"pgboost/bench/caller/native"
	"pgboost/bench/caller/rows"
	"pgboost/bench/caller/walker"
)

// Inside are calls in this process, so many in a request: one takes less than to look at the clock.
type inside struct {
	predict func(row int) float32
	close   func()
	answers []float32
	count   int
}

func (i *inside) Rows() int { return len(i.answers) }

func (i *inside) Close() error {
	i.close()
	return nil
}

func (i *inside) Ask(row int) ([]float32, error) {
	for at := range i.answers {
		i.answers[at] = i.predict(row)
		if row++; row == i.count {
			row = 0
		}
	}
	return i.answers, nil
}

// Kept is where an allocated row goes, so that it is one.
var kept []float32

func openInside(options Options) (Asker, error) {
	table := options.Table
	made := &inside{answers: make([]float32, options.Block), count: len(table.Answers), close: func() {}}
	if options.Transport == "empty" {
		made.predict = func(row int) float32 { return table.Answers[row] }
		return made, nil
	}
	predict, err := openModel(options, made)
	if err != nil {
		return nil, err
	}
	features := make([]float32, len(table.Columns))
	switch options.Verb {
	case "raw":
		made.predict = func(row int) float32 {
			rows.Preprocess(table.Columns, table.Raw[row], features)
			return predict(features)
		}
		if options.Transport == "walker-allocating" {
			made.predict = func(row int) float32 {
				kept = make([]float32, len(table.Columns))
				rows.Preprocess(table.Columns, table.Raw[row], kept)
				return predict(kept)
			}
		}
	case "features":
		made.predict = func(row int) float32 { return predict(table.Features[row]) }
	default:
		return nil, noVerb(options)
	}
	return made, nil
}

func openModel(options Options, made *inside) (func([]float32) float32, error) {
	switch options.Transport {
	case "engine":
		model, err := native.OpenEngine(options.Model)
		if err != nil {
			return nil, err
		}
		made.close = model.Close
		return model.Predict, nil
	case "xgboost", "xgboost-matrix":
		model, err := native.OpenXGBoost(options.Model, len(options.Table.Columns))
		if err != nil {
			return nil, err
		}
		made.close = model.Close
		if options.Transport == "xgboost" {
			return model.PredictInPlace, nil
		}
		return model.PredictMatrix, nil
	}
	model, err := walker.Read(options.Model)
	if err != nil {
		return nil, err
	}
	return model.Predict, nil
}
