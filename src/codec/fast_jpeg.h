/* The fast JPEG store (image mode 7): the coefficients of a JPEG file in streams that decode several times as fast, with what is needed to make
 * the file's own bytes again. docs/spec/fast-jpeg.md is the format.
 *
 *     JPEG ── fast_jpeg_read.c ──► coefficients ── fast_jpeg_symbols.c ──► symbols ── fast_jpeg_write.c ──► record     fast_jpeg.c: with its proofs
 *     record ── fast_jpeg_record.c ──► layout ── fast_jpeg_unpack.c ──► coefficients ── fast_jpeg_scan.c ──► JPEG
 *
 * This layer reads symbol by symbol and checks everything; src/kernel/jpeg.h has the loops that decode to pixels. */
#ifndef MLDF_CODEC_FAST_JPEG_H
#define MLDF_CODEC_FAST_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/base.h"

enum {
    FAST_VERSION = 1,
    FAST_SET = 1,
    FAST_FIXED = 48,           /* bytes before the quantisers */
    FAST_CODES = 16,           /* of each kind of stream in a set */
    FAST_CODE_BITS = 12,       /* of the longest code word */
    FAST_AC_SYMBOLS = 84,      /* run * 10 + size - 1 for run 0 to 7 and size 1 to 10, then these */
    FAST_SKIP = 80,            /* eight zeros */
    FAST_END = 81,             /* of one block */
    FAST_END_4 = 82,           /* of four */
    FAST_END_16 = 83,          /* of sixteen */
    FAST_DC_SYMBOLS = 12,      /* the size of a difference */
    FAST_SYMBOL_BITS = 16,     /* of a symbol in struct fast_source */
    FAST_LOW = 16,             /* places of a block in the low band, the DC's among them */
    FAST_MAX_SEGMENT = 6,      /* log2 of the most MCUs in a segment */
    FAST_MANY_SEGMENTS = 4096, /* more have checkpoints */
    FAST_LEAST_HEADER = 64,    /* bytes that follow the bits: readers load whole words */
    FAST_WIDE = 1,             /* flags: a value of the high band passes 8 bits */
    FAST_PROGRESSIVE = 2       /* the file was progressive before it was packed */
};
enum fast_sampling { FAST_GRAY, FAST_444, FAST_422, FAST_420, FAST_440, FAST_411, FAST_SAMPLINGS };
enum fast_colour { FAST_YCBCR, FAST_RGB, FAST_NO_COLOUR, FAST_COLOURS };

/* Streams, in the order of the record: DC luma, DC chroma, then AC: low luma, low chroma, high luma, high chroma. */
enum { FAST_STREAMS = 6, FAST_AC_KINDS = 4 };

extern const uint8_t mldfi_fast_scan[64];   /* place in the record's order → natural place */
extern const uint8_t mldfi_fast_zigzag[64]; /* place in JPEG's order → natural place */

/* ---- Codes ---------------------------------------------------------------------------------------------------------------- */

/* Canonical: by length, then by symbol; words have their first bit lowest. */
struct fast_code {
    uint8_t length[FAST_AC_SYMBOLS];
    uint16_t word[FAST_AC_SYMBOLS];
};
void mldfi_fast_words(struct fast_code *code, unsigned symbols);
/* Code `number` (less than FAST_CODES) of AC kind 0 to 3, or of DC class 0, 1. */
void mldfi_fast_ac_code(unsigned kind, unsigned number, struct fast_code *out);
void mldfi_fast_dc_code(unsigned class, unsigned number, struct fast_code *out);
/* fast_jpeg_set.c: lengths as nibbles, lower first. */
extern const uint8_t mldfi_fast_ac_set[FAST_AC_KINDS][FAST_CODES][FAST_AC_SYMBOLS / 2];
extern const uint8_t mldfi_fast_dc_set[2][FAST_CODES][FAST_DC_SYMBOLS / 2];

/* ---- Layout --------------------------------------------------------------------------------------------------------------- */

