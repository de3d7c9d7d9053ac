package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"pgboost/bench/caller/rows"
)

// PostgreSQL's own protocol: simple statements, prepared ones with values as text or in binary, many prepared
// ones in a pipeline, or COPY of many answers. A table of the model's name has the raw rows and their ids.
type overPostgres struct {
	connection *pgconn.PgConn
	options    Options
	statement  string
	parameters []rows.Value
	values     [][]byte
	formats    []int16
	buffers    [][8]byte
	answers    []float32
	ask        func(row int) error
}

const prepared = "asked"

var inBinary, inText = []int16{1}, []int16{0}

func openPostgres(options Options) (Asker, error) {
	statement, parameters, err := statementOf(options)
	if err != nil {
		return nil, err
	}
	connection, err := pgconn.Connect(context.Background(), options.Address)
	if err != nil {
		return nil, err
	}
	count := len(parameters)
	made := &overPostgres{
		connection: connection, options: options, statement: statement, answers: make([]float32, 1),
		values: make([][]byte, count), formats: make([]int16, count), buffers: make([][8]byte, count),
		parameters: make([]rows.Value, count),
	}
	switch options.Transport {
	case "pg-simple":
		made.ask = made.simple
		return made, nil
	case "pg-copy":
		made.ask, made.answers = made.copy, make([]float32, options.Block)
		return made, nil
	case "pg-pipeline":
		made.ask, made.answers = made.pipeline, make([]float32, options.Block)
	default:
		made.ask = made.prepared
	}
	_, err = connection.Prepare(context.Background(), prepared, statement, nil)
	return made, err
}

// The statement with $1 and so on, and each parameter's type.
func statementOf(options Options) (string, []string, error) {
	columns, types := []string{}, []string{}
	for _, column := range options.Table.Columns {
		columns = append(columns, `"`+column.Name+`"`)
		if column.Categories != nil && options.Verb != "features" {
			types = append(types, "text")
		} else {
			types = append(types, "real")
		}
	}
	cast := make([]string, len(types))
	for i, one := range types {
		cast[i] = fmt.Sprintf("$%d::%s", i+1, one)
	}
	model, all := options.Model, strings.Join(cast, ", ")
	switch options.Verb {
	case "ping":
		return "SELECT 1::real", nil, nil
	case "echo":
		return fmt.Sprintf("SELECT num_nonnulls(%s)::real", all), types, nil
	case "raw":
		return fmt.Sprintf("SELECT predict('%s', %s)::real", model, all), types, nil
	case "features":
		// An array has codes, where columns have the categories themselves.
		return fmt.Sprintf("SELECT predict('%s', ARRAY[%s])::real", model, all), types, nil
	case "key":
		predict := fmt.Sprintf("predict('%s', %s)::real", model, strings.Join(columns, ", "))
		return fmt.Sprintf("SELECT %s FROM %s WHERE id = $1::integer", predict, model), []string{"integer"}, nil
	case "top":
		predict := fmt.Sprintf("predict('%s', %s)", model, strings.Join(columns, ", "))
		return fmt.Sprintf("SELECT id::real FROM %s_candidates WHERE key = $1::integer ORDER BY %s DESC, id LIMIT 10",
			model, predict), []string{"integer"}, nil
	case "keys":
		predict := fmt.Sprintf("predict('%s', %s)::real", model, strings.Join(columns, ", "))
		return fmt.Sprintf("SELECT %s FROM %s WHERE id = ANY ($1::integer[]) ORDER BY id", predict, model),
			[]string{"integer[]"}, nil
	case "put":
		set := make([]string, len(columns))
		for i, column := range columns {
			set[i] = fmt.Sprintf("%s = $%d::real", column, i+2)
		}
		// The features may be those that are there; a number of updates is another each time, as a time would be.
		set = append(set, "updates = updates + 1")
		return fmt.Sprintf("UPDATE %s SET %s WHERE id = $1::integer", model, strings.Join(set, ", ")),
			append([]string{"integer"}, types...), nil
	}
	return "", nil, noVerb(options)
}

func (o *overPostgres) Close() error { return o.connection.Close(context.Background()) }

func (o *overPostgres) Rows() int {
	switch {
	case o.options.Verb == "keys", o.options.Transport == "pg-pipeline", o.options.Transport == "pg-copy":
		return o.options.Block
	}
	return 1
}

func (o *overPostgres) Ask(row int) ([]float32, error) {
	if err := o.ask(row); err != nil {
		return nil, err
	}
	return o.answers, nil
}

