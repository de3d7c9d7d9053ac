// Features in a Go service's memory that are replaced while it predicts from them.
//
//	go_fresh MODEL ROWS ADDRESS STORE LIVE
//
// STORE is `map`: every row behind a pointer, a new one at each update; `controlled`: the same, with a collector
// that runs between requests alone, which wait for it; `flat`: one array without pointers, written in place;
// `redis`: the Redis at the Unix socket REDIS, in the environment.
// LIVE rows are held, of which those of the table are asked for.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"pgboost/bench/caller/rows"
	"pgboost/bench/caller/walker"
)

// A controlled collector runs after so many updates, which leave some 64 MB of rows and messages.
const updatesACollection = 50_000

type store interface {
	get(key int, features []float32)
	put(key int, features []float32)
}

type pointers struct {
	mutex sync.RWMutex
	rows  map[int][]float32
}

func (p *pointers) get(key int, features []float32) {
	p.mutex.RLock()
	copy(features, p.rows[key])
	p.mutex.RUnlock()
}

func (p *pointers) put(key int, features []float32) {
	p.mutex.Lock()
	p.rows[key] = features
	p.mutex.Unlock()
}

type flat struct {
	mutex  sync.RWMutex
	width  int
	values []float32
}

func (f *flat) at(key int) []float32 { return f.values[key*f.width : (key+1)*f.width] }

func (f *flat) get(key int, features []float32) {
	f.mutex.RLock()
	copy(features, f.at(key))
	f.mutex.RUnlock()
}

func (f *flat) put(key int, features []float32) {
	f.mutex.Lock()
	copy(f.at(key), features)
	f.mutex.Unlock()
}

type service struct {
	model      *walker.Model
	store      store
	keys       int
	controlled bool
	// Held by requests, and alone by a controlled collection.
	open    sync.RWMutex
	counter sync.Mutex
	updates int
}

func (s *service) key(to http.ResponseWriter, from *http.Request) {
	s.open.RLock()
	defer s.open.RUnlock()
	body, _ := io.ReadAll(from.Body)
	key, err := strconv.Atoi(string(body))
	if err != nil || key < 1 || key > s.keys {
		http.Error(to, `{"error": "no row has the key"}`, http.StatusNotFound)
		return
	}
	features := make([]float32, s.model.Features)
	s.store.get(key, features)
	_, _ = to.Write(strconv.AppendFloat(nil, float64(s.model.Predict(features)), 'g', -1, 32))
}

func (s *service) put(to http.ResponseWriter, from *http.Request) {
	s.open.RLock()
	var key int
	var features []*float32
	err := json.NewDecoder(from.Body).Decode(&[]any{&key, &features})
	good := err == nil && key >= 1 && key <= s.keys && len(features) == s.model.Features
	if good {
		s.store.put(key, rows.Numbers(features))
	}
	s.open.RUnlock()
	if !good {
		http.Error(to, `{"error": "a key and its features are wanted"}`, http.StatusBadRequest)
		return
	}
	if s.controlled && s.due() {
		s.open.Lock()
		runtime.GC()
		s.open.Unlock()
	}
}

func (s *service) due() bool {
	s.counter.Lock()
	defer s.counter.Unlock()
	s.updates++
	return s.updates%updatesACollection == 0
}

// Events are the ends of the collections, in nanoseconds since 1970, the last 256.
func events(to http.ResponseWriter, _ *http.Request) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	found := make([]int64, 0, len(stats.PauseEnd))
	for _, one := range stats.PauseEnd {
		found = append(found, one.UnixNano())
	}
	_ = json.NewEncoder(to).Encode(found)
}

func filled(kind string, table *rows.Table, live int) store {
	width, count := len(table.Columns), len(table.Features)
	var made store = &pointers{rows: make(map[int][]float32, live+1)}
	switch kind {
	case "redis":
		made = &redis{path: os.Getenv("REDIS"), idle: make(chan *bufio.ReadWriter, 64)}
	case "flat":
		made = &flat{width: width, values: make([]float32, (live+1)*width)}
	}
	row := func(key int) []float32 { return table.Features[(key-1)%count] }
	if one, known := made.(*redis); known {
		one.fill(live, row)
		return made
	}
	for key := 1; key <= live; key++ {
		made.put(key, slices.Clone(row(key)))
	}
	return made
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: go_fresh MODEL ROWS ADDRESS STORE LIVE")
	}
	model, err := walker.Read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	table, err := rows.Read(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	live, err := strconv.Atoi(os.Args[5])
	if err != nil || live < len(table.Features) {
		log.Fatal("LIVE is a number of rows, at least the table's")
	}
	one := &service{model: model, store: filled(os.Args[4], table, live), keys: live, controlled: os.Args[4] == "controlled"}
	http.HandleFunc("POST /ping", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /key", one.key)
	http.HandleFunc("POST /put", one.put)
	http.HandleFunc("GET /events", events)
	log.Fatal(http.ListenAndServe(os.Args[3], nil))
}
