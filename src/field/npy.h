/* NumPy's .npy files: magic, version, a header that is a Python dict, the elements. files.c exports values as such files; here they become
 * values again. Pickled objects, structs, texts and big-endian numbers are refused: no field type holds them. */
#ifndef MLDF_FIELD_NPY_H
#define MLDF_FIELD_NPY_H

#include "mldf/schema.h"

/* As many bytes of a file hold the header of any array that is read here. */
enum { NPY_HEAD_MAX = 4096 };

struct npy {
    mldf_dtype dtype; /* NONE: raw elements of 2 bytes (|V2), as bfloat16 is exported */
    bool fortran;     /* the first index runs fastest, and there are two dimensions or more */
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS];
    uint64_t head_bytes, data_bytes;
};

/* Reads the header, of a file's first `bytes` bytes. MLDF_E_TYPE: a file that is read by NumPy, and not here. */
mldf_status mldfi_npy_parse(const void *data, uint64_t bytes, struct npy *out, mldf_error *err);
/* The whole file as an array: in place, or in `scratch` where elements must change places. */
mldf_status mldfi_npy_value(const void *data, uint64_t bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err);

/* What the arrays of one field have in common; begins as {0}. */
struct npy_common {
    uint64_t count;
    struct npy first;
    bool varies[MLDF_MAX_DIMS]; /* dimensions that differ */
    char problem[160];          /* why they are not one field of arrays; "": they are */
};
/* One more of them: as much as is known of the file with the name `which`. */
void mldfi_npy_look(struct npy_common *common, const void *data, uint64_t bytes, const char *which);
/* Arguments of an NDARRAY field for them all; false: there is none, and `problem` says why. */
bool mldfi_npy_arguments(const struct npy_common *common, char out[256]);

#endif
