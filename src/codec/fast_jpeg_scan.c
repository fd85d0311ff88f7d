/* The scan of a baseline JPEG from its coefficients, with the file's own Huffman codes and restart interval: the bytes that the common encoders
 * write, so that a packed file comes back as it was. Also the file's header without its quantisers, which the record keeps apart.
 *
 * Source: ITU-T T.81 annexes B, C and F. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "util/buffer.h"
#include "util/error.h"

enum { SOF0 = 0xc0, SOF1 = 0xc1, DHT = 0xc4, SOS = 0xda, DQT = 0xdb, DRI = 0xdd, RST0 = 0xd0 };

struct huffman {
    uint16_t word[256];
    uint8_t length[256]; /* 0: the file has no such symbol */
};

struct fast_scan {
    const struct fast_grid *grid;
    mldf_buffer *out;
    struct huffman dc[4], ac[4];
    uint8_t dc_of[3], ac_of[3]; /* by component */
    unsigned interval;          /* MCUs between restarts; 0: none */
    unsigned left, restart;
    int last[3];
    uint64_t word; /* bits to be written, the next one highest among `count` */
    unsigned count;
    uint8_t place_of[64]; /* zigzag rank → place in the record's order */
    uint64_t turn[8][256];
};

static mldf_status bad(mldf_error *err, const char *what) {
    return mldfi_fail(err, MLDF_E_CORRUPT, "fast JPEG: the file's header has %s", what);
}

/* ---- Header --------------------------------------------------------------------------------------------------------------- */

static mldf_status take_huffman(struct fast_scan *s, const struct jpeg_segment *m, mldf_error *err) {
    const uint8_t *p = m->body, *end = m->body + m->body_bytes;
    while (p < end) {
        if (end - p < 17)
            return bad(err, "a Huffman table that is cut off");
        unsigned class = *p >> 4, id = *p & 15, total = 0, word = 0, at = 0;
        for (unsigned i = 1; i <= 16; i++)
            total += p[i];
        if (class > 1 || id > 3 || total > 256 || (size_t)(end - p) < 17 + total)
            return bad(err, "a Huffman table that is none");
        struct huffman *h = class ? &s->ac[id] : &s->dc[id];
        memset(h, 0, sizeof *h);
        for (unsigned length = 1; length <= 16; length++, word <<= 1)
            for (unsigned i = 0; i < p[length]; i++, at++, word++) {
                if (word >> length)
                    return bad(err, "a Huffman table with more words than there are");
                h->word[p[17 + at]] = (uint16_t)word;
                h->length[p[17 + at]] = (uint8_t)length;
            }
        p += 17 + total;
    }
    return MLDF_OK;
}

/* The frame must be the one that the record describes. */
static mldf_status take_frame(const struct fast_grid *g, const struct jpeg_segment *m, uint8_t *ids, mldf_error *err) {
    if (m->body_bytes < 6 + 3 * (size_t)g->components || m->body[5] != g->components)
        return bad(err, "a frame of another number of components");
    if (mldfi_be16(m->body + 1) != g->height || mldfi_be16(m->body + 3) != g->width)
        return bad(err, "a frame of another size");
    for (unsigned i = 0; i < g->components; i++) {
        ids[i] = m->body[6 + 3 * i];
        if (g->components == 3 && m->body[7 + 3 * i] != (i ? 0x11 : g->h << 4 | g->v))
            return bad(err, "a frame of another sampling");
    }
    return MLDF_OK;
}

static mldf_status take_scan(struct fast_scan *s, const struct jpeg_segment *m, const uint8_t *ids, mldf_error *err) {
    unsigned n = s->grid->components;
    if (m->body_bytes != 4 + 2 * (size_t)n || m->body[0] != n)
        return bad(err, "a scan of another number of components");
    for (unsigned i = 0; i < n; i++) {
        unsigned codes = m->body[2 + 2 * i];
        if (m->body[1 + 2 * i] != ids[i] || codes >> 4 > 3 || (codes & 15) > 3)
            return bad(err, "a scan of other components than the frame");
        s->dc_of[i] = (uint8_t)(codes >> 4);
        s->ac_of[i] = codes & 15;
    }
    return MLDF_OK;
}

