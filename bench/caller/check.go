package main

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"pgboost/bench/caller/rows"
)

// An answer that is not the table's.
type different struct{ error }

// Check asks about every row once, or every so many-th request; the answers must be the table's to the bit.
// Clients share the rows, so that each worker of a server that has several is likely to be asked.
func Check(options Options, clients, every int) (int64, error) {
	count := len(options.Table.Answers)
	if options.Verb == "top" {
		count = rows.Keys
	}
	var compared atomic.Int64
	ends := make(chan error)
	for client := range clients {
		part := checking{options, every, client * count / clients, (client + 1) * count / clients, &compared}
		go func() { ends <- part.check() }()
	}
	var err error
	for range clients {
		err = errors.Join(err, <-ends)
	}
	return compared.Load(), err
}

type checking struct {
	options     Options
	every       int
	first, last int
	compared    *atomic.Int64
}

func (c *checking) check() error {
	asker, err := Open(c.options)
	if err != nil {
		return err
	}
	defer asker.Close()
	wanted, block := c.options.Table.Answers, asker.Rows()
	var best [rows.Wanted]float32
	for row := c.first; row < c.last; row += block * c.every {
		at := clip(row, block, len(wanted))
		answers, err := asker.Ask(at)
		if err != nil {
			return fmt.Errorf("row %d: %w", at, err)
		}
		expected := func(i int) float32 { return wanted[(at+i)%len(wanted)] }
		count := block
		if c.options.Verb == "top" {
			rows.Best(at+1, len(wanted), func(row int) float32 { return wanted[row] }, best[:])
			expected, count = func(i int) float32 { return best[i] }, rows.Wanted
		}
		if len(answers) != count {
			return different{fmt.Errorf("row %d: %d answers, not %d", at, len(answers), count)}
		}
		for i, answer := range answers {
			if math.Float32bits(answer) != math.Float32bits(expected(i)) {
				return different{fmt.Errorf("row %d: %v, not %v", at+i, answer, expected(i))}
			}
		}
		c.compared.Add(int64(min(block, c.last-row)))
	}
	return nil
}
