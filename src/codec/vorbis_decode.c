/* Vorbis packets decoded by libvorbis, to float; channels in the order of WAV files. A packet gives half of its block and half of the one before, so
 * the first of a run gives nothing and puts the next one right. */
#include "codec/ogg.h"
#include "util/error.h"

bool mldfi_vorbis_headers(const uint8_t *extra, size_t bytes, struct vorbis_headers *out) {
    size_t at = 1, sum = 0;
    if (bytes < 3 || extra[0] != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        size_t length = 0;
        uint8_t byte;
        do {
            if (at == bytes)
                return false;
            length += byte = extra[at++];
        } while (byte == 255);
        out->bytes[i] = length;
        sum += length;
    }
    if (sum > bytes - at)
        return false;
    out->bytes[2] = bytes - at - sum;
    out->data[0] = extra + at;
    out->data[1] = out->data[0] + out->bytes[0];
    out->data[2] = out->data[1] + out->bytes[1];
    return true;
}

#if defined(MLDF_HAVE_VORBIS)

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <vorbis/codec.h>

#include "util/buffer.h"

struct vorbis_sizes {
    vorbis_info info;
    vorbis_comment comment;
};

static ogg_packet packet_of(const uint8_t *data, size_t bytes, bool first) {
    ogg_packet p;
    memset(&p, 0, sizeof p);
    p.packet = (unsigned char *)(uintptr_t)data; /* it is only read */
    p.bytes = (long)bytes;
    p.b_o_s = first;
    p.granulepos = -1;
    return p;
}

/* comments: those of the stream too; a decoder needs some, but not these. */
static mldf_status read_headers(struct vorbis_sizes *s, const uint8_t *extra, size_t bytes, bool comments,
                                mldf_error *err) {
    static const uint8_t no_comments[] = "\3vorbis\0\0\0\0\0\0\0\0\1";
    struct vorbis_headers headers;
    if (!mldfi_vorbis_headers(extra, bytes, &headers))
        return mldfi_fail(err, MLDF_E_CORRUPT, "Vorbis: its three headers are not in %zu bytes", bytes);
    if (!comments) {
        headers.data[1] = no_comments;
        headers.bytes[1] = sizeof no_comments - 1;
    }
    for (int i = 0; i < 3; i++) {
        ogg_packet p = packet_of(headers.data[i], headers.bytes[i], i == 0);
        if (vorbis_synthesis_headerin(&s->info, &s->comment, &p) != 0)
            return mldfi_fail(err, MLDF_E_CORRUPT, "Vorbis: libvorbis refuses header %d of %zu bytes", i + 1,
                              headers.bytes[i]);
    }
    return MLDF_OK;
}

mldf_status mldfi_vorbis_sizes_new(const uint8_t *extra, size_t bytes, struct vorbis_sizes **out, mldf_error *err) {
    struct vorbis_sizes *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    vorbis_info_init(&s->info);
    vorbis_comment_init(&s->comment);
    mldf_status status = read_headers(s, extra, bytes, true, err);
    if (status < 0) {
        mldfi_vorbis_sizes_free(s);
        return status;
    }
    *out = s;
    return MLDF_OK;
}

uint32_t mldfi_vorbis_block(struct vorbis_sizes *sizes, const uint8_t *packet, size_t bytes) {
    ogg_packet p = packet_of(packet, bytes, false);
    long size = vorbis_packet_blocksize(&sizes->info, &p);
    return size > 0 ? (uint32_t)size : 0;
}

void mldfi_vorbis_sizes_free(struct vorbis_sizes *sizes) {
    if (!sizes)
        return;
    vorbis_comment_clear(&sizes->comment);
    vorbis_info_clear(&sizes->info);
    free(sizes);
}

struct vorbis {
    struct vorbis_sizes headers;
    vorbis_dsp_state dsp;
    vorbis_block block;
    bool ready;
    mldf_buffer pcm; /* [channels][samples] */
};

static void close_decoder(void *decoder) {
    struct vorbis *v = decoder;
    if (v->ready) {
        vorbis_block_clear(&v->block);
        vorbis_dsp_clear(&v->dsp);
    }
    vorbis_comment_clear(&v->headers.comment);
    vorbis_info_clear(&v->headers.info);
    mldf_buffer_free(&v->pcm);
    free(v);
}

