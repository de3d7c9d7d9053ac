package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"pgboost/bench/caller/predictor"
	"pgboost/bench/caller/rows"
)

type overGRPC struct {
	connection *grpc.ClientConn
	ask        func(row int) (*predictor.Prediction, error)
	answers    [1]float32
}

func openGRPC(options Options) (Asker, error) {
	connection, err := grpc.NewClient(options.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	client, background, table := predictor.NewPredictorClient(connection), context.Background(), options.Table
	made := &overGRPC{connection: connection}
	switch options.Verb {
	case "ping":
		made.ask = func(int) (*predictor.Prediction, error) {
			_, err := client.Ping(background, &predictor.Nothing{})
			return nil, err
		}
	case "echo":
		made.ask = func(row int) (*predictor.Prediction, error) {
			return client.Echo(background, message(table.Raw[row]))
		}
	case "raw":
		made.ask = func(row int) (*predictor.Prediction, error) {
			return client.Raw(background, message(table.Raw[row]))
		}
	case "features":
		made.ask = func(row int) (*predictor.Prediction, error) {
			return client.Features(background, &predictor.Numbers{Values: table.Features[row]})
		}
	default:
		connection.Close()
		return nil, noVerb(options)
	}
	return made, nil
}

func message(row []rows.Value) *predictor.Row {
	made := &predictor.Row{Values: make([]*predictor.Value, len(row))}
	for i := range row {
		value := &predictor.Value{}
		switch one := &row[i]; {
		case one.IsText:
			value.Kind = &predictor.Value_Text{Text: one.Text}
		case !one.Missing:
			value.Kind = &predictor.Value_Number{Number: one.Number}
		}
		made.Values[i] = value
	}
	return made
}

func (o *overGRPC) Rows() int    { return 1 }
func (o *overGRPC) Close() error { return o.connection.Close() }

func (o *overGRPC) Ask(row int) ([]float32, error) {
	answer, err := o.ask(row)
	o.answers[0] = answer.GetValue()
	return o.answers[:], err
}
