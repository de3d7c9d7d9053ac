// Package rows reads what the ladder asks: rows as an application has them, their features, the right answers.
package rows

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Value is text, a number, or missing.
type Value struct {
	Text    string
	Number  float32
	IsText  bool
	Missing bool
}

// Column is a name and, of text, the categories in the order of their codes.
type Column struct {
	Name       string   `json:"name"`
	Categories []string `json:"categories"`
	codes      map[string]float32
}

// Table has as many rows as it has features and answers.
type Table struct {
	Name     string
	Columns  []Column
	Raw      [][]Value
	Features [][]float32
	Answers  []float32
}

type file struct {
	Name     string       `json:"name"`
	Columns  []Column     `json:"columns"`
	Rows     [][]any      `json:"rows"`
	Features [][]*float32 `json:"features"`
	Answers  []uint32     `json:"answers"`
}

// Read reads a rows.json of bench/ladder/data.py.
func Read(path string) (*Table, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var known file
	if err := json.Unmarshal(bytes, &known); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n := len(known.Answers); n == 0 || len(known.Rows) != n || len(known.Features) != n {
		return nil, fmt.Errorf("%s: rows, features and answers differ in number", path)
	}
	table := &Table{Name: known.Name, Columns: known.Columns}
	for i := range table.Columns {
		table.Columns[i].learn()
	}
	for i := range known.Rows {
		table.Raw = append(table.Raw, Values(known.Rows[i]))
		table.Features = append(table.Features, Numbers(known.Features[i]))
		table.Answers = append(table.Answers, math.Float32frombits(known.Answers[i]))
	}
	return table, nil
}

func (column *Column) learn() {
	column.codes = make(map[string]float32, len(column.Categories))
	for code, name := range column.Categories {
		column.codes[name] = float32(code)
	}
}

// Values are those of a row in JSON.
func Values(row []any) []Value {
	found := make([]Value, len(row))
	for i, one := range row {
		switch one := one.(type) {
		case string:
			found[i] = Value{Text: one, IsText: true}
		case float64:
			found[i] = Value{Number: float32(one)}
		default:
			found[i] = Value{Missing: true}
		}
	}
	return found
}

var missing = float32(math.NaN())

// Numbers are features in JSON, null where one is missing.
func Numbers(row []*float32) []float32 {
	found := make([]float32, len(row))
	for i, one := range row {
		found[i] = missing
		if one != nil {
			found[i] = *one
		}
	}
	return found
}

// Preprocess writes a row's features: codes for text, NaN where a value is missing or a category unknown.
func Preprocess(columns []Column, row []Value, features []float32) {
	for i := range row {
		switch value := &row[i]; {
		case value.Missing:
			features[i] = missing
		case value.IsText:
			code, known := columns[i].codes[value.Text]
			if !known {
				code = missing
			}
			features[i] = code
		default:
			features[i] = value.Number
		}
	}
}
