package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Asker asks one thing at a time; every client has its own.
type Asker interface {
	// Ask asks about a row, and those after it where a request has several; the answers hold until the next.
	Ask(row int) ([]float32, error)
	// Rows is how many rows a request has.
	Rows() int
	Close() error
}

var openers = map[string]func(Options) (Asker, error){
	"empty": openInside, "walker": openInside, "walker-allocating": openInside,
	"engine": openInside, "xgboost": openInside, "xgboost-matrix": openInside,
	"uds": openUDS, "uds-dialling": openUDS, "grpc": openGRPC, "http": openHTTP,
	"pg-simple": openPostgres, "pg-prepared": openPostgres, "pg-binary": openPostgres,
	"pg-pipeline": openPostgres, "pg-copy": openPostgres,
}

func transports() string { return strings.Join(slices.Sorted(maps.Keys(openers)), ", ") }

// Open connects a client.
func Open(options Options) (Asker, error) {
	open, known := openers[options.Transport]
	if !known {
		return nil, fmt.Errorf("no transport %q: there are %s", options.Transport, transports())
	}
	return open(options)
}

func noVerb(options Options) error {
	return fmt.Errorf("transport %s has no verb %q", options.Transport, options.Verb)
}
