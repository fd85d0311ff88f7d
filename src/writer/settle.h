/* What tools ask a writer besides mldf/writer.h: which of two errors comes first, and what it appends to. */
#ifndef MLDF_WRITER_SETTLE_H
#define MLDF_WRITER_SETTLE_H

#include "mldf/writer.h"

/* Waits until every sample so far is encoded and written. < 0: the writer's own failure, which is that of the first bad sample. */
mldf_status mldfi_writer_settle(mldf_writer *writer, mldf_error *err);

/* The file that is appended to, as it was. The card is borrowed; NULL: there is none. */
struct writer_origin {
    uint64_t samples;
    const char *card;
    size_t card_bytes;
    bool has_keys, without_keys; /* both false when there is no sample to say so */
};
struct writer_origin mldfi_writer_origin(const mldf_writer *writer);

#endif
