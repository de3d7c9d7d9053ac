/* gbtrees as a C library: gradient-boosted trees of XGBoost, LightGBM, CatBoost and ONNX, evaluated
   bit for bit as by their own libraries.

   A model is never changed, so threads share it. A predictor has the buffers of one thread at a time.
   Functions return 0, or a code of gbtrees_status; then gbtrees_last_error() of this thread says why, and
   nothing was written to the results. Pointers to nothing are an error, except to the functions that free. */
#ifndef GBTREES_H
#define GBTREES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gbtrees_model gbtrees_model;
typedef struct gbtrees_predictor gbtrees_predictor;

typedef enum {
    GBTREES_OK = 0,
    GBTREES_ARGUMENT = 1,    /* a null pointer, an unknown output, no UTF-8 */
    GBTREES_LENGTH = 2,      /* rows or results have not the length that they must have */
    GBTREES_MODEL = 3,       /* the file is no model, or damaged */
    GBTREES_UNSUPPORTED = 4, /* a model or a request that is known and not supported */
    GBTREES_LIMIT = 5,       /* the model is too large, or there is no memory */
    GBTREES_INTERNAL = 6     /* a bug of the library */
} gbtrees_status;

typedef enum {
    GBTREES_VALUE = 0,  /* what the library's predict returns: gbtrees_width() numbers per row */
    GBTREES_MARGIN = 1, /* the sums of leaves */
    GBTREES_CLASS = 2   /* the index of the class */
} gbtrees_output;

/* The error of the last call of this thread that failed, ended by a zero; valid until its next call. */
const char *gbtrees_last_error(void);

/* Loads a model from the bytes of its file, which are no longer needed after. */
int gbtrees_load(const void *bytes, size_t length, gbtrees_model **model);
/* Frees a model, whose predictors must have been freed before; NULL is no model. */
void gbtrees_free(gbtrees_model *model);

/* Shapes: features of a row, margins of a row, trees, and numbers of a row in an output (0 if unknown). */
size_t gbtrees_num_features(const gbtrees_model *model);
size_t gbtrees_num_outputs(const gbtrees_model *model);
size_t gbtrees_num_trees(const gbtrees_model *model);
size_t gbtrees_width(const gbtrees_model *model, int output);

/* The name of a feature, UTF-8 that ends with a zero and lives as long as the model; NULL if it has none. */
const char *gbtrees_feature_name(const gbtrees_model *model, size_t feature);

/* A predictor of a model; gbtrees_predictor_free(NULL) does nothing. */
int gbtrees_predictor_new(const gbtrees_model *model, gbtrees_predictor **predictor);
void gbtrees_predictor_free(gbtrees_predictor *predictor);

/* Predicts rows that lie one after another, values[rows * columns], NaN where one is missing, categories as
   codes; results[count], where count must be rows * gbtrees_width(). Results have the model's bits as f64. */
int gbtrees_predict_f32(gbtrees_predictor *predictor, const float *values, size_t rows, size_t columns,
                        int output, double *results, size_t count);
int gbtrees_predict_f64(gbtrees_predictor *predictor, const double *values, size_t rows, size_t columns,
                        int output, double *results, size_t count);
/* The same of sparse rows in CSR: starts[rows + 1]; column_of[i] is the column of values[i]; what is absent is
   missing. */
int gbtrees_predict_csr(gbtrees_predictor *predictor, const size_t *starts, size_t rows,
                        const uint32_t *column_of, const double *values, size_t columns, int output,
                        double *results, size_t count);

/* SHAP values: for each row and output one number per feature, then the bias;
   results[count], where count must be rows * num_outputs * (num_features + 1). */
int gbtrees_contributions(gbtrees_predictor *predictor, const float *values, size_t rows, size_t columns,
                          float *results, size_t count);

#ifdef __cplusplus
}
#endif

#endif
