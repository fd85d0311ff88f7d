/* Ogg pages (RFC 3533): packets out of them (ogg_demux.c) and into them (ogg_write.c). */
#ifndef MLDF_CODEC_OGG_H
#define MLDF_CODEC_OGG_H

#include "codec/audio_stream.h"

/* The CRC of a page, whose own four bytes count as zeros. */
uint32_t mldfi_ogg_crc(const uint8_t *page, size_t bytes);

/* Pages that are written one packet after the other. Begins as {out}. */
struct ogg_writer {
    mldf_buffer *out;
    mldf_buffer body;
    uint8_t lacing[255];
    size_t segments;
    uint32_t sequence;
    uint64_t granule; /* of the last packet that ends on the page */
    bool begun;
};
/* end: the page ends with this packet; last: the stream does. */
mldf_status mldfi_ogg_put(struct ogg_writer *w, const void *packet, size_t bytes, uint64_t granule, bool end, bool last,
                          mldf_error *err);

/* Samples at 48000 Hz of an Opus packet; 0: it is none. */
uint32_t mldfi_opus_samples(const uint8_t *packet, size_t bytes);
/* Vorbis: samples that a packet overlaps with, its block size; MLDF_E_CORRUPT. headers: as mldfi_vorbis_headers gives them. */
struct vorbis_sizes;
mldf_status mldfi_vorbis_sizes_new(const uint8_t *extra, size_t bytes, struct vorbis_sizes **out, mldf_error *err);
uint32_t mldfi_vorbis_block(struct vorbis_sizes *sizes, const uint8_t *packet, size_t bytes);
void mldfi_vorbis_sizes_free(struct vorbis_sizes *sizes);
/* Vorbis' extra data: the three headers in it. False: they are not there. */
struct vorbis_headers {
    const uint8_t *data[3];
    size_t bytes[3];
};
bool mldfi_vorbis_headers(const uint8_t *extra, size_t bytes, struct vorbis_headers *out);

/* Channels of Vorbis and Opus in the order of WAV files: out channel c is the codec's channel order[c]. */
const uint8_t *mldfi_vorbis_order(uint32_t channels);

#endif