/* What follows from size and sampling. Class 0 is luma (or gray, or red), class 1 both others. */
struct fast_grid {
    uint32_t width, height;
    enum fast_sampling sampling;
    unsigned components, classes;
    unsigned h, v;      /* blocks of luma in an MCU, across and down */
    unsigned blocks[2]; /* in an MCU, by class */
    unsigned lag[2];    /* the left neighbour of a block is so many places before it */
    uint32_t mcus_across, mcus_down;
    uint32_t segment, segments; /* MCUs in a segment; segments in a row of MCUs */
};
/* Of three components, the first with h x v blocks in an MCU, the others with one each. FAST_SAMPLINGS: not one of those above. */
enum fast_sampling mldfi_fast_sampling(unsigned h, unsigned v);
void mldfi_fast_grid(struct fast_grid *grid, enum fast_sampling sampling, uint32_t width, uint32_t height,
                     unsigned segment_log2);
/* Entries of the index for stream 0 to 5. */
static inline uint64_t mldfi_fast_entries(const struct fast_grid *grid, unsigned stream) {
    uint64_t rows = grid->mcus_down;
    return (stream & 1) && grid->classes < 2 ? 0 : stream < 2 ? rows : rows * grid->segments;
}

struct fast_layout {
    struct fast_grid grid;
    enum fast_colour colour;
    unsigned flags, segment_log2;
    uint8_t code[FAST_STREAMS], entry_bits[FAST_STREAMS];
    uint8_t quantiser_of[3]; /* by component */
    unsigned quantisers;
    uint64_t bits;
    size_t index_bytes, header_bytes, tail_bytes;
    const uint8_t *quantiser;   /* [quantisers][64], in JPEG's order */
    const uint8_t *checkpoints; /* or NULL */
    const uint8_t *index, *stream, *header, *tail;
};
/* Checks everything but the bits themselves. */
mldf_status mldfi_fast_parse(const uint8_t *data, size_t bytes, struct fast_layout *out, mldf_error *err);
/* The first bit of each entry, stream after stream; one more at the end. The sum of all is checked. */
uint64_t mldfi_fast_positions_count(const struct fast_grid *grid);
mldf_status mldfi_fast_positions(const struct fast_layout *layout, uint64_t *out, mldf_error *err);
static inline uint64_t mldfi_fast_position_at(const struct fast_grid *grid, unsigned stream) {
    uint64_t at = 0;
    for (unsigned i = 0; i < stream; i++)
        at += mldfi_fast_entries(grid, i);
    return at;
}

/* ---- Coefficients --------------------------------------------------------------------------------------------------------- */

/* Where block i of an MCU's class lies: its component, and its place in the component's blocks of the MCU. */
struct fast_place {
    uint8_t component, x, y;
};
struct fast_place mldfi_fast_place(const struct fast_grid *grid, unsigned class, unsigned i);

/* Rows of MCUs one after the other; memory for one is the reader's. */
struct fast_unpacker;
mldf_status mldfi_fast_unpack_new(const struct fast_layout *layout, struct fast_unpacker **out, mldf_error *err);
void mldfi_fast_unpack_free(struct fast_unpacker *u);
/* Coefficients of one row, in the record's order: blocks[class] has mcus_across * grid.blocks[class] of 64, places[class] a word for each: bit p is set when
 * place p, an AC's, is not zero. Every rule of the format is checked. */
mldf_status mldfi_fast_unpack_row(struct fast_unpacker *u, uint32_t row, int16_t *blocks[2], uint64_t *places[2],
                                  mldf_error *err);

/* ---- From JPEG and back ----------------------------------------------------------------------------------------------------- */

/* Why a JPEG is not stored in mode 7. FAST_TAKEN: it is. */
enum fast_reason {
    FAST_TAKEN,
    FAST_LARGER, /* than the limit */
    FAST_IS_CMYK,
    FAST_ARITHMETIC,
    FAST_IS_PROGRESSIVE,
    FAST_SCANS,      /* more than one scan, or one in another order */
    FAST_QUANTISERS, /* of 16 bits, or not where they are expected */
    FAST_SAMPLING,   /* another than the six */
    FAST_VALUES,     /* coefficients beyond the symbols */
    FAST_RANGE,      /* coefficients for which decoders need not agree */
    FAST_BYTES,      /* the file's bytes do not come back: runs or padding that are not canonical */
    FAST_DAMAGED,    /* truncated or damaged */
    FAST_REASONS
};
const char *mldfi_fast_reason_name(enum fast_reason reason);