static mldf_status open_decoder(const struct audio_setup *setup, void **out, mldf_error *err) {
    struct vorbis *v = mldfi_alloc_zero(1, sizeof *v, err);
    if (!v)
        return MLDF_E_MEMORY;
    vorbis_info_init(&v->headers.info);
    vorbis_comment_init(&v->headers.comment);
    mldf_status status = read_headers(&v->headers, setup->extra, setup->extra_bytes, false, err);
    const vorbis_info *info = &v->headers.info;
    if (status == MLDF_OK && ((uint32_t)info->channels != setup->info.channels || info->rate != (long)setup->info.rate))
        status = mldfi_fail(err, MLDF_E_CORRUPT,
                            "Vorbis: %d channels and %ld Hz, and the record says %" PRIu32 " and %" PRIu32,
                            info->channels, info->rate, setup->info.channels, setup->info.rate);
    if (status == MLDF_OK && vorbis_synthesis_init(&v->dsp, &v->headers.info) != 0)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "Vorbis: libvorbis cannot decode with these headers");
    if (status == MLDF_OK) {
        vorbis_block_init(&v->dsp, &v->block);
        v->ready = true;
        *out = v;
    } else {
        close_decoder(v);
    }
    return status;
}

static mldf_status begin(void *decoder, mldf_error *err) {
    struct vorbis *v = decoder;
    return vorbis_synthesis_restart(&v->dsp) == 0 ? MLDF_OK : mldfi_fail(err, MLDF_E_STATE, "Vorbis: no restart");
}

static mldf_status decode(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out,
                          mldf_error *err) {
    struct vorbis *v = decoder;
    ogg_packet p = packet_of(packet, bytes, false);
    float **planes;
    size_t channels = (size_t)v->headers.info.channels;
    const uint8_t *order = mldfi_vorbis_order((uint32_t)channels);
    if (vorbis_synthesis(&v->block, &p) != 0 || vorbis_synthesis_blockin(&v->dsp, &v->block) != 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "Vorbis: the packet is damaged");
    int got = vorbis_synthesis_pcmout(&v->dsp, &planes);
    size_t n = got > 0 ? (size_t)got : 0;
    TRY(mldfi_buffer_resize(&v->pcm, n * channels * sizeof(float) + 1, err));
    float *to = (float *)(void *)v->pcm.data;
    for (size_t c = 0; c < channels && n; c++)
        memcpy(to + c * n, planes[order ? order[c] : c], n * sizeof *to);
    vorbis_synthesis_read(&v->dsp, got);
    *out = (struct audio_block){to, n, 1, (uint32_t)n};
    return MLDF_OK;
}

/* Titles and names differ from file to file; what decodes them, from encoder to encoder. */
static bool same(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes) {
    struct vorbis_headers x, y;
    if (!mldfi_vorbis_headers(a, a_bytes, &x) || !mldfi_vorbis_headers(b, b_bytes, &y))
        return false;
    for (int i = 0; i < 3; i += 2)
        if (x.bytes[i] != y.bytes[i] || (x.bytes[i] && memcmp(x.data[i], y.data[i], x.bytes[i]) != 0))
            return false;
    return true;
}

/* "Xiph.Org libVorbis 1.3.7" */
static const char *version(void) {
    return vorbis_version_string();
}

const struct audio_decoder mldfi_decoder_vorbis = {
    .name = "libvorbis",
    .open = open_decoder,
    .begin = begin,
    .decode = decode,
    .close = close_decoder,
    .same = same,
    .version = version,
};

#else

mldf_status mldfi_vorbis_sizes_new(const uint8_t *extra, size_t bytes, struct vorbis_sizes **out, mldf_error *err) {
    (void)extra, (void)bytes, (void)out;
    return mldfi_fail(
        err, MLDF_E_UNSUPPORTED,
        "this mldf was built without libvorbis, which Vorbis needs: install libvorbis-dev and build again");
}

uint32_t mldfi_vorbis_block(struct vorbis_sizes *sizes, const uint8_t *packet, size_t bytes) {
    (void)sizes, (void)packet, (void)bytes;
    return 0;
}

void mldfi_vorbis_sizes_free(struct vorbis_sizes *sizes) {
    (void)sizes;
}

#endif
