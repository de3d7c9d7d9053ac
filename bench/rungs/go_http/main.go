// A service of Go's own HTTP server and the walker: JSON in, JSON out, no library.
//
//	go_http MODEL ROWS SOCKET-OR-ADDRESS [STORE LIVE]
//
// It speaks the contract of bench/rungs/README.md. Keys are looked up in the table of ROWS, or in a STORE of LIVE
// rows (stores.go), which `put` may replace meanwhile.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"pgboost/bench/caller/rows"
	"pgboost/bench/caller/walker"
)

type service struct {
	model   *walker.Model
	columns []rows.Column
	store   store
	keys    int
}

func (s *service) predict(features []float32) (float32, error) {
	if len(features) != len(s.columns) {
		return 0, errors.New("a list of as many values as the model has features is wanted")
	}
	return s.model.Predict(features), nil
}

func (s *service) features(given []*float32) (float32, error) { return s.predict(rows.Numbers(given)) }

func (s *service) raw(given []any) (float32, error) {
	features := make([]float32, len(given))
	if len(given) == len(s.columns) {
		rows.Preprocess(s.columns, rows.Values(given), features)
	}
	return s.predict(features)
}

func (s *service) known(key int) error {
	if key < 1 || key > s.keys {
		return fmt.Errorf("no row has the key %d", key)
	}
	return nil
}

func (s *service) key(key int) (float32, error) {
	if err := s.known(key); err != nil {
		return 0, err
	}
	return s.model.Predict(s.store.get(key)), nil
}

func (s *service) several(keys []int) (values []float32, err error) {
	values = make([]float32, len(keys))
	for i := 0; i < len(keys) && err == nil; i++ {
		values[i], err = s.key(keys[i])
	}
	return values, err
}

func (s *service) top(key int) (ids [rows.Wanted]float32, err error) {
	if err = s.known(key); err == nil {
		rows.Best(key, s.keys, func(row int) float32 { return s.model.Predict(s.store.get(row + 1)) }, ids[:])
	}
	return ids, err
}

type update struct {
	Key int        `json:"key"`
	Row []*float32 `json:"row"`
}

func (s *service) put(given update) (int, error) {
	if err := s.known(given.Key); err != nil {
		return 0, err
	}
	if len(given.Row) != len(s.columns) {
		return 0, errors.New("a key and its features are wanted")
	}
	s.store.put(given.Key, rows.Numbers(given.Row))
	return 0, nil
}

// Events are the ends of the collections, in nanoseconds since 1970, the last 256.
func events(any) ([]int64, error) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	found := make([]int64, 0, len(stats.PauseEnd))
	for _, one := range stats.PauseEnd {
		found = append(found, one.UnixNano())
	}
	return found, nil
}

// Nothing is what is answered to what is read alone.
func nothing[Q any](Q) (int, error) { return 0, nil }

func handle[Q, A any](verb string, ask func(Q) (A, error)) {
	http.HandleFunc("/"+verb, func(to http.ResponseWriter, from *http.Request) {
		var question Q
		var answer any
		err := json.NewDecoder(from.Body).Decode(&question)
		if err == nil || errors.Is(err, io.EOF) {
			answer, err = ask(question)
		}
		to.Header().Set("Content-Type", "application/json")
		if err != nil {
			to.WriteHeader(http.StatusBadRequest)
			answer = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(to).Encode(answer)
	})
}

func need[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	if len(os.Args) != 4 && len(os.Args) != 6 {
		log.Fatal("usage: go_http MODEL ROWS SOCKET-OR-ADDRESS [STORE LIVE]")
	}
	table := need(rows.Read(os.Args[2]))
	one := &service{need(walker.Read(os.Args[1])), table.Columns, asked(table.Features), len(table.Features)}
	var handler http.Handler = http.DefaultServeMux
	if len(os.Args) == 6 {
		if one.keys = need(strconv.Atoi(os.Args[5])); one.keys < len(table.Features) {
			log.Fatal("LIVE is a number of rows, at least the table's")
		}
		one.store = filled(os.Args[4], table, one.keys)
		if os.Args[4] == "controlled" {
			handler = &gate{handler: handler}
		}
	}
	handle("ping", nothing[any])
	handle("echo", nothing[[]any])
	handle("raw", one.raw)
	handle("features", one.features)
	handle("key", one.key)
	handle("keys", one.several)
	handle("top", one.top)
	handle("put", one.put)
	handle("events", events)
	network := "tcp"
	if strings.HasPrefix(os.Args[3], "/") {
		network = "unix"
	}
	log.Fatal(http.Serve(need(net.Listen(network, os.Args[3])), handler))
}
