// Package native predicts by libraries that are not Go: the engine as a C library, and libxgboost.
package native

/*
#cgo CFLAGS: -I${SRCDIR}/../../../extension/gbtrees_c/include
#include <gbtrees.h>
*/
import "C"

import (
	"errors"
	"math"
	"os"
	"runtime"
	"unsafe"
)

// Engine is a model of gbtrees_c and a predictor of it; one goroutine uses it at a time.
type Engine struct {
	model     *C.gbtrees_model
	predictor *C.gbtrees_predictor
}

// OpenEngine reads a model's file.
func OpenEngine(path string) (*Engine, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	// The text of an error is the thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var model *C.gbtrees_model
	if C.gbtrees_load(unsafe.Pointer(unsafe.SliceData(bytes)), C.size_t(len(bytes)), &model) != 0 {
		return nil, errors.New(C.GoString(C.gbtrees_last_error()))
	}
	var predictor *C.gbtrees_predictor
	if C.gbtrees_predictor_new(model, &predictor) != 0 {
		C.gbtrees_free(model)
		return nil, errors.New(C.GoString(C.gbtrees_last_error()))
	}
	return &Engine{model, predictor}, nil
}

// Predict gives the value of a row; NaN where the row has another width than the model.
func (engine *Engine) Predict(features []float32) float32 {
	var value C.double
	at, width := (*C.float)(unsafe.Pointer(unsafe.SliceData(features))), C.size_t(len(features))
	if C.gbtrees_predict_f32(engine.predictor, at, 1, width, C.GBTREES_VALUE, &value, 1) != 0 {
		return float32(math.NaN())
	}
	return float32(value)
}

// Close frees the model.
func (engine *Engine) Close() {
	C.gbtrees_predictor_free(engine.predictor)
	C.gbtrees_free(engine.model)
}
