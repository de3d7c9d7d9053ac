package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Load is how hard and how long to ask.
type Load struct {
	Clients       int
	WarmUp, Lasts time.Duration
	// Requests a second; 0 is a closed loop.
	Rate float64
}

// Job is a load of one kind of request.
type Job struct {
	Options Options
	Load    Load
	Log     string
	block   int
	entries [][]entry
	due     chan int64
}

// An entry is a request: when it was due, sent and answered, in nanoseconds since the start.
type entry struct{ Due, Sent, Done int64 }

// Room for the requests of a client, so that a log seldom grows while it is written.
const room = 1 << 16

func (job *Job) requests() int {
	total := 0
	for _, one := range job.entries {
		total += len(one)
	}
	return total
}

// Run opens all clients, starts them at once, and writes the logs.
func Run(jobs []*Job) error {
	var started, ended sync.WaitGroup
	var begin time.Time
	go_ := make(chan struct{})
	failed := make(chan error, 1)
	for _, job := range jobs {
		job.entries = make([][]entry, job.Load.Clients)
		// All that is ever due has room: the pace waits for nobody.
		job.due = make(chan int64, int(job.Load.Rate*(job.Load.WarmUp+job.Load.Lasts).Seconds())+1)
		for client := range job.Load.Clients {
			asker, err := Open(job.Options)
			if err != nil {
				return err
			}
			defer asker.Close()
			job.block = asker.Rows()
			if _, err := asker.Ask(0); err != nil {
				return err
			}
			started.Add(1)
			ended.Go(func() {
				started.Done()
				<-go_
				if err := job.client(client, asker, begin); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			})
		}
	}
	// Who sleeps in the kernel holds one of Go's processors: clients are not to wait for it.
	runtime.GOMAXPROCS(runtime.NumCPU() + len(jobs))
	started.Wait()
	runtime.GC()
	begin = time.Now()
	close(go_)
	for _, job := range jobs {
		if job.Load.Rate > 0 {
			go job.pace(begin)
		}
	}
	ended.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	for _, job := range jobs {
		if err := job.write(begin); err != nil {
			return err
		}
	}
	return nil
}

func (job *Job) client(client int, asker Asker, begin time.Time) error {
	count := len(job.Options.Table.Answers)
	row := clip(client*count/job.Load.Clients, asker.Rows(), count)
	entries := make([]entry, 0, room)
	defer func() { job.entries[client] = entries }()
	end := (job.Load.WarmUp + job.Load.Lasts).Nanoseconds()
	for {
		due, open := time.Since(begin).Nanoseconds(), true
		if job.Load.Rate > 0 {
			due, open = <-job.due
		}
		sent := time.Since(begin).Nanoseconds()
		// What cannot keep up is not asked for all that it owes, however long that takes.
		if !open || due >= end || sent > end+end/4 {
			return nil
		}
		if job.Load.Rate == 0 {
			sent = due
		}
		if _, err := asker.Ask(row); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		entries = append(entries, entry{due, sent, time.Since(begin).Nanoseconds()})
		row = clip((row+asker.Rows())%count, asker.Rows(), count)
	}
}

// Pace hands out when requests are due, each at its time, to whichever client is free.
func (job *Job) pace(begin time.Time) {
	end := (job.Load.WarmUp + job.Load.Lasts).Nanoseconds()
	for number := 0; ; number++ {
		due := int64(float64(number) / job.Load.Rate * 1e9)
		if due >= end {
			close(job.due)
			return
		}
		sleepUntil(begin, due)
		job.due <- due
	}
}

// A sleep of Go's goes by whole milliseconds; the kernel's does not.
func sleepUntil(begin time.Time, due int64) {
	for {
		left := due - time.Since(begin).Nanoseconds()
		if left <= 0 {
			return
		}
		wanted := syscall.NsecToTimespec(left)
		_ = syscall.Nanosleep(&wanted, nil)
	}
}

// Clip is where a request of several rows begins, so that it ends in the table, where that has as many.
func clip(row, block, count int) int {
	if block <= count && row+block > count {
		return count - block
	}
	return row
}

// Write leaves the start, in nanoseconds since 1970, and after it the entries, all as 64 bits.
func (job *Job) write(begin time.Time) error {
	if job.Log == "" {
		return nil
	}
	file, err := os.Create(job.Log)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err := binary.Write(buffered, binary.LittleEndian, begin.UnixNano()); err != nil {
		return err
	}
	for _, entries := range job.entries {
		if err := binary.Write(buffered, binary.LittleEndian, entries); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
