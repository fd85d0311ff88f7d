/* From symbols to the record: the choice of codes, bits and index. */
#include <string.h>

#include "codec/fast_jpeg.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* A symbol's word, and the bits that it takes with its value. */
struct word {
    uint16_t word;
    uint8_t length, all;
};

static void make_words(const struct fast_code *code, bool dc, struct word out[FAST_AC_SYMBOLS]) {
    for (unsigned s = 0; s < (dc ? FAST_DC_SYMBOLS : FAST_AC_SYMBOLS); s++) {
        const unsigned size = dc ? s : s < FAST_SKIP ? s % 10 + 1 : 0;
        out[s] = (struct word){code->word[s], code->length[s], (uint8_t)(code->length[s] + size)};
    }
}

/* Bits go out when there are some, in whole words: `to` has room for one more. */
struct bit_writer {
    uint8_t *to, *start;
    uint64_t word;
    unsigned count; /* less than 8 between symbols */
};

static uint64_t written(const struct bit_writer *w) {
    return (uint64_t)(w->to - w->start) * 8 + w->count;
}

static inline void flush(struct bit_writer *w) {
    mldfi_store_u64(w->to, w->word);
    w->to += w->count >> 3;
    w->word >>= w->count & ~7u;
    w->count &= 7;
}

static inline void put(struct bit_writer *w, uint32_t symbol, const struct word *words) {
    const struct word *word = &words[symbol & ((1u << FAST_SYMBOL_BITS) - 1)];
    w->word |= (word->word | (uint64_t)(symbol >> FAST_SYMBOL_BITS) << word->length) << w->count;
    w->count += word->all;
}

/* A symbol has 23 bits at most, so that two of them fit beside seven bits that wait. */
static void put_all(struct bit_writer *out, const uint32_t *symbols, size_t count, const struct word *words) {
    struct bit_writer w = *out;
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
        put(&w, symbols[i], words);
        put(&w, symbols[i + 1], words);
        flush(&w);
    }
    if (i < count) {
        put(&w, symbols[i], words);
        flush(&w);
    }
    *out = w;
}

/* The code that takes the fewest bits; *bits grows by them and by what values add. */
static unsigned choose(unsigned stream, const struct fast_counts *counts, struct fast_code *best, uint64_t *bits) {
    const uint32_t *n = stream < 2 ? counts->dc[stream] : counts->ac[stream - 2];
    unsigned chosen = 0, symbols = stream < 2 ? FAST_DC_SYMBOLS : FAST_AC_SYMBOLS;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < FAST_CODES; i++) {
        const uint8_t *lengths = stream < 2 ? mldfi_fast_dc_set[stream][i] : mldfi_fast_ac_set[stream - 2][i];
        uint64_t sum = 0;
        for (unsigned s = 0; s < symbols; s++)
            sum += (uint64_t)n[s] * (lengths[s / 2] >> (s % 2 * 4) & 15);
        if (sum < least) {
            least = sum;
            chosen = i;
        }
    }
    for (unsigned s = 0; s < symbols; s++)
        *bits += (uint64_t)n[s] * (stream < 2 ? s : s < FAST_SKIP ? s % 10 + 1 : 0);
    *bits += least;
    if (stream < 2)
        mldfi_fast_dc_code(stream, chosen, best);
    else
        mldfi_fast_ac_code(stream - 2, chosen, best);
    return chosen;
}

/* ---- The record ------------------------------------------------------------------------------------------------------------ */

struct record_writer {
    const struct fast_source *f;
    mldf_buffer lengths; /* u32 for each entry of the index */
    mldf_buffer stream, index;
    uint8_t code[FAST_STREAMS], entry_bits[FAST_STREAMS];
    uint64_t bits;
    mldf_buffer checkpoints;
};

static mldf_status add_length(struct record_writer *w, unsigned stream, uint64_t length, mldf_error *err) {
    uint8_t bytes[4];
    unsigned width = 1;
    if (length > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "fast JPEG: a segment of more than 2^32 bits");
    while (width < 32 && length >> width)
        width++;
    if (width > w->entry_bits[stream])
        w->entry_bits[stream] = (uint8_t)width;
    mldfi_store_u32(bytes, (uint32_t)length);
    return mldf_buffer_append(&w->lengths, bytes, 4, err);
}

/* One stream, entry by entry. */
static mldf_status write_stream(struct record_writer *w, unsigned s, const struct fast_code *code,
                                struct bit_writer *bits, mldf_error *err) {
    const struct fast_grid *g = &w->f->grid;
    const bool many = (uint64_t)g->mcus_down * g->segments > FAST_MANY_SEGMENTS;
    const uint32_t *symbols = (const uint32_t *)(const void *)w->f->symbols[s].data;
    const uint64_t *ends = (const uint64_t *)(const void *)w->f->ends[s].data;
    struct word words[FAST_AC_SYMBOLS];
    uint64_t done = 0;
    mldf_status status = MLDF_OK;
    make_words(code, s < 2, words);
    for (uint64_t n = 0; status == MLDF_OK && n < mldfi_fast_entries(g, s); n++) {
        const uint64_t before = written(bits);
        if (many && s >= 2 && n % g->segments == 0) {
            uint8_t position[8];
            mldfi_store_u64(position, before);
            status = mldf_buffer_append(&w->checkpoints, position, 8, err);
        }
        put_all(bits, symbols + done, (size_t)(ends[n] - done), words);
        done = ends[n];
        if (status == MLDF_OK)
            status = add_length(w, s, written(bits) - before, err);
    }
    return status;
}

