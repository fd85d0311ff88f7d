/* How large will the finished file be? A meter takes samples as a writer would and knows the answer after each, to the byte, for a new file
 * without a dictionary. tests/unit/writer/test_measure.c holds it against real files. */
#ifndef MLDF_WRITER_MEASURE_H
#define MLDF_WRITER_MEASURE_H

#include "field/field.h"
#include "mldf/writer.h"

struct zstd_compressor;

/* One of the two layouts between which the size of the data decides (place.c). */
struct meter_layout {
    uint64_t page_size, data_ptr, cursor;
};

struct meter_state {
    struct meter_layout small, large; /* a given page size: only small */
    uint64_t samples, allocations, key_bytes;
    bool keys;
};

struct size_meter {
    const mldf_schema *schema;
    bool automatic, checksums, encrypted, sealed;
    uint64_t card_bytes, long_argument_bytes;
    struct meter_state now, next; /* next: with the sample that was tried last */
    struct placement *placements, *placed;
    struct zstd_compressor *compressor;
    mldf_buffer compressed;
};

/* schema is borrowed; options.dictionary must be false. */
mldf_status mldfi_meter_begin(struct size_meter *meter, const mldf_schema *schema, const mldf_writer_options *options,
                              mldf_error *err);
void mldfi_meter_free(struct size_meter *meter);
/* Back to no samples. */
void mldfi_meter_reset(struct size_meter *meter);
/* Size of the file with this sample more; nothing is kept of it. Values are of kind STORED or NULL, as a copier has them. */
mldf_status mldfi_meter_try(struct size_meter *meter, const mldf_value *values, const char *key, size_t key_bytes,
                            uint64_t *file_bytes, mldf_error *err);
/* Keeps the sample that was tried last. */
void mldfi_meter_keep(struct size_meter *meter);
/* With what is kept. */
uint64_t mldfi_meter_bytes(const struct size_meter *meter);

#endif
