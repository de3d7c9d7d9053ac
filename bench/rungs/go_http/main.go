// A service of Go's own HTTP server and the walker, for the ladder: JSON in, JSON out, no library.
//
//	go_http MODEL ROWS SOCKET-OR-ADDRESS
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

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

// Key is the number in the body, counted from 1; false where the request is refused.
func (s *service) key(to http.ResponseWriter, from *http.Request) (int, bool) {
	body, _ := io.ReadAll(from.Body)
	key, err := strconv.Atoi(string(body))
	if err != nil || key < 1 || key > len(s.table.Features) {
		http.Error(to, `{"error": "no row has the key"}`, http.StatusNotFound)
		return 0, false
	}
	return key, true
}

func (s *service) byKey(to http.ResponseWriter, from *http.Request) {
	if key, known := s.key(to, from); known {
		answer(to, s.model.Predict(s.table.Features[key-1]))
	}
}

func answers(to http.ResponseWriter, values []float32) {
	body := []byte{'['}
	for _, value := range values {
		body = append(strconv.AppendFloat(body, float64(value), 'g', -1, 32), ',')
	}
	body[len(body)-1] = ']'
	to.Header().Set("Content-Type", "application/json")
	_, _ = to.Write(body)
}

func (s *service) byKeys(to http.ResponseWriter, from *http.Request) {
	var keys []int
	if body, err := io.ReadAll(from.Body); err != nil || json.Unmarshal(body, &keys) != nil || len(keys) == 0 {
		http.Error(to, `{"error": "a list of keys is wanted"}`, http.StatusBadRequest)
		return
	}
	values := make([]float32, len(keys))
	for i, key := range keys {
		if key < 1 || key > len(s.table.Features) {
			http.Error(to, `{"error": "no row has the key"}`, http.StatusNotFound)
			return
		}
		values[i] = s.model.Predict(s.table.Features[key-1])
	}
	answers(to, values)
}

func (s *service) top(to http.ResponseWriter, from *http.Request) {
	if key, known := s.key(to, from); known {
		var ids [rows.Wanted]float32
		value := func(row int) float32 { return s.model.Predict(s.table.Features[row]) }
		rows.Best(key, len(s.table.Features), value, ids[:])
		answers(to, ids[:])
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
	http.HandleFunc("POST /key", one.byKey)
	http.HandleFunc("POST /keys", one.byKeys)
	http.HandleFunc("POST /top", one.top)
	network := "tcp"
	if strings.HasPrefix(os.Args[3], "/") {
		network = "unix"
	}
	listener, err := net.Listen(network, os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, nil))
}