static mldf_status write_streams(struct record_writer *w, mldf_error *err) {
    const struct fast_grid *g = &w->f->grid;
    struct fast_code codes[FAST_STREAMS];
    uint64_t bits = 0;
    for (unsigned s = 0; s < FAST_STREAMS; s++)
        if (mldfi_fast_entries(g, s))
            w->code[s] = (uint8_t)choose(s, &w->f->counts, &codes[s], &bits);
    mldf_status status = mldfi_buffer_resize(&w->stream, (size_t)(bits / 8 + 16), err);
    if (status < 0)
        return status;
    struct bit_writer out = {.to = w->stream.data, .start = w->stream.data};
    for (unsigned s = 0; status == MLDF_OK && s < FAST_STREAMS; s++)
        if (mldfi_fast_entries(g, s))
            status = write_stream(w, s, &codes[s], &out, err);
    mldfi_store_u64(out.to, out.word); /* what waits, and zeros */
    w->bits = written(&out);
    w->stream.size = (size_t)((w->bits + 7) / 8);
    return status;
}

static mldf_status write_index(struct record_writer *w, mldf_error *err) {
    uint64_t bits = 0, at = 0;
    for (unsigned s = 0; s < FAST_STREAMS; s++)
        bits += mldfi_fast_entries(&w->f->grid, s) * w->entry_bits[s];
    TRY(mldfi_buffer_resize(&w->index, (size_t)(bits / 8 + 16), err));
    memset(w->index.data, 0, w->index.size);
    const uint8_t *length = w->lengths.data;
    for (unsigned s = 0; s < FAST_STREAMS; s++)
        for (uint64_t n = mldfi_fast_entries(&w->f->grid, s); n > 0; n--, length += 4, at += w->entry_bits[s]) {
            uint8_t *p = w->index.data + (at >> 3);
            mldfi_store_u64(p, mldfi_load_u64(p) | (uint64_t)mldfi_load_u32(length) << (at & 7));
        }
    w->index.size = (size_t)((bits + 7) / 8);
    return MLDF_OK;
}

static void fill_fixed(const struct record_writer *w, size_t header_bytes, size_t tail_bytes, unsigned flags,
                       uint8_t d[FAST_FIXED]) {
    const struct fast_source *f = w->f;
    memset(d, 0, FAST_FIXED);
    d[0] = FAST_VERSION;
    d[1] = FAST_SET;
    d[2] = (uint8_t)f->grid.sampling;
    d[3] = (uint8_t)f->colour;
    d[4] = (uint8_t)__builtin_ctz(f->grid.segment);
    d[5] = (uint8_t)(flags | (f->wide ? FAST_WIDE : 0));
    memcpy(d + 6, w->code, FAST_STREAMS);
    memcpy(d + 12, w->entry_bits, FAST_STREAMS);
    mldfi_store_u16(d + 18, (uint16_t)f->grid.width);
    mldfi_store_u16(d + 20, (uint16_t)f->grid.height);
    mldfi_store_u32(d + 22, (uint32_t)header_bytes);
    mldfi_store_u32(d + 26, (uint32_t)tail_bytes);
    mldfi_store_u32(d + 30, (uint32_t)w->index.size);
    mldfi_store_u64(d + 34, w->bits);
    memcpy(d + 42, f->quantiser_of, 3);
}

mldf_status mldfi_fast_write(const struct fast_source *f, const uint8_t *jpeg, size_t bytes, unsigned flags,
                             mldf_buffer *out, mldf_error *err) {
    struct record_writer w = {.f = f};
    mldf_buffer header = MLDF_BUFFER_INIT;
    uint8_t fixed[FAST_FIXED];
    mldf_status status = write_streams(&w, err);
    if (status == MLDF_OK)
        status = write_index(&w, err);
    if (status == MLDF_OK)
        status = mldfi_fast_header_out(f, jpeg, &header, err);
    fill_fixed(&w, header.size, bytes - f->scan_end, flags, fixed);
    const struct {
        const void *data;
        size_t bytes;
    } parts[] = {{fixed, FAST_FIXED},
                 {f->quantiser, 64 * (size_t)f->quantisers},
                 {w.checkpoints.data, w.checkpoints.size},
                 {w.index.data, w.index.size},
                 {w.stream.data, w.stream.size},
                 {header.data, header.size},
                 {jpeg + f->scan_end, bytes - f->scan_end}};
    for (size_t i = 0; status == MLDF_OK && i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].bytes)
            status = mldf_buffer_append(out, parts[i].data, parts[i].bytes, err);
    mldf_buffer_free(&w.lengths);
    mldf_buffer_free(&w.stream);
    mldf_buffer_free(&w.index);
    mldf_buffer_free(&w.checkpoints);
    mldf_buffer_free(&header);
    return status;
}
