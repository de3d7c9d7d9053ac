// The caller is the one clock of the comparisons: it speaks every transport, so that a microsecond means the
// same in each.
//
// It asks about the rows of a table in turn, in a closed loop or at a rate, and logs every request: when it was
// due, sent and answered. With -check it asks about all rows once and compares the answers to the bit.
// What figures follow from a log says bench/generators/request_log.py.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"pgboost/bench/caller/rows"
)

// Options is what is asked of whom.
type Options struct {
	Transport, Address, Verb, Model string
	Block                           int
	Table                           *rows.Table
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func main() {
	var options Options
	var load Load
	var table, log, also, alsoLog string
	var check bool
	var patience time.Duration
	var every int
	flag.StringVar(&options.Transport, "transport", "", "how to ask: "+transports())
	flag.StringVar(&options.Address, "address", "", "where: host:port, unix:PATH or a connection string")
	flag.StringVar(&options.Verb, "verb", "raw", "what: ping, echo, raw, features, key, keys, top, put")
	flag.StringVar(&options.Model, "model", "", "the model's file, or its name in a database")
	flag.StringVar(&table, "rows", "", "a rows.json")
	flag.IntVar(&options.Block, "block", 1, "rows in a request, where a transport takes several")
	flag.IntVar(&load.Clients, "clients", 1, "at a time")
	flag.DurationVar(&load.WarmUp, "warm-up", 0, "before what counts")
	flag.DurationVar(&load.Lasts, "lasts", time.Second, "how long to ask, after the warm-up")
	flag.Float64Var(&load.Rate, "rate", 0, "requests a second; 0: a closed loop")
	flag.StringVar(&log, "log", "", "where every request is written")
	flag.StringVar(&also, "also", "", "another verb that is asked meanwhile, VERB:CLIENTS:RATE")
	flag.StringVar(&alsoLog, "also-log", "", "and its log")
	flag.BoolVar(&check, "check", false, "compare all answers in place of timing any")
	flag.IntVar(&every, "every", 1, "of a comparison: ask about each so many-th row alone")
	flag.DurationVar(&patience, "patience", 0, "how long to wait for a server that does not answer yet")
	flag.Parse()
	known, err := rows.Read(table)
	if err != nil {
		fail(err)
	}
	options.Table = known
	if err := wait(options, patience); err != nil {
		fail(err)
	}
	if check {
		endAfter(longestCheck)
		compared, err := Check(options, load.Clients, every)
		var other different
		if errors.As(err, &other) {
			report(map[string]any{"different": other.Error()})
			return
		} else if err != nil {
			fail(err)
		}
		report(map[string]any{"compared": compared})
		return
	}
	jobs := []*Job{{Options: options, Load: load, Log: log}}
	if also != "" {
		job, err := another(options, load, also)
		if err != nil {
			fail(err)
		}
		job.Log = alsoLog
		jobs = append(jobs, job)
	}
	endAfter(load.WarmUp + load.Lasts + longestWait)
	if err := Run(jobs); err != nil {
		fail(err)
	}
	report(map[string]any{"requests": jobs[0].requests(), "rows": jobs[0].block})
}

// What answers no more is not waited for without end.
const longestCheck, longestWait = 10 * time.Minute, 2 * time.Minute

func endAfter(limit time.Duration) {
	time.AfterFunc(limit, func() { fail(fmt.Errorf("no answer in %v", limit)) })
}

func report(known map[string]any) {
	if err := json.NewEncoder(os.Stdout).Encode(known); err != nil {
		fail(err)
	}
}

// Another is the job that runs beside the first, as long; of it a failure counts, too.
func another(options Options, load Load, text string) (*Job, error) {
	if _, err := fmt.Sscanf(text, "%3s:%d:%g", &options.Verb, &load.Clients, &load.Rate); err != nil {
		return nil, fmt.Errorf("-also %s: %w", text, err)
	}
	return &Job{Options: options, Load: load}, nil
}

// Wait asks until an answer comes, for so long.
func wait(options Options, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		asker, err := Open(options)
		if err == nil {
			_, err = asker.Ask(0)
			asker.Close()
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
