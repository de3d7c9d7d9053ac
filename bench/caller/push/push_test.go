// Package push has the document's microbenchmark in its own shape, and what it leaves out.
package push

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"
)

const window = 200_000

var (
	kept []byte
	live [window][]byte
)

func message(size int) []byte {
	made := make([]byte, size)
	for i := range made {
		made[i] = 1
	}
	return made
}

// The document's function: the window is a local variable, 4.8 MB that each call clears.
//
//go:noinline
func pushed(size, at int) {
	var buffer [window][]byte
	buffer[at%window] = message(size)
	kept = buffer[at%window]
}

// The same without a message.
//
//go:noinline
func cleared(at int) {
	var buffer [window][]byte
	buffer[at%window] = kept
	kept = buffer[at%window]
}

// The document's sizes, of which a window that lives has room for the smaller two.
var sizes = []int{1, 10, 100, 1024}

func bySize(b *testing.B, sizes []int, push func(size, at int)) {
	for _, kb := range sizes {
		b.Run(strconv.Itoa(kb)+"KB", func(b *testing.B) {
			took := make([]time.Duration, 0, 1<<16)
			for at := 0; b.Loop(); at++ {
				began := time.Now()
				push(kb*1024, at)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			b.ReportMetric(float64(took[len(took)-1]), "max-ns")
		})
	}
}

func BenchmarkDocument(b *testing.B) { bySize(b, sizes, pushed) }

// The same with a collector that runs between calls alone, after each 64 MB, and on the clock.
func BenchmarkControlled(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	bySize(b, sizes, func(size, at int) {
		pushed(size, at)
		if at%max(1, (64<<20)/(size+24*window)) == 0 {
			runtime.GC()
		}
	})
}

func BenchmarkClearing(b *testing.B) {
	for at := 0; b.Loop(); at++ {
		cleared(at)
	}
}

// A window that lives on: what the question is about.
func BenchmarkWindow(b *testing.B) {
	for at := range live {
		live[at] = message(1024)
	}
	bySize(b, sizes[:2], func(size, at int) { live[at%window] = message(size) })
}
