/* run_op: operations on raw values, for tests that state in another language what they should give.
 *
 *     run_op "solarize(128, p=1)" u8 17x23x3 SEED EPOCH POSITION <in >out
 *     run_op "brightness(1.5) | chw(f32)" ...            several steps, one after the other
 *
 * Input: the elements, C order. Output: one line "u8 17x23x3 planar" (dims "-" for a number; "planar" only when it is), then the
 * elements. Options, in front:
 *     --array         an array, not an image (images have three dims)
 *     --planar        the image is C x H x W
 *     --role WORD     mask, boxes or points
 *     --frame WxH     size that a draw sees; an image's own otherwise
 *     --inputs N      N values of that type one behind the other, for operations of several inputs
 *     --sample N      the sample's index in the dataset; POSITION otherwise. Of a pair's other side: N ^ 1
 *     --pair          two values, of POSITION and POSITION ^ 1: both come out, for operations on pairs
 *     --null          the value is null until a step fill
 *     --draw          also writes the draws of the steps to stderr as hexadecimal
 * The random numbers are those of the stream "run_op/NAME/K/0", K counting the steps of that name. Exit code 1: refused; the message
 * is on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/resize.h"
#include "pipeline/null.h"
#include "pipeline/pipeline.h"

enum { STEPS = 16, INPUTS = 16 };

struct run {
    struct edge edge;
    struct frame frame;
    bool framed, sampled, pair, show, null;
    size_t inputs;
    uint64_t seed, epoch, position;
    struct op_work work;
    mldf_buffer room[2][INPUTS]; /* this step's values, the next one's */
    struct tensor value[INPUTS]; /* with --pair: 0 and 1 */
    size_t count;
};

