/* From coefficients to the record: symbols, the choice of codes, bits and index. */
#include <string.h>

#include "codec/fast_jpeg.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* What happens to a symbol: it is counted, or written. */
struct symbol_sink {
    uint32_t *counts;
    const struct fast_code *code;
    uint8_t *bits; /* zeros up to here; room behind */
    uint64_t at;
};

static inline void put(struct symbol_sink *s, uint32_t value, unsigned count) {
    uint8_t *p = s->bits + (s->at >> 3);
    mldfi_store_u64(p, mldfi_load_u64(p) | (uint64_t)value << (s->at & 7));
    s->at += count;
}

static inline void symbol(struct symbol_sink *s, unsigned number, int value, unsigned size) {
    if (s->counts) {
        s->counts[number]++;
        return;
    }
    uint32_t rest = (uint32_t)(value < 0 ? value + (1 << size) - 1 : value);
    unsigned length = s->code->length[number];
    put(s, s->code->word[number] | rest << length, length + size);
}

static void end_blocks(struct symbol_sink *s, unsigned *ends) {
    for (; *ends >= 16; *ends -= 16)
        symbol(s, FAST_END_16, 0, 0);
    for (; *ends >= 4; *ends -= 4)
        symbol(s, FAST_END_4, 0, 0);
    for (; *ends; --*ends)
        symbol(s, FAST_END, 0, 0);
}

/* The part of a block that `mask` selects, whose first place is `first`. Ends are kept back, so that those of empty blocks join them. */
static inline void write_block(struct symbol_sink *s, const int16_t *b, uint64_t places, unsigned first,
                               unsigned *ends) {
    if (places)
        end_blocks(s, ends);
    for (unsigned next = first; places; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctzll(places), run = place - next;
        for (; run >= 8; run -= 8)
            symbol(s, FAST_SKIP, 0, 0);
        unsigned size = mldfi_fast_size(b[place]);
        symbol(s, run * 10 + size - 1, b[place], size);
        next = place + 1;
    }
    ++*ends;
}

static void write_segment(struct symbol_sink *s, const struct fast_source *f, unsigned kind, uint32_t row,
                          uint32_t segment) {
    const struct fast_grid *g = &f->grid;
    const unsigned class = kind & 1, first = kind < 2 ? 1 : FAST_LOW;
    const uint64_t mask = kind < 2 ? (UINT64_C(1) << FAST_LOW) - 2 : ~((UINT64_C(1) << FAST_LOW) - 1);
    uint32_t from = segment * g->segment, left = g->mcus_across - from, mcus = left < g->segment ? left : g->segment;
    size_t at = ((size_t)row * g->mcus_across + from) * g->blocks[class], end = at + (size_t)mcus * g->blocks[class];
    unsigned ends = 0;
    for (; at < end; at++)
        write_block(s, f->blocks[class] + 64 * at, f->places[class][at] & mask, first, &ends);
    end_blocks(s, &ends);
}

static void write_dc_row(struct symbol_sink *s, const struct fast_source *f, unsigned class, uint32_t row) {
    const struct fast_grid *g = &f->grid;
    size_t count = (size_t)g->mcus_across * g->blocks[class];
    const int16_t *dc = f->blocks[class] + row * count * 64;
    for (size_t i = 0; i < count; i++) {
        int difference = dc[64 * i] - (i < g->lag[class] ? 0 : dc[64 * (i - g->lag[class])]);
        unsigned size = mldfi_fast_size(difference);
        symbol(s, size, difference, size);
    }
}

void mldfi_fast_count(const struct fast_source *f, struct fast_counts *out) {
    const struct fast_grid *g = &f->grid;
    memset(out, 0, sizeof *out);
    for (uint32_t row = 0; row < g->mcus_down; row++) {
        for (unsigned class = 0; class < g->classes; class ++)
            write_dc_row(&(struct symbol_sink){.counts = out->dc[class]}, f, class, row);
        for (unsigned kind = 0; kind < FAST_AC_KINDS; kind++)
            for (uint32_t s = 0; (kind & 1) < g->classes && s < g->segments; s++)
                write_segment(&(struct symbol_sink){.counts = out->ac[kind]}, f, kind, row, s);
    }
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

static mldf_status write_streams(struct record_writer *w, mldf_error *err) {
    const struct fast_grid *g = &w->f->grid;
    struct fast_counts counts;
    struct fast_code codes[FAST_STREAMS];
    uint64_t bits = 0;
    bool many = (uint64_t)g->mcus_down * g->segments > FAST_MANY_SEGMENTS;
    mldfi_fast_count(w->f, &counts);
    for (unsigned s = 0; s < FAST_STREAMS; s++)
        if (mldfi_fast_entries(g, s))
            w->code[s] = (uint8_t)choose(s, &counts, &codes[s], &bits);
    mldf_status status = mldfi_buffer_resize(&w->stream, (size_t)(bits / 8 + 16), err);
    if (status < 0)
        return status;
    memset(w->stream.data, 0, w->stream.size);
    struct symbol_sink sink = {.bits = w->stream.data};
    for (unsigned s = 0; s < FAST_STREAMS; s++) {
        sink.code = &codes[s];
        for (uint32_t row = 0; mldfi_fast_entries(g, s) && row < g->mcus_down; row++) {
            uint8_t position[8];
            mldfi_store_u64(position, sink.at);
            if (many && s >= 2 && (status = mldf_buffer_append(&w->checkpoints, position, 8, err)) < 0)
                return status;
            for (uint32_t n = 0; n < (s < 2 ? 1 : g->segments); n++) {
                uint64_t before = sink.at;
                if (s < 2)
                    write_dc_row(&sink, w->f, s, row);
                else
                    write_segment(&sink, w->f, s - 2, row, n);
                if ((status = add_length(w, s, sink.at - before, err)) < 0)
                    return status;
            }
        }
    }
    w->bits = sink.at;
    w->stream.size = (size_t)((sink.at + 7) / 8);
    return MLDF_OK;
}

static mldf_status write_index(struct record_writer *w, mldf_error *err) {
    uint64_t bits = 0, at = 0;
    for (unsigned s = 0; s < FAST_STREAMS; s++)
        bits += mldfi_fast_entries(&w->f->grid, s) * w->entry_bits[s];
    mldf_status status = mldfi_buffer_resize(&w->index, (size_t)(bits / 8 + 16), err);
    if (status < 0)
        return status;
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
