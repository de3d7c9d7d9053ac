package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
)

// Features in Redis, a row as its numbers of 32 bits; connections over a Unix socket, as many as are used at once.
type redis struct {
	path string
	idle chan *bufio.ReadWriter
}

func (r *redis) connection() *bufio.ReadWriter {
	select {
	case one := <-r.idle:
		return one
	default:
	}
	raw, err := net.Dial("unix", r.path)
	if err != nil {
		log.Fatal(err)
	}
	return bufio.NewReadWriter(bufio.NewReader(raw), bufio.NewWriter(raw))
}

func (r *redis) release(one *bufio.ReadWriter) {
	select {
	case r.idle <- one:
	default:
	}
}

func (r *redis) send(to *bufio.ReadWriter, words ...string) {
	fmt.Fprintf(to, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(to, "$%d\r\n%s\r\n", len(word), word)
	}
}

// Receive reads one answer: a status, or bytes of a length.
func (r *redis) receive(from *bufio.ReadWriter) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var length int
	switch line[0] {
	case '+':
		return nil, nil
	case '$':
		if _, err := fmt.Sscanf(string(line), "$%d", &length); err != nil || length < 0 {
			return nil, errors.New("redis has no such key")
		}
	default:
		return nil, errors.New(string(line))
	}
	found := make([]byte, length+2)
	_, err = io.ReadFull(from, found)
	return found[:length], err
}

func (r *redis) ask(words ...string) []byte {
	connection := r.connection()
	r.send(connection, words...)
	if err := connection.Flush(); err != nil {
		log.Fatal(err)
	}
	found, err := r.receive(connection)
	if err != nil {
		log.Fatal(err)
	}
	r.release(connection)
	return found
}

func (r *redis) get(key int, features []float32) {
	found := r.ask("GET", fmt.Sprint(key))
	for i := range features {
		features[i] = math.Float32frombits(binary.LittleEndian.Uint32(found[4*i:]))
	}
}

func encoded(features []float32) string {
	row := make([]byte, 4*len(features))
	for i, value := range features {
		binary.LittleEndian.PutUint32(row[4*i:], math.Float32bits(value))
	}
	return string(row)
}

// Fill sets rows a thousand at a time.
func (r *redis) fill(live int, row func(key int) []float32) {
	connection := r.connection()
	for first := 1; first <= live; first += 1000 {
		last := min(first+1000, live+1)
		for key := first; key < last; key++ {
			r.send(connection, "SET", fmt.Sprint(key), encoded(row(key)))
		}
		if err := connection.Flush(); err != nil {
			log.Fatal(err)
		}
		for range last - first {
			if _, err := r.receive(connection); err != nil {
				log.Fatal(err)
			}
		}
	}
	r.release(connection)
}

func (r *redis) put(key int, features []float32) {
	r.ask("SET", fmt.Sprint(key), encoded(features))
}