static void die(const char *what, const mldf_error *err) {
    fprintf(stderr, "run_op: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
    exit(1);
}

static void parse_dims(const char *text, struct edge *e) {
    e->ndim = 0;
    if (strcmp(text, "-") == 0)
        return;
    while (*text) {
        char *end;
        if (e->ndim == MLDF_MAX_DIMS)
            die("too many dims", NULL);
        e->most[e->ndim] = strtoull(text, &end, 10);
        e->dims[e->ndim] = (int64_t)e->most[e->ndim];
        if (end == text || (*end && *end != 'x'))
            die("dims look like 17x23x3", NULL);
        e->ndim++;
        text = *end ? end + 1 : end;
    }
}

static void read_values(struct run *r) {
    mldf_error err;
    for (size_t i = 0; i < r->count; i++) {
        struct tensor *t = &r->value[i];
        t->dtype = r->edge.dtype;
        mldfi_set_axes(t->axes, r->edge.axes);
        t->ndim = r->edge.ndim;
        for (uint32_t d = 0; d < t->ndim; d++)
            t->dims[d] = (uint64_t)r->edge.dims[d];
        if (mldf_buffer_reserve(&r->room[0][i], mldfi_tensor_bytes(t) + 1, &err))
            die("no memory", &err);
        t->data = r->room[0][i].data;
        if (fread(t->data, 1, mldfi_tensor_bytes(t), stdin) != mldfi_tensor_bytes(t))
            die("the input is too short", NULL);
    }
}

static void make_draw(const struct run *r, const struct op *op, unsigned times, uint64_t side, void *draw,
                      struct frame *next) {
    char name[128];
    struct frame frame = r->frame;
    struct rng rng;
    mldf_error err;
    int n = snprintf(name, sizeof name, "run_op/%s/%u/0", op->type->name, times);
    memset(draw, 0, OP_DRAW_BYTES);
    frame.sample ^= side;
    *next = r->frame;
    if (!op->type->draw)
        return;
    mldfi_rng_begin(&rng, r->seed, r->epoch, r->position ^ side, mldfi_rng_stream(name, (size_t)n));
    if (op->type->draw(op, &rng, &frame, draw, next, &err))
        die("draw", &err);
    for (uint32_t i = 0; r->show && i < op->type->draw_bytes; i++)
        fprintf(stderr, "%02x%s", ((uint8_t *)draw)[i], i + 1 == op->type->draw_bytes ? "\n" : "");
}

/* Memory of the next value, whose shape is set. */
static void make_room(struct run *r, size_t turn, size_t i, struct tensor *out) {
    mldf_error err;
    if (mldf_buffer_reserve(&r->room[turn][i], mldfi_tensor_bytes(out) + 1, &err))
        die("no memory", &err);
    out->data = r->room[turn][i].data;
}

static void begin_out(const struct op *op, const struct tensor *in, struct tensor *out) {
    *out = *in;
    out->data = NULL;
    out->dtype = op->out.dtype;
    mldfi_set_axes(out->axes, op->out.axes);
    out->ndim = op->out.ndim;
    if (in->ndim != out->ndim)
        for (uint32_t d = 0; d < out->ndim; d++)
            out->dims[d] = op->out.dims[d] < 0 ? 0 : (uint64_t)op->out.dims[d];
}

static void run_step(struct run *r, const struct op *op, unsigned times, size_t turn) {
    _Alignas(16) uint8_t draws[2][OP_DRAW_BYTES];
    struct tensor out[INPUTS];
    struct frame next[2];
    mldf_error err;
    for (size_t i = 0; i < (r->pair ? 2u : 1u); i++)
        make_draw(r, op, times, i, draws[i], &next[i]);
    if (op->type->run_many) {
        begin_out(op, &r->value[0], &out[0]);
        for (uint32_t d = 0; d < out[0].ndim; d++)
            out[0].dims[d] = (uint64_t)op->out.dims[d];
        make_room(r, turn, 0, &out[0]);
        if (op->type->run_many(op, draws[0], r->value, r->count, &out[0], &r->work, &err))
            die("run_many", &err);
        r->count = 1;
    } else {
        for (size_t i = 0; i < r->count; i++) {
            const void *draw = draws[r->pair ? i : 0];
            begin_out(op, &r->value[i], &out[i]);
            if (mldfi_op_shape(op, draw, &r->value[i], &out[i], &err))
                die("shape", &err);
            make_room(r, turn, i, &out[i]);
            if (op->type->run && op->type->run(op, draw, &r->value[i], &out[i], &r->work, &err))
                die("run", &err);
            if (!op->type->run)
                memcpy(out[i].data, r->value[i].data, mldfi_tensor_bytes(&out[i]));
        }
        if (op->type->run_pair && r->pair &&
            op->type->run_pair(op, draws[0], draws[1], &out[0], &out[1], &r->work, &err))
            die("run_pair", &err);
    }
    memcpy(r->value, out, r->count * sizeof out[0]);
    r->frame = next[0];
    uint32_t time = mldfi_time_axis(out[0].axes, out[0].ndim);
    r->frame.t = time < out[0].ndim ? out[0].dims[time] : 0;
}

static void fill_null(struct run *r, const struct op *op, size_t turn) {
    mldf_error err;
    if (mldfi_null_value(op, &r->room[turn][0], &r->value[0], &err))
        die("fill", &err);
    r->null = false;
}

static void run_text(struct run *r, char *text) {
    struct op op;
    struct edge edges[INPUTS];
    const char *names[STEPS];
    size_t count = 0;
    mldf_error err;
    for (char *step = text; step; count++) {
        char *bar = strstr(step, " | ");
        unsigned times = 0;
        if (bar)
            *bar = 0;
        if (count == STEPS)
            die("too many steps", NULL);
        if (mldfi_op_from_text(step, &r->edge, &op, &err))
            die("step", &err);
        if (op.type->infer_many) {
            for (size_t i = 0; i < r->count; i++)
                edges[i] = r->edge;
            if (op.type->infer_many(&op, edges, r->count, &op.out, &err))
                die("step", &err);
        }
        names[count] = op.type->name;
        for (size_t i = 0; i < count; i++)
            times += strcmp(names[i], op.type->name) == 0;
        if (!r->null)
            run_step(r, &op, times, (count + 1) % 2);
        else if (op.type == &mldfi_op_null)
            fill_null(r, &op, (count + 1) % 2);
        r->edge = op.out;
        mldfi_op_free(&op);
        step = bar ? bar + 3 : NULL;
    }
}

static void write_values(const struct run *r) {
    for (size_t i = 0; i < r->count; i++) {
        const struct tensor *t = &r->value[i];
        printf("%s ", mldfi_dtype_short(t->dtype));
        for (uint32_t d = 0; d < t->ndim; d++)
            printf("%s%llu", d ? "x" : "", (unsigned long long)t->dims[d]);
        printf("%s%s\n", t->ndim ? "" : "-", mldfi_planar(t->axes) ? " planar" : "");
        fwrite(t->data, 1, mldfi_tensor_bytes(t), stdout);
    }
}

static int options(struct run *r, int argc, char **argv, bool *array) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--array") == 0) {
            *array = true;
        } else if (strcmp(argv[i], "--planar") == 0) {
            mldfi_set_axes(r->edge.axes, "chw");
        } else if (strcmp(argv[i], "--draw") == 0) {
            r->show = true;
        } else if (strcmp(argv[i], "--null") == 0) {
            r->null = true;
        } else if (strcmp(argv[i], "--pair") == 0) {
            r->pair = true;
            r->count = 2;
        } else if (strcmp(argv[i], "--role") == 0) {
            r->edge.role = strcmp(value, "mask") == 0     ? ROLE_MASK
                           : strcmp(value, "boxes") == 0  ? ROLE_BOXES
                           : strcmp(value, "points") == 0 ? ROLE_POINTS
                           : strcmp(value, "flow") == 0   ? ROLE_FLOW
                                                          : ROLE_NONE;
            i++;
        } else if (strcmp(argv[i], "--frame") == 0) {
            r->framed = sscanf(value, "%ux%u", &r->frame.width, &r->frame.height) == 2;
            i++;
        } else if (strcmp(argv[i], "--sample") == 0) {
            r->frame.sample = strtoull(value, NULL, 10);
            r->sampled = true;
            i++;
        } else if (strcmp(argv[i], "--inputs") == 0) {
            r->count = strtoul(value, NULL, 10);
            i++;
        } else {
            die("unknown option", NULL);
        }
    }
    return i;
}

