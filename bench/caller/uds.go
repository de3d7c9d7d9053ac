package main

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"strings"
)

// Raw bytes over a Unix socket: a byte that names the verb and the features as numbers of 32 bits there, one
// such number back.
type uds struct {
	options    Options
	connection net.Conn
	question   []byte
	answer     [4]byte
	answers    [1]float32
	dialling   bool
}

// The first byte of a question, by its verb.
var letters = map[string]byte{"ping": 'p', "echo": 'e', "features": 'f'}

func openUDS(options Options) (Asker, error) {
	letter, known := letters[options.Verb]
	if !known {
		return nil, noVerb(options)
	}
	made := &uds{options: options, dialling: options.Transport == "uds-dialling"}
	made.question = make([]byte, 1+4*len(options.Table.Columns))
	made.question[0] = letter
	if made.dialling {
		return made, nil
	}
	return made, made.dial()
}

func (u *uds) dial() (err error) {
	u.connection, err = net.Dial("unix", strings.TrimPrefix(u.options.Address, "unix:"))
	return err
}

func (u *uds) Rows() int { return 1 }

func (u *uds) Close() error {
	if u.connection == nil {
		return nil
	}
	return u.connection.Close()
}

func (u *uds) Ask(row int) ([]float32, error) {
	if u.dialling {
		if err := u.dial(); err != nil {
			return nil, err
		}
		defer u.connection.Close()
	}
	for i, value := range u.options.Table.Features[row] {
		binary.LittleEndian.PutUint32(u.question[1+4*i:], math.Float32bits(value))
	}
	if _, err := u.connection.Write(u.question); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(u.connection, u.answer[:]); err != nil {
		return nil, err
	}
	u.answers[0] = math.Float32frombits(binary.LittleEndian.Uint32(u.answer[:]))
	return u.answers[:], nil
}
