package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pgboost/bench/caller/connection"
	"pgboost/bench/caller/rows"
)

// JSON by HTTP, one connection that is kept: POST /VERB with a row, features, or keys counted from 1.
type overHTTP struct {
	*connection.Connection
	options        Options
	head           string
	body, question []byte
	answer         bytes.Buffer
	answers        []float32
}

func openHTTP(options Options) (Asker, error) {
	network, address := "tcp", options.Address
	if path, found := strings.CutPrefix(address, "unix:"); found {
		network, address = "unix", path
	}
	made, err := connection.Open(network, address)
	head := fmt.Sprintf("POST /%s HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: ", options.Verb)
	return &overHTTP{Connection: made, options: options, head: head}, err
}

func (o *overHTTP) Rows() int {
	if o.options.Verb == "keys" {
		return o.options.Block
	}
	return 1
}

func (o *overHTTP) write(row int) error {
	table := o.options.Table
	body := o.body[:0]
	switch o.options.Verb {
	case "ping":
	case "key":
		body = strconv.AppendInt(body, int64(row+1), 10)
	case "top":
		body = strconv.AppendInt(body, int64(row%rows.Keys+1), 10)
	case "keys":
		for i := range o.options.Block {
			body = strconv.AppendInt(append(body, ','), int64(row+i+1), 10)
		}
		body = append(body, ']')
		body[0] = '['
	case "echo", "raw":
		body = appendRow(body, table.Raw[row])
	case "features":
		body = appendNumbers(body, table.Features[row])
	case "put":
		body = strconv.AppendInt(append(body, `{"key":`...), int64(row+1), 10)
		body = append(appendNumbers(append(body, `,"row":`...), table.Features[row]), '}')
	default:
		return noVerb(o.options)
	}
	o.body = body
	return nil
}

func appendNumbers(body []byte, values []float32) []byte {
	for i, value := range values {
		body = append(body, "[,"[min(i, 1)])
		body = appendNumber(body, value)
	}
	return append(body, ']')
}

func appendNumber(body []byte, value float32) []byte {
	if value != value {
		return append(body, "null"...)
	}
	return strconv.AppendFloat(body, float64(value), 'g', -1, 32)
}

func appendRow(body []byte, row []rows.Value) []byte {
	for i := range row {
		body = append(body, "[,"[min(i, 1)])
		switch value := &row[i]; {
		case value.Missing:
			body = append(body, "null"...)
		case value.IsText:
			body = strconv.AppendQuote(body, value.Text)
		default:
			body = appendNumber(body, value.Number)
		}
	}
	return append(body, ']')
}

func (o *overHTTP) Ask(row int) ([]float32, error) {
	if err := o.write(row); err != nil {
		return nil, err
	}
	o.question = strconv.AppendInt(append(o.question[:0], o.head...), int64(len(o.body)), 10)
	o.question = append(append(o.question, "\r\n\r\n"...), o.body...)
	answer, err := o.Connection.Ask(o.question)
	if err != nil {
		return nil, err
	}
	o.answer.Reset()
	if _, err := o.answer.ReadFrom(answer.Body); err != nil {
		return nil, err
	}
	if answer.StatusCode/100 != 2 {
		return nil, fmt.Errorf("status %d: %s", answer.StatusCode, o.answer.Bytes())
	}
	return o.read(bytes.TrimSpace(o.answer.Bytes()))
}

func (o *overHTTP) read(said []byte) ([]float32, error) {
	o.answers = o.answers[:0]
	if o.options.Verb == "ping" || o.options.Verb == "put" {
		return o.answers, nil
	}
	if len(said) > 0 && said[0] == '[' {
		err := json.Unmarshal(said, &o.answers)
		return o.answers, err
	}
	value, err := strconv.ParseFloat(string(said), 32)
	o.answers = append(o.answers, float32(value))
	return o.answers, err
}