// Row is what the parameters are for a row; keys are counted from 1.
func (o *overPostgres) row(row int) []rows.Value {
	table := o.options.Table
	key := rows.Value{Number: float32(row + 1)}
	switch o.options.Verb {
	case "echo", "raw":
		return table.Raw[row]
	case "features":
		for i, value := range table.Features[row] {
			o.parameters[i] = rows.Value{Number: value, Missing: value != value}
		}
	case "key":
		o.parameters[0] = key
	case "top":
		o.parameters[0].Number = float32(row%rows.Keys + 1)
	case "keys":
		list := []byte{'{'}
		for i := range o.options.Block {
			list = append(strconv.AppendInt(list, int64(row+i+1), 10), ',')
		}
		list[len(list)-1] = '}'
		o.parameters[0] = rows.Value{Text: string(list), IsText: true}
	case "put":
		o.parameters[0] = key
		copy(o.parameters[1:], table.Raw[row])
	}
	return o.parameters
}

// Literal is a value in a simple statement.
func literal(value *rows.Value) string {
	switch {
	case value.Missing:
		return "NULL"
	case value.IsText:
		return "'" + strings.ReplaceAll(value.Text, "'", "''") + "'"
	}
	return "'" + strconv.FormatFloat(float64(value.Number), 'f', -1, 32) + "'"
}

func (o *overPostgres) simple(row int) error {
	statement, found := o.statement, o.row(row)
	for i := len(found) - 1; i >= 0; i-- {
		statement = strings.Replace(statement, "$"+strconv.Itoa(i+1)+"::", literal(&found[i])+"::", 1)
	}
	results := o.connection.Exec(context.Background(), statement)
	for results.NextResult() {
		if err := o.readAll(results.ResultReader(), false); err != nil {
			return err
		}
	}
	return results.Close()
}

func (o *overPostgres) encode(row int) []int16 {
	binaryWanted := o.options.Transport == "pg-binary" || o.options.Transport == "pg-pipeline"
	found := o.row(row)
	for i := range o.values {
		value := &found[i]
		o.formats[i] = 0
		switch buffer := o.buffers[i][:4]; {
		case value.Missing:
			o.values[i] = nil
		case value.IsText:
			o.values[i] = append(o.values[i][:0], value.Text...)
		case !binaryWanted:
			o.values[i] = strconv.AppendFloat(o.values[i][:0], float64(value.Number), 'f', -1, 32)
		case o.isKey(i):
			o.formats[i] = 1
			binary.BigEndian.PutUint32(buffer, uint32(value.Number))
			o.values[i] = buffer
		default:
			o.formats[i] = 1
			binary.BigEndian.PutUint32(buffer, math.Float32bits(value.Number))
			o.values[i] = buffer
		}
	}
	if binaryWanted {
		return inBinary
	}
	return inText
}

func (o *overPostgres) isKey(parameter int) bool {
	return parameter == 0 && (o.options.Verb == "key" || o.options.Verb == "top" || o.options.Verb == "put")
}

func (o *overPostgres) prepared(row int) error {
	format := o.encode(row)
	reader := o.connection.ExecPrepared(context.Background(), prepared, o.values, o.formats, format)
	return o.readAll(reader, format[0] == 1)
}

// Every row of an answer, of which there may be more than was thought.
func (o *overPostgres) readAll(reader *pgconn.ResultReader, isBinary bool) error {
	o.answers = o.answers[:0]
	for reader.NextRow() {
		o.answers = append(o.answers, 0)
		if err := o.read(len(o.answers)-1, reader.Values()[0], isBinary); err != nil {
			return err
		}
	}
	_, err := reader.Close()
	return err
}

func (o *overPostgres) pipeline(row int) error {
	pipeline := o.connection.StartPipeline(context.Background())
	for i := range o.answers {
		format := o.encode((row + i) % len(o.options.Table.Answers))
		pipeline.SendQueryPrepared(prepared, o.values, o.formats, format)
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for i := range o.answers {
		results, err := pipeline.GetResults()
		if err != nil {
			return err
		}
		reader := results.(*pgconn.ResultReader)
		for reader.NextRow() {
			if err := o.read(i, reader.Values()[0], true); err != nil {
				return err
			}
		}
		if _, err := reader.Close(); err != nil {
			return err
		}
	}
	return pipeline.Close()
}

func (o *overPostgres) copy(row int) error {
	between := fmt.Sprintf("id BETWEEN %d AND %d ORDER BY id", row+1, row+len(o.answers))
	query := strings.Replace(o.statement, "id = $1::integer", between, 1)
	var said bytes.Buffer
	if _, err := o.connection.CopyTo(context.Background(), &said, "COPY ("+query+") TO STDOUT"); err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(said.Bytes()), []byte("\n"))
	if len(lines) != len(o.answers) {
		return fmt.Errorf("%d answers, not %d", len(lines), len(o.answers))
	}
	for i, line := range lines {
		if err := o.read(i, line, false); err != nil {
			return err
		}
	}
	return nil
}

func (o *overPostgres) read(i int, said []byte, isBinary bool) error {
	if isBinary {
		o.answers[i] = math.Float32frombits(binary.BigEndian.Uint32(said))
		return nil
	}
	value, err := strconv.ParseFloat(string(said), 32)
	o.answers[i] = float32(value)
	return err
}
