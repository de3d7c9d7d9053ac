package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"strconv"
)

// Features in Redis, a row as its numbers of 32 bits; connections over a Unix socket, as many as are used at once.
type redis struct {
	path string
	idle chan *bufio.ReadWriter
}

func openRedis(path string) *redis { return &redis{path, make(chan *bufio.ReadWriter, 64)} }

// Ask sends commands at once; what each is answered, of a length or none.
func (r *redis) ask(commands ...[]string) [][]byte {
	var to *bufio.ReadWriter
	select {
	case to = <-r.idle:
	default:
		raw := need(net.Dial("unix", r.path))
		to = bufio.NewReadWriter(bufio.NewReader(raw), bufio.NewWriter(raw))
	}
	for _, words := range commands {
		fmt.Fprintf(to, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(to, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	need(0, to.Flush())
	answers := make([][]byte, len(commands))
	for i := range answers {
		switch line := need(to.ReadString('\n')); line[0] {
		case '+':
		case '$':
			// A key that is not there has the length -1.
			length := need(strconv.ParseUint(line[1:len(line)-2], 10, 31))
			answers[i] = make([]byte, length+2)
			need(io.ReadFull(to, answers[i]))
		default:
			log.Fatal("redis: ", line)
		}
	}
	select {
	case r.idle <- to:
	default:
	}
	return answers
}

func (r *redis) get(key int) []float32 {
	found := r.ask([]string{"GET", strconv.Itoa(key)})[0]
	features := make([]float32, len(found)/4)
	need(binary.Decode(found, binary.LittleEndian, features))
	return features
}

func (r *redis) put(key int, features []float32) { r.ask(set(key, features)) }

func set(key int, features []float32) []string {
	row := make([]byte, 0, 4*len(features))
	for _, value := range features {
		row = binary.LittleEndian.AppendUint32(row, math.Float32bits(value))
	}
	return []string{"SET", strconv.Itoa(key), string(row)}
}

// Fill sets rows a thousand at a time.
func (r *redis) fill(rows [][]float32, live int) {
	for first := 1; first <= live; first += 1000 {
		var commands [][]string
		for key := first; key < min(first+1000, live+1); key++ {
			commands = append(commands, set(key, rows[(key-1)%len(rows)]))
		}
		r.ask(commands...)
	}
}
