/* decode: a stored image becomes pixels. It stands first in the chain of every image, written or not; how it is done, together with the
 * crops and the resize behind it, is in source_image.c. */
#include "pipeline/decode.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { EXACT, CHANNELS, ORIENT, BITS, CHROMA };
static const char *const chromas[] = {"exact", "fused", NULL};
static const struct op_param params[] = {
    {"exact", PARAM_BOOL, "false", 0, 0, NULL, 0, 0,
     "never decode a JPEG at 1/2, 1/4 or 1/8 of its size before a resize"},
    {"channels", PARAM_INT, "0", 0, 4, NULL, 0, 0,
     "1 gray, 3 RGB, 4 RGB + alpha; 0: as stored when all are alike, else 3"},
    {"orient", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "turn and mirror as the EXIF orientation says"},
    {"bits", PARAM_INT, "0", 0, 16, NULL, 0, 0, "8 or 16; 0: as stored when all are alike, else 8"},
    {"chroma", PARAM_CHOICE, "exact", 0, 0, chromas, 0, 0,
     "fused: resize the planes of a JPEG or YUV image and make colours of the result; faster, and not the same to the last bit"},
    {NULL, PARAM_INT, NULL, 0, 0, NULL, 0, 0, NULL}};

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    int64_t channels = op->args[CHANNELS].i, bits = op->args[BITS].i;
    struct decode_state *s;
    if (in->kind != VALUE_ENCODED || in->family != FAMILY_IMAGE)
        return mldfi_edge_refuse(op, in, "a stored image", err);
    if (channels == 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "decode: channels 2; 0, 1, 3 and 4 can be asked for");
    if (bits != 0 && bits != 8 && bits != 16)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "decode: bits %d; 0, 8 and 16 can be asked for", (int)bits);
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    *out = *in;
    out->kind = VALUE_IMAGE;
    if (channels == 0)
        channels = in->dims[2] == DIM_VARIES ? 3 : in->dims[2];
    if (bits == 0)
        bits = in->dtype == MLDF_U16 ? 16 : 8;
    s->exact = op->args[EXACT].i != 0;
    s->channels = channels == 2 ? 0 : (int)channels;
    s->orient = op->args[ORIENT].i != 0;
    s->bits = (int)bits;
    s->fused = op->args[CHROMA].i == 1;
    out->dims[2] = channels;
    out->most[2] = (uint64_t)channels;
    out->dtype = bits == 16 ? MLDF_U16 : MLDF_U8;
    if (s->orient && !in->upright && out->dims[0] != out->dims[1]) { /* a side may become the other */
        uint64_t most = out->most[0] > out->most[1] ? out->most[0] : out->most[1];
        out->dims[0] = out->dims[1] = DIM_VARIES;
        out->most[0] = out->most[1] = most;
    }
    return MLDF_OK;
}

static const struct op_type op_decode = {.name = "decode",
                                         .help = "a stored image becomes pixels",
                                         .params = params,
                                         .quiet = "chroma",
                                         .decodes = FAMILY_IMAGE,
                                         .infer = infer};

const struct op_type *const mldfi_ops_decode[] = {&op_decode, NULL};
