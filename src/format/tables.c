/* The fixed part of section 1: where the three tables are, {ptr u64, bytes u64, entries u64} for descriptors (byte 0),
 * metadata (24) and allocation (48). The CRCs of their 64 KiB blocks follow it in the file; directory.c has the entry's
 * own CRC. */
#include "format/format.h"
#include "util/bytes.h"

static void store_table(const struct table_ref *table, uint8_t out[24]) {
    mldfi_store_u64(out + 0, table->ptr);
    mldfi_store_u64(out + 8, table->bytes);
    mldfi_store_u64(out + 16, table->entries);
}

static void load_table(const uint8_t in[24], struct table_ref *out) {
    out->ptr = mldfi_load_u64(in + 0);
    out->bytes = mldfi_load_u64(in + 8);
    out->entries = mldfi_load_u64(in + 16);
}

void mldfi_tables_encode(const struct tables *tables, uint8_t out[FORMAT_TABLES_BYTES]) {
    store_table(&tables->descriptors, out);
    store_table(&tables->metadata, out + 24);
    store_table(&tables->allocation, out + 48);
}

void mldfi_tables_decode(const uint8_t in[FORMAT_TABLES_BYTES], struct tables *out) {
    load_table(in, &out->descriptors);
    load_table(in + 24, &out->metadata);
    load_table(in + 48, &out->allocation);
}