/* How often each symbol occurs; kinds as in the record. */
struct fast_counts {
    uint32_t ac[FAST_AC_KINDS][FAST_AC_SYMBOLS], dc[2][FAST_DC_SYMBOLS];
};

/* Coefficients of a whole file as symbols, and the parts of the file that are not coefficients. */
struct fast_source {
    struct fast_grid grid;
    enum fast_colour colour;
    mldf_buffer symbols[FAST_STREAMS]; /* u32 each: the symbol, and the bits of its value << FAST_SYMBOL_BITS */
    mldf_buffer ends[FAST_STREAMS];    /* u64 for each entry of the index: symbols of the stream up to its end */
    struct fast_counts counts;
    uint8_t quantiser[3][64];
    uint8_t quantiser_of[3];
    unsigned quantisers;
    bool wide;
    size_t header_bytes, scan_end; /* of the file: up to the scan; where the scan ends */
};
/* A reason, or the source, which is the caller's to free. Errors are for memory alone. */
mldf_status mldfi_fast_read(const uint8_t *jpeg, size_t bytes, struct fast_source *out, enum fast_reason *reason,
                            mldf_error *err);
void mldfi_fast_source_free(struct fast_source *source);
/* fast_jpeg_symbols.c. The grid and the quantisers of the source are there. */
struct fast_taker;
mldf_status mldfi_fast_taker_new(struct fast_source *source, struct fast_taker **out, mldf_error *err);
void mldfi_fast_taker_free(struct fast_taker *taker);
/* One row of MCUs, of blocks in natural order: one or two rows of luma, then in rows[2] and rows[3] Cb and Cr. */
mldf_status mldfi_fast_take_row(struct fast_taker *taker, const int16_t (*const rows[4])[64], enum fast_reason *reason,
                                mldf_error *err);
/* The record of a source; `jpeg` is the file it was read from. */
mldf_status mldfi_fast_write(const struct fast_source *source, const uint8_t *jpeg, size_t bytes, unsigned flags,
                             mldf_buffer *out, mldf_error *err);

/* The whole way with its proofs: `out` is the payload of mode 7 when *reason is FAST_TAKEN. limit: of its size, in parts of the JPEG's. */
mldf_status mldfi_fast_pack(const void *jpeg, size_t bytes, unsigned flags, double limit, mldf_buffer *out,
                            enum fast_reason *reason, mldf_error *err);
/* Appends the file that was packed. most: bytes of memory that this may take, and of the file. */
mldf_status mldfi_fast_restore(const void *payload, size_t bytes, uint64_t most, mldf_buffer *out, mldf_error *err);

/* fast_jpeg_scan.c: the entropy-coded bytes of a baseline scan. `header` is the file from SOI to the end of SOS. */
struct fast_scan;
mldf_status mldfi_fast_scan_new(const uint8_t *header, size_t bytes, const struct fast_grid *grid, mldf_buffer *out,
                                struct fast_scan **scan, mldf_error *err);
void mldfi_fast_scan_free(struct fast_scan *scan);
/* One row of MCUs, as mldfi_fast_unpack_row gives it. */
mldf_status mldfi_fast_scan_row(struct fast_scan *scan, int16_t *const blocks[2], uint64_t *const places[2],
                                mldf_error *err);
mldf_status mldfi_fast_scan_end(struct fast_scan *scan, mldf_error *err);

/* The cold header with the quantisers taken out, and put back. */
mldf_status mldfi_fast_header_out(const struct fast_source *source, const uint8_t *jpeg, mldf_buffer *out,
                                  mldf_error *err);
mldf_status mldfi_fast_header_in(const struct fast_layout *layout, mldf_buffer *out, mldf_error *err);

/* The value of `size` bits in JPEG's way: the upper half is positive. */
static inline int mldfi_fast_extend(uint32_t bits, unsigned size) {
    return size == 0 ? 0 : bits >> (size - 1) ? (int)bits : (int)bits - (1 << size) + 1;
}
static inline unsigned mldfi_fast_size(int value) {
    unsigned v = (unsigned)(value < 0 ? -value : value);
    return v ? 32u - (unsigned)__builtin_clz(v) : 0;
}

#endif