static mldf_status take_header(struct fast_scan *s, const uint8_t *data, size_t bytes, mldf_error *err) {
    struct jpeg_segment m;
    uint8_t ids[3] = {0};
    bool frame = false;
    size_t at = 2;
    mldf_status status;
    while ((status = mldfi_jpeg_next(data, bytes, &at, &m, err)) == MLDF_OK) {
        if (m.marker == DHT && (status = take_huffman(s, &m, err)) < 0)
            return status;
        if (m.marker == DRI && m.body_bytes >= 2)
            s->interval = mldfi_be16(m.body);
        if (m.marker != SOF0 && m.marker != SOF1)
            continue;
        if ((status = take_frame(s->grid, &m, ids, err)) < 0)
            return status;
        frame = true;
    }
    if (status < 0)
        return status;
    if (!frame || at != bytes)
        return bad(err, frame ? "bytes that follow its scan" : "no baseline frame");
    return take_scan(s, &m, ids, err);
}

/* A word of places, in the record's order, becomes one in zigzag order: the sum of what its bytes become. */
static void make_turns(struct fast_scan *s) {
    uint8_t rank[64];
    for (unsigned k = 0; k < 64; k++)
        for (unsigned i = 0; i < 64; i++)
            if (mldfi_fast_scan[i] == mldfi_fast_zigzag[k]) {
                rank[i] = (uint8_t)k;
                s->place_of[k] = (uint8_t)i;
            }
    for (unsigned byte = 0; byte < 8; byte++)
        for (unsigned v = 1; v < 256; v++)
            s->turn[byte][v] = s->turn[byte][v & (v - 1)] | UINT64_C(1) << rank[8 * byte + (unsigned)__builtin_ctz(v)];
}

mldf_status mldfi_fast_scan_new(const uint8_t *header, size_t bytes, const struct fast_grid *grid, mldf_buffer *out,
                                struct fast_scan **scan, mldf_error *err) {
    struct fast_scan *s = mldfi_alloc_zero(1, sizeof *s, err);
    *scan = s;
    if (!s)
        return MLDF_E_MEMORY;
    s->grid = grid;
    s->out = out;
    make_turns(s);
    mldf_status status = take_header(s, header, bytes, err);
    s->left = s->interval;
    if (status < 0) {
        mldfi_fast_scan_free(s);
        *scan = NULL;
    }
    return status;
}

void mldfi_fast_scan_free(struct fast_scan *scan) {
    free(scan);
}

/* ---- Bits ----------------------------------------------------------------------------------------------------------------- */

/* Whole bytes go out; a byte 0xff is followed by 0. `out` has room. */
static uint8_t *drain(struct fast_scan *s, uint8_t *to) {
    while (s->count >= 8) {
        uint8_t byte = (uint8_t)(s->word >> (s->count - 8));
        *to++ = byte;
        if (byte == 0xff)
            *to++ = 0;
        s->count -= 8;
    }
    return to;
}

/* A word of 16 bits at most with its mantissa of 16 at most. Less than 32 bits wait before and after it. `to` has room for 16 bytes. */
static inline uint8_t *put(struct fast_scan *s, uint8_t *to, uint32_t bits, unsigned count) {
    s->word = s->word << count | bits;
    s->count += count;
    if (s->count < 32)
        return to;
    const uint32_t next = (uint32_t)(s->word >> (s->count - 32)), inverse = ~next;
    if ((inverse - 0x01010101u) & next & 0x80808080u) /* a byte may be 0xff */
        return drain(s, to);
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(next >> (24 - 8 * i));
    s->count -= 32;
    return to + 4;
}

static uint32_t mantissa(int value, unsigned size) {
    return (uint32_t)(value < 0 ? value - 1 : value) & ((1u << size) - 1);
}

