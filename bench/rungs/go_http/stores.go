package main

import (
	"log"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pgboost/bench/caller/rows"
)

// Where features are found by their keys, counted from 1.
type store interface {
	// Get gives a row that nobody writes to.
	get(key int) []float32
	put(key int, features []float32)
}

// Asked are the table's own rows, which stay as they are.
type asked [][]float32

func (a asked) get(key int) []float32           { return a[key-1] }
func (a asked) put(key int, features []float32) { log.Fatal("the table's rows stay as they are") }

// Pointers has every row behind one, a new row at each update.
type pointers struct {
	mutex sync.RWMutex
	rows  map[int][]float32
}

func (p *pointers) get(key int) []float32 {
	p.mutex.RLock()
	defer p.mutex.RUnlock()
	return p.rows[key]
}

func (p *pointers) put(key int, features []float32) {
	p.mutex.Lock()
	p.rows[key] = features
	p.mutex.Unlock()
}

// Flat is one array without pointers, written in place.
type flat struct {
	mutex  sync.RWMutex
	width  int
	values []float32
}

func (f *flat) at(key int) []float32 { return f.values[key*f.width : (key+1)*f.width] }

func (f *flat) get(key int) []float32 {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	return slices.Clone(f.at(key))
}

func (f *flat) put(key int, features []float32) {
	f.mutex.Lock()
	copy(f.at(key), features)
	f.mutex.Unlock()
}

// Filled is a store of so many rows, which are the table's in turn: `map` and `controlled` of pointers, `flat`,
// or `redis`, at the Unix socket REDIS in the environment.
func filled(kind string, table *rows.Table, live int) store {
	width, count := len(table.Columns), len(table.Features)
	var made store
	switch kind {
	case "redis":
		one := openRedis(os.Getenv("REDIS"))
		one.fill(table.Features, live)
		return one
	case "flat":
		made = &flat{width: width, values: make([]float32, (live+1)*width)}
	default:
		made = &pointers{rows: make(map[int][]float32, live+1)}
	}
	for key := 1; key <= live; key++ {
		made.put(key, slices.Clone(table.Features[(key-1)%count]))
	}
	return made
}

// A gate lets a collector run between requests alone, which wait for it.
type gate struct {
	handler http.Handler
	open    sync.RWMutex
	updates atomic.Int64
}

// After so many updates, which leave some 64 MB of rows and messages.
const updatesACollection = 50_000

func (g *gate) ServeHTTP(to http.ResponseWriter, from *http.Request) {
	g.open.RLock()
	g.handler.ServeHTTP(to, from)
	g.open.RUnlock()
	if from.URL.Path == "/put" && g.updates.Add(1)%updatesACollection == 0 {
		g.open.Lock()
		runtime.GC()
		g.open.Unlock()
	}
}
