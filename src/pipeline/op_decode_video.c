/* decode_video: a stored video becomes frames. It is the first step of every video's chain, written or not; source_video.c does the work, together with
 * the clip, the crops and the resize that follow. */
#include "field/video_source.h"
#include "pipeline/decode.h"
#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { EXACT, CHANNELS, BITS, MATRIX };
static const char *const matrices[] = {"bt601", "auto", "bt709", NULL};
static const struct op_param params[] = {
    {"exact", PARAM_BOOL, "false", 0, 0, NULL, 0, 0,
     "never decode JPEG frames at 1/2, 1/4 or 1/8 of their size before a resize"},
    {"channels", PARAM_INT, "0", 0, 4, NULL, 0, 0, "1 gray, 3 RGB, 4 RGB + alpha; 0: as stored"},
    {"bits", PARAM_INT, "0", 0, 16, NULL, 0, 0, "8 or 16; 0: as stored"},
    {"matrix", PARAM_CHOICE, "bt601", 0, 0, matrices, 0, 0,
     "the colours of a compressed video that does not say which: BT.601, BT.709, or auto, which is BT.709 from 720 lines on"},
    OP_END_OF_PARAMS,
};

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    int64_t channels = op->args[CHANNELS].i, bits = op->args[BITS].i;
    if (in->kind != VALUE_ENCODED || in->family != FAMILY_VIDEO || !in->video)
        return mldfi_edge_refuse(op, in, "a stored video", err);
    if (channels == 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "decode_video: channels must be 0, 1, 3 or 4, not 2");
    if (bits != 0 && bits != 8 && bits != 16)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "decode_video: bits must be 0, 8 or 16, not %d", (int)bits);
    struct decode_state *s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    *out = *in;
    out->kind = VALUE_IMAGE;
    if (channels == 0)
        channels = in->dims[3] == DIM_VARIES ? 3 : in->dims[3];
    if (bits == 0)
        bits = in->dtype == MLDF_U16 ? 16 : 8;
    s->exact = op->args[EXACT].i != 0;
    s->channels = channels == 2 ? 0 : (int)channels;
    s->bits = (int)bits;
    s->matrix = (int)op->args[MATRIX].i;
    mldfi_edge_fix(out, 3, channels);
    out->dtype = bits == 16 ? MLDF_U16 : MLDF_U8;
    return MLDF_OK;
}

static const struct op_type op_decode_video = {
    .name = "decode_video",
    .help = "a stored video becomes frames: (t, h, w, c)",
    .params = params,
    .quiet = "matrix",
    .decodes = FAMILY_VIDEO,
    .infer = infer,
};

const struct op_type *const mldfi_ops_decode_video[] = {&op_decode_video, NULL};
