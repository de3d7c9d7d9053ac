// A service of Go's own HTTP server and the walker, for the ladder: JSON in, JSON out, no library.
//
//	go_http MODEL ROWS SOCKET
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"pgboost/bench/caller/rows"
	"pgboost/bench/caller/walker"
)

type service struct {
	model *walker.Model
	table *rows.Table
}

func answer(to http.ResponseWriter, value float32) {
	to.Header().Set("Content-Type", "application/json")
	_, _ = to.Write(strconv.AppendFloat(nil, float64(value), 'g', -1, 32))
}

func (s *service) raw(to http.ResponseWriter, from *http.Request) {
	var given []any
	if !decoded(to, from, &given, len(s.table.Columns), func() int { return len(given) }) {
		return
	}
	features := make([]float32, len(given))
	rows.Preprocess(s.table.Columns, rows.Values(given), features)
	answer(to, s.model.Predict(features))
}

func (s *service) features(to http.ResponseWriter, from *http.Request) {
	var given []*float32
	if !decoded(to, from, &given, len(s.table.Columns), func() int { return len(given) }) {
		return
	}
	answer(to, s.model.Predict(rows.Numbers(given)))
}

func (s *service) echo(to http.ResponseWriter, from *http.Request) {
	var given []any
	if decoded(to, from, &given, len(s.table.Columns), func() int { return len(given) }) {
		answer(to, 0)
	}
}

// Decoded reads the body, a list of so many; else the request is refused.
func decoded(to http.ResponseWriter, from *http.Request, into any, width int, count func() int) bool {
	body, err := io.ReadAll(from.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil || count() != width {
		http.Error(to, `{"error": "a list of as many values as the model has features is wanted"}`, http.StatusBadRequest)
		return false
	}
	return true
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go_http MODEL ROWS SOCKET")
	}
	model, err := walker.Read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	table, err := rows.Read(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	one := &service{model, table}
	http.HandleFunc("POST /ping", func(to http.ResponseWriter, _ *http.Request) { answer(to, 0) })
	http.HandleFunc("POST /echo", one.echo)
	http.HandleFunc("POST /raw", one.raw)
	http.HandleFunc("POST /features", one.features)
	listener, err := net.Listen("unix", os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, nil))
}