static uint8_t *fill(struct fast_scan *s, uint8_t *to) {
    unsigned pad = (8 - s->count % 8) % 8;
    s->word = s->word << pad | ((1u << pad) - 1);
    s->count += pad;
    return drain(s, to);
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------------------- */

/* 64 symbols of 16 + 16 bits, each byte perhaps doubled, and what was waiting. */
enum { BLOCK_ROOM = 64 * 8 + 32 };

static inline uint64_t turn(const struct fast_scan *s, uint64_t places) {
    uint64_t out = 0;
    for (unsigned byte = 0; byte < 8; byte++)
        out |= s->turn[byte][places >> (8 * byte) & 255];
    return out;
}

/* NULL: the file's codes lack a symbol that the block needs. places: those that are not zero; the DC's does not matter. */
static uint8_t *put_block(struct fast_scan *s, unsigned component, const int16_t *b, uint64_t places, uint8_t *to) {
    const struct huffman *dc = &s->dc[s->dc_of[component]], *ac = &s->ac[s->ac_of[component]];
    int difference = b[0] - s->last[component];
    unsigned size = mldfi_fast_size(difference), next = 1;
    s->last[component] = b[0];
    if (size > 16 || !dc->length[size])
        return NULL;
    to = put(s, to, (uint32_t)dc->word[size] << size | mantissa(difference, size), dc->length[size] + size);
    for (uint64_t left = turn(s, places) & ~UINT64_C(1); left; left &= left - 1) {
        unsigned k = (unsigned)__builtin_ctzll(left), run = k - next;
        int v = b[s->place_of[k]];
        for (; run > 15; run -= 16) {
            if (!ac->length[0xf0])
                return NULL;
            to = put(s, to, ac->word[0xf0], ac->length[0xf0]);
        }
        size = mldfi_fast_size(v);
        unsigned symbol = run << 4 | size;
        if (size > 15 || !ac->length[symbol])
            return NULL;
        to = put(s, to, (uint32_t)ac->word[symbol] << size | mantissa(v, size), ac->length[symbol] + size);
        next = k + 1;
    }
    if (next == 64)
        return to;
    return ac->length[0] ? put(s, to, ac->word[0], ac->length[0]) : NULL;
}

static uint8_t *restart(struct fast_scan *s, uint8_t *to) {
    to = fill(s, to);
    *to++ = 0xff;
    *to++ = (uint8_t)(RST0 + s->restart);
    s->restart = (s->restart + 1) & 7;
    s->left = s->interval;
    memset(s->last, 0, sizeof s->last);
    return to;
}

mldf_status mldfi_fast_scan_row(struct fast_scan *s, int16_t *const blocks[2], uint64_t *const places[2],
                                mldf_error *err) {
    const struct fast_grid *g = s->grid;
    const unsigned all = g->blocks[0] + (g->classes > 1 ? g->blocks[1] : 0);
    for (uint32_t x = 0; x < g->mcus_across; x++) {
        uint8_t *start, *to;
        TRY(mldfi_buffer_extend(s->out, (size_t)all * BLOCK_ROOM + 32, &start, err));
        to = start;
        if (s->interval && s->left == 0)
            to = restart(s, to);
        s->left--;
        for (unsigned i = 0; i < all && to; i++) {
            unsigned class = i >= g->blocks[0], n = class ? i - g->blocks[0] : i;
            /* In the file an MCU's blocks go right, then down. */
            unsigned at = class ? n : n % g->h * g->v + n / g->h;
            const size_t block = (size_t)x * g->blocks[class] + at;
            to = put_block(s, class ? 1 + n : 0, blocks[class] + block * 64, places[class][block], to);
        }
        if (!to) {
            s->out->size -= (size_t)all * BLOCK_ROOM + 32;
            return bad(err, "no Huffman code for a symbol that its coefficients need");
        }
        s->out->size = (size_t)(to - s->out->data);
    }
    return MLDF_OK;
}

mldf_status mldfi_fast_scan_end(struct fast_scan *s, mldf_error *err) {
    uint8_t *to;
    mldf_status status = mldfi_buffer_extend(s->out, 32, &to, err);
    if (status == MLDF_OK)
        s->out->size = (size_t)(fill(s, to) - s->out->data);
    return status;
}

/* ---- Quantisers ------------------------------------------------------------------------------------------------------------ */

/* The record has the quantisers that decoding needs. In the header, the 64 bytes of such a table are left out, and the byte before them, precision
 * and number, becomes 0x80 | quantiser << 4 | number. */
enum { TAKEN = 0x80 };

mldf_status mldfi_fast_header_out(const struct fast_source *source, const uint8_t *jpeg, mldf_buffer *out,
                                  mldf_error *err) {
    struct jpeg_segment m;
    size_t at = 2, done = 0, bytes = source->header_bytes;
    mldf_status status = MLDF_OK;
    while (status == MLDF_OK && mldfi_jpeg_next(jpeg, bytes, &at, &m, err) == MLDF_OK) {
        for (size_t p = 0; m.marker == DQT && status == MLDF_OK && p + 65 <= m.body_bytes; p += 65) {
            unsigned q = 0;
            while (q < source->quantisers && memcmp(source->quantiser[q], m.body + p + 1, 64) != 0)
                q++;
            if (q == source->quantisers)
                continue;
            size_t place = (size_t)(m.body - jpeg) + p;
            uint8_t mark = (uint8_t)(TAKEN | q << 4 | (m.body[p] & 15));
            status = mldf_buffer_append(out, jpeg + done, place - done, err);
            if (status == MLDF_OK)
                status = mldf_buffer_append(out, &mark, 1, err);
            done = place + 65;
        }
    }
    return status < 0 ? status : mldf_buffer_append(out, jpeg + done, bytes - done, err);
}

/* The body of a DQT segment that had `left` bytes; *at moves on. */
static mldf_status tables_in(const struct fast_layout *l, size_t *at, size_t left, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    while (status == MLDF_OK && left > 0) {
        if (*at >= l->header_bytes || left < 65)
            return bad(err, "a quantisation table that is cut off");
        uint8_t mark = l->header[*at];
        unsigned q = mark >> 4 & 3;
        if (!(mark & TAKEN)) {
            if (l->header_bytes - *at < 65)
                return bad(err, "a quantisation table that is cut off");
            status = mldf_buffer_append(out, l->header + *at, 65, err);
            *at += 65;
        } else if (q >= l->quantisers || mark & 0x4c) {
            return bad(err, "a quantisation table that the record does not have");
        } else {
            mark &= 3;
            status = mldf_buffer_append(out, &mark, 1, err);
            if (status == MLDF_OK)
                status = mldf_buffer_append(out, l->quantiser + 64 * (size_t)q, 64, err);
            *at += 1;
        }
        left -= 65;
    }
    return status;
}

mldf_status mldfi_fast_header_in(const struct fast_layout *l, mldf_buffer *out, mldf_error *err) {
    const uint8_t *d = l->header;
    size_t at = 2, done = 0, bytes = l->header_bytes;
    mldf_status status = MLDF_OK;
    while (status == MLDF_OK) {
        while (at < bytes && d[at] == 0xff) /* the marker's own and any number of fill bytes */
            at++;
        if (bytes - at < 3 || d[at - 1] != 0xff)
            return bad(err, "a segment that is none");
        unsigned marker = d[at];
        if (marker == 0x01 || (marker >= RST0 && marker <= 0xd8)) {
            at++;
            continue;
        }
        size_t length = mldfi_be16(d + at + 1);
        at += 3;
        if (marker == SOS)
            break;
        if (length < 2 || (marker != DQT && bytes - at < length - 2))
            return bad(err, "a segment that is cut off");
        if (marker != DQT) {
            at += length - 2;
            continue;
        }
        status = mldf_buffer_append(out, d + done, at - done, err);
        if (status == MLDF_OK)
            status = tables_in(l, &at, length - 2, out, err);
        done = at;
    }
    return status < 0 ? status : mldf_buffer_append(out, d + done, bytes - done, err);
}