int main(int argc, char **argv) {
    static struct run r;
    bool array = false;
    r.count = 1;
    int at = options(&r, argc, argv, &array);
    if (argc - at != 6 || r.count == 0 || r.count > INPUTS)
        die("run_op [options] TEXT DTYPE DIMS SEED EPOCH POSITION <in >out", NULL);
    r.edge.kind = array ? VALUE_ARRAY : VALUE_IMAGE;
    if (!array && !r.edge.axes[0])
        mldfi_set_axes(r.edge.axes, "hwc");
    if (!array && r.edge.role == ROLE_NONE)
        r.edge.role = ROLE_IMAGE;
    r.edge.dtype = mldfi_dtype_word(argv[at + 1], strlen(argv[at + 1]));
    if (r.edge.dtype == MLDF_DTYPE_NONE)
        die("unknown dtype", NULL);
    parse_dims(argv[at + 2], &r.edge);
    if (!array && r.edge.ndim != 3)
        die("an image has three dims", NULL);
    r.seed = strtoull(argv[at + 3], NULL, 10);
    r.epoch = strtoull(argv[at + 4], NULL, 10);
    r.position = strtoull(argv[at + 5], NULL, 10);
    if (!r.sampled)
        r.frame.sample = r.position;
    r.work.kernels = mldfi_kernels_best();
    if (mldfi_resize_work_new(&r.work.resize, NULL))
        die("no memory", NULL);
    read_values(&r);
    if (!array && !r.framed) {
        r.frame.width = (uint32_t)mldfi_tensor_width(&r.value[0]);
        r.frame.height = (uint32_t)mldfi_tensor_height(&r.value[0]);
    }
    uint32_t time = mldfi_time_axis(r.value[0].axes, r.value[0].ndim);
    if (!r.framed && time < r.value[0].ndim)
        r.frame.t = r.value[0].dims[time];
    run_text(&r, argv[at]);
    write_values(&r);
    for (size_t i = 0; i < INPUTS; i++) {
        mldf_buffer_free(&r.room[0][i]);
        mldf_buffer_free(&r.room[1][i]);
    }
    for (size_t i = 0; i < 3; i++)
        mldf_buffer_free(&r.work.scratch[i]);
    mldfi_resize_work_free(r.work.resize);
    return 0;
}
