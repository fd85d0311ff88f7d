/* Makes tests/data/video/av1_l1t3.ivf: AV1 with three temporal layers (L1T3), which neither ffmpeg nor aomenc writes. Of four frames the first is in layer 0, the
 * third in layer 1, the second and fourth in layer 2 and no reference; a key frame every 20.
 *
 *     cc -O2 tests/data/make_av1_layers.c -o /tmp/layers -laom        (Debian: libaom-dev)
 *     ffmpeg -f lavfi -i testsrc2=size=64x48:rate=30:duration=2 -pix_fmt yuv420p -f rawvideo - | /tmp/layers > tests/data/video/av1_l1t3.ivf */
#include <aom/aom_encoder.h>
#include <aom/aomcx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, HEIGHT = 48, KEY_EVERY = 20 };

static void put(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        putchar((int)(value >> 8 * i & 255));
}

static void check(aom_codec_err_t code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %s\n", what, aom_codec_err_to_string(code));
        exit(1);
    }
}

/* Slot 0 holds layer 0, slot 1 layer 1. */
static aom_svc_ref_frame_config_t references(int number, int *layer) {
    aom_svc_ref_frame_config_t r;
    memset(&r, 0, sizeof r);
    const int place = number % 4;
    *layer = place == 0 ? 0 : place == 2 ? 1 : 2;
    for (int i = 0; i < 7; i++)
        r.ref_idx[i] = 7;
    r.ref_idx[0] = place == 3; /* LAST */
    r.ref_idx[1] = place != 3; /* LAST2: only slots that are named here can be refreshed */
    r.reference[0] = 1;
    r.refresh[0] = place == 0;
    r.refresh[1] = place == 2;
    return r;
}

int main(void) {
    aom_codec_iface_t *face = aom_codec_av1_cx();
    aom_codec_enc_cfg_t config;
    aom_codec_ctx_t codec;
    aom_image_t image;
    check(aom_codec_enc_config_default(face, &config, AOM_USAGE_REALTIME), "configuration");
    config.g_w = WIDTH, config.g_h = HEIGHT;
    config.g_timebase.num = 1, config.g_timebase.den = 30;
    config.g_lag_in_frames = 0, config.g_error_resilient = 0;
    config.rc_end_usage = AOM_CBR, config.rc_target_bitrate = 400;
    config.kf_mode = AOM_KF_DISABLED;
    check(aom_codec_enc_init(&codec, face, &config, 0), "encoder");
    check(aom_codec_control(&codec, AOME_SET_CPUUSED, 8), "speed");
    aom_svc_params_t svc = {.number_spatial_layers = 1, .number_temporal_layers = 3, .framerate_factor = {4, 2, 1}};
    const int rates[] = {200, 300, 400};
    svc.scaling_factor_num[0] = svc.scaling_factor_den[0] = 1;
    for (int i = 0; i < 3; i++)
        svc.max_quantizers[i] = 40, svc.min_quantizers[i] = 2, svc.layer_target_bitrate[i] = rates[i];
    check(aom_codec_control(&codec, AV1E_SET_SVC_PARAMS, &svc), "layers");
    if (!aom_img_alloc(&image, AOM_IMG_FMT_I420, WIDTH, HEIGHT, 1))
        return 1;
    printf("DKIF");
    put(0, 2), put(32, 2);
    printf("AV01");
    put(WIDTH, 2), put(HEIGHT, 2), put(30, 4), put(1, 4), put(60, 4), put(0, 4);
    for (int number = 0;; number++) {
        for (int plane = 0; plane < 3; plane++)
            for (int y = 0; y < HEIGHT >> (plane > 0); y++)
                if (fread(image.planes[plane] + y * image.stride[plane], 1, WIDTH >> (plane > 0), stdin) == 0)
                    return aom_codec_destroy(&codec);
        aom_svc_layer_id_t id = {0, 0};
        aom_svc_ref_frame_config_t r = references(number % KEY_EVERY, &id.temporal_layer_id);
        check(aom_codec_control(&codec, AV1E_SET_SVC_LAYER_ID, &id), "layer");
        check(aom_codec_control(&codec, AV1E_SET_SVC_REF_FRAME_CONFIG, &r), "references");
        check(aom_codec_encode(&codec, &image, number, 1, number % KEY_EVERY == 0 ? AOM_EFLAG_FORCE_KF : 0), "encode");
        const aom_codec_cx_pkt_t *packet;
        for (aom_codec_iter_t at = NULL; (packet = aom_codec_get_cx_data(&codec, &at)) != NULL;) {
            if (packet->kind != AOM_CODEC_CX_FRAME_PKT)
                continue;
            put(packet->data.frame.sz, 4), put((uint64_t)packet->data.frame.pts, 8);
            fwrite(packet->data.frame.buf, 1, packet->data.frame.sz, stdout);
        }
    }
}
