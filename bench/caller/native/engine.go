// Package native predicts by libraries that are not Go: the engine as a C library, and libxgboost.
package native

/*
#cgo CFLAGS: -I${SRCDIR}/../../../extension/gbdt_c/include
#include <gbdt.h>
*/
import "C"

import (
	"errors"
	"math"
	"os"
	"unsafe"
)

// Engine is a model opened by gbdt_c; one goroutine uses it at a time.
type Engine struct{ model *C.gbdt_model }

// OpenEngine reads a model's file.
func OpenEngine(path string) (*Engine, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var said [256]C.char
	model := C.gbdt_open(unsafe.Pointer(&bytes[0]), C.size_t(len(bytes)), &said[0], C.size_t(len(said)))
	if model == nil {
		return nil, errors.New(C.GoString(&said[0]))
	}
	return &Engine{model}, nil
}

// Predict gives the value of a row; NaN where the row has another width than the model.
func (engine *Engine) Predict(features []float32) float32 {
	var value C.float
	at := (*C.float)(unsafe.Pointer(&features[0]))
	if C.gbdt_predict(engine.model, at, C.size_t(len(features)), &value) != 0 {
		return float32(math.NaN())
	}
	return float32(value)
}

// Close frees the model.
func (engine *Engine) Close() { C.gbdt_close(engine.model) }
