/* The engine of pgboost as a C library. A model belongs to one thread at a time: it holds the buffers of a
   prediction, so that predicting allocates nothing. Values have the bits of XGBoost's own. */
#ifndef GBDT_H
#define GBDT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gbdt_model gbdt_model;

/* Opens a model file of any format, given as bytes, which are no longer needed after. NULL where it cannot:
   then `error`, of `error_size` bytes, says why, cut to fit and ended by a zero. */
gbdt_model *gbdt_open(const void *bytes, size_t length, char *error, size_t error_size);

/* Predicts a row: features[count], NaN where one is missing, categories as their codes; value[1].
   0; or -1 where `count` is not the model's number of features, or it gives more than one value. */
int gbdt_predict(gbdt_model *model, const float *features, size_t count, float *value);

/* Frees a model; NULL is none. */
void gbdt_close(gbdt_model *model);

#ifdef __cplusplus
}
#endif

#endif
