package native

/*
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// XGBoost's wheel has a library and no headers: these are of its c_api.h.
typedef void *Handle;
extern const char *XGBGetLastError(void);
extern int XGBoosterCreate(const Handle *, uint64_t, Handle *);
extern int XGBoosterFree(Handle);
extern int XGBoosterSetParam(Handle, const char *, const char *);
extern int XGBoosterLoadModel(Handle, const char *);
extern int XGBoosterPredictFromDense(Handle, const char *, const char *, Handle, const uint64_t **, uint64_t *, const float **);
extern int XGDMatrixCreateFromMat(const float *, uint64_t, uint64_t, float, Handle *);
extern int XGDMatrixFree(Handle);
extern int XGBoosterPredictFromDMatrix(Handle, Handle, const char *, const uint64_t **, uint64_t *, const float **);

static const char *in_place = "{\"type\": 0, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false, \"cache_id\": 0, \"missing\": NaN}";
static const char *by_matrix = "{\"type\": 0, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false}";

typedef struct { Handle booster; float *row; int count; char array[160]; } xgboost_model;

static int xgboost_open(const char *path, int count, xgboost_model *model) {
	model->count = count;
	model->row = calloc(count, sizeof(float));
	snprintf(model->array, sizeof model->array,
		"{\"data\": [%llu, true], \"shape\": [1, %d], \"typestr\": \"<f4\", \"version\": 3}",
		(unsigned long long)(uintptr_t)model->row, count);
	if (XGBoosterCreate(NULL, 0, &model->booster) || XGBoosterLoadModel(model->booster, path)) return -1;
	return XGBoosterSetParam(model->booster, "nthread", "1");
}

// A row where XGBoost finds it again and again: no matrix is made.
static int xgboost_in_place(xgboost_model *model, const float *row, float *value) {
	const uint64_t *shape; uint64_t dimensions; const float *found;
	memcpy(model->row, row, model->count * sizeof(float));
	if (XGBoosterPredictFromDense(model->booster, model->array, in_place, NULL, &shape, &dimensions, &found)) return -1;
	*value = found[0];
	return 0;
}

// A matrix for each row, as the document has it.
static int xgboost_matrix(xgboost_model *model, const float *row, float *value) {
	const uint64_t *shape; uint64_t dimensions; const float *found; Handle matrix;
	if (XGDMatrixCreateFromMat(row, 1, model->count, 0.0f / 0.0f, &matrix)) return -1;
	int failed = XGBoosterPredictFromDMatrix(model->booster, matrix, by_matrix, &shape, &dimensions, &found);
	if (!failed) *value = found[0];
	XGDMatrixFree(matrix);
	return failed;
}

static void xgboost_close(xgboost_model *model) { XGBoosterFree(model->booster); free(model->row); }
*/
import "C"

import (
	"errors"
	"math"
	"unsafe"
)

// XGBoost is a booster of libxgboost; one goroutine uses it at a time.
type XGBoost struct{ model *C.xgboost_model }

// OpenXGBoost reads a model's file, whose rows have so many features.
func OpenXGBoost(path string, count int) (*XGBoost, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	model := (*C.xgboost_model)(C.calloc(1, C.sizeof_xgboost_model))
	if C.xgboost_open(name, C.int(count), model) != 0 {
		return nil, errors.New(C.GoString(C.XGBGetLastError()))
	}
	return &XGBoost{model}, nil
}

// PredictInPlace gives the value of a row, which XGBoost reads where it is; NaN where it fails.
func (x *XGBoost) PredictInPlace(features []float32) float32 {
	var value C.float
	if C.xgboost_in_place(x.model, (*C.float)(unsafe.Pointer(&features[0])), &value) != 0 {
		return float32(math.NaN())
	}
	return float32(value)
}

// PredictMatrix makes a DMatrix of the row first.
func (x *XGBoost) PredictMatrix(features []float32) float32 {
	var value C.float
	if C.xgboost_matrix(x.model, (*C.float)(unsafe.Pointer(&features[0])), &value) != 0 {
		return float32(math.NaN())
	}
	return float32(value)
}

// Close frees the booster.
func (x *XGBoost) Close() {
	C.xgboost_close(x.model)
	C.free(unsafe.Pointer(x.model))
}
