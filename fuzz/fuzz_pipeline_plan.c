/* Random pipelines on samples of every kind: an error, or the bytes that the reference plan gives, step by step on portable kernels.
 * Some values are null.
 *
 * The input is a list of choices: which outputs, which operations, which parameters with which values; so that most inputs are pipelines that
 * parse, and many of them fit. A first byte of 255 means that the rest is the text itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/audio_type.h"
#include "field/image_type.h"
#include "mldf/mldf.h"
#include "pipeline/op.h"
#include "pipeline/stage.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SAMPLES = 6, OUTPUTS_MAX = 16, TEXT_MAX = 2048, FIELDS = 9, LARGEST = 1 << 22 };

/* ---- The samples --------------------------------------------------------------------------------------------------------------- */

static const char schema_text[] =
    "{\"fields\":[{\"name\":\"image\",\"type\":\"image\"},{\"name\":\"mask\",\"type\":\"image\"},{\"name\":\"label\",\"type\":\"int\"},"
    "{\"name\":\"feat\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[5]},"
    "{\"name\":\"tokens\",\"type\":\"ndarray\",\"dtype\":\"<u2\",\"shape\":[null]},"
    "{\"name\":\"boxes\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[2,4]},{\"name\":\"text\",\"type\":\"text\"},"
    "{\"name\":\"sound\",\"type\":\"audio_waveform\"},{\"name\":\"voice\",\"type\":\"audio_waveform\"}]}";

static struct {
    bool ready;
    mldf_schema *schema;
    struct value_bounds bounds[FIELDS];
    uint8_t records[2][SAMPLES][IMAGE_RECORD];
    mldf_buffer pixels[2][SAMPLES];
    float numbers[16];
    uint16_t tokens[SAMPLES];
    uint8_t recordings[2][SAMPLES][AUDIO_RECORD]; /* of 16 bits; their numbers are `sound` */
    int16_t sound[SAMPLES * 40];
    unsigned operations; /* counting them took nine tenths of a run */
} all;

static void add_image(int which, int i, uint32_t width, uint32_t height, uint32_t channels, bool jpeg) {
    mldf_buffer raw = MLDF_BUFFER_INIT;
    size_t bytes = (size_t)width * height * channels;
    if (mldf_buffer_reserve(&raw, bytes, NULL) < 0)
        abort();
    raw.size = bytes;
    for (size_t k = 0; k < bytes; k++)
        raw.data[k] = (uint8_t)(k * 7 / 3 + (k >> 5) * (size_t)(i + 3));
    if (jpeg) {
        mldf_image_pixels p = {raw.data, width, height, channels, 8};
        if (mldf_image_encode_jpeg(&p, NULL, &all.pixels[which][i], NULL) < 0)
            abort();
        mldf_buffer_free(&raw);
    } else {
        all.pixels[which][i] = raw;
    }
    uint8_t *r = all.records[which][i];
    mldfi_store_u32(r + IMAGE_SIZE, (uint32_t)all.pixels[which][i].size);
    mldfi_store_u16(r + IMAGE_HEIGHT, (uint16_t)height);
    mldfi_store_u16(r + IMAGE_WIDTH, (uint16_t)width);
    r[IMAGE_CHANNELS] = (uint8_t)channels;
    r[IMAGE_MODE] = jpeg ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_RAW;
    r[IMAGE_BITS] = 8;
}

/* Sample i has 17 i numbers in each channel. */
static void add_recording(int which, int i, uint32_t rate, uint32_t channels) {
    uint8_t *r = all.recordings[which][i];
    uint32_t samples = (uint32_t)i * 17 / channels;
    mldfi_store_u64(r + AUDIO_SIZE, (uint64_t)samples * channels * 2);
    mldfi_store_u64(r + AUDIO_SAMPLES, samples);
    mldfi_store_u32(r + AUDIO_RATE, rate);
    mldfi_store_u16(r + AUDIO_CHANNELS, (uint16_t)channels);
    r[AUDIO_BITS] = 16;
    struct value_bounds *b = &all.bounds[7 + which];
    *b = (struct value_bounds){.known = true, .ndim = 2, .least = {0, channels}, .most = {SAMPLES * 17, channels}};
    b->audio.rates = (struct rates){rate, rate};
}

static void make_samples(void) {
    static const uint32_t sizes[SAMPLES][2] = {{1, 1}, {9, 7}, {32, 32}, {33, 20}, {64, 50}, {17, 90}};
    if (mldf_schema_parse(NULL, schema_text, sizeof schema_text - 1, &all.schema, NULL) < 0)
        abort();
    for (int i = 0; i < SAMPLES; i++) {
        add_image(0, i, sizes[i][0], sizes[i][1], 3, i % 2 == 1);
        add_image(1, i, sizes[i][0], sizes[i][1], 1, false);
        all.tokens[i] = (uint16_t)(i * 11);
        add_recording(0, i, 8000, 2);
        add_recording(1, i, 11025, 1);
    }
    for (int i = 0; i < SAMPLES * 40; i++)
        all.sound[i] = (int16_t)(i * 997);
    for (int i = 0; i < 16; i++)
        all.numbers[i] = (float)i * 0.75f - 2.0f;
    for (int k = 0; k < 2; k++)
        all.bounds[k] = (struct value_bounds){.known = true,
                                              .ndim = 3,
                                              .least = {1, 1, k ? 1 : 3},
                                              .most = {90, 64, k ? 1 : 3},
                                              .image = {8, true, false}};
    all.bounds[4] = (struct value_bounds){.known = true, .ndim = 1, .least = {0}, .most = {SAMPLES}};
    while (mldfi_op_at(all.operations))
        all.operations++;
    all.ready = true;
}

static mldf_status get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err) {
    size_t i = (size_t)(position % SAMPLES);
    (void)user, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    if (i == 2 || (i == 4 && field == 1)) {
        out->kind = MLDF_KIND_NULL;
    } else if (field < 2) {
        out->kind = MLDF_KIND_BYTES;
        out->data = all.pixels[field][i].data;
        out->bytes = all.pixels[field][i].size;
        out->record = all.records[field][i];
        out->record_bytes = IMAGE_RECORD;
    } else if (field == 2) {
        out->kind = MLDF_KIND_INT;
        out->dtype = MLDF_I64;
        out->as.i = (int64_t)i;
    } else if (field >= 7) {
        out->kind = MLDF_KIND_BYTES;
        out->record = all.recordings[field - 7][i];
        out->record_bytes = AUDIO_RECORD;
        out->bytes = mldfi_load_u64(all.recordings[field - 7][i] + AUDIO_SIZE);
        out->data = out->bytes ? all.sound : NULL;
    } else if (field == 6) {
        out->kind = MLDF_KIND_TEXT;
        out->data = "hello!";
        out->bytes = i;
    } else {
        out->kind = MLDF_KIND_ARRAY;
        out->dtype = field == 4 ? MLDF_U16 : MLDF_F32;
        out->ndim = field == 5 ? 2 : 1;
        out->dims[0] = field == 3 ? 5 : field == 4 ? i : 2;
        out->dims[1] = field == 5 ? 4 : 0;
        out->data = field == 4 ? (const void *)all.tokens : (const void *)(all.numbers + i);
        out->bytes = field == 3 ? 20 : field == 4 ? 2 * i : 32;
    }
    return MLDF_OK;
}

/* As files that are read have it: no payload with the record, and parts of it in memory that goes with the next call. */
static mldf_status get_record(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                              mldf_error *err) {
    mldf_status status = get(user, position, field, scratch, out, err);
    if (field < 2 || field >= 7)
        out->data = NULL;
    return status;
}

static mldf_status get_range(void *user, uint64_t position, size_t field, uint64_t offset, uint64_t bytes,
                             mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    mldf_status status = get(user, position, field, scratch, out, err);
    if (offset > out->bytes || bytes > out->bytes - offset)
        abort();
    scratch->size = 0;
    if (mldf_buffer_append(scratch, (const uint8_t *)out->data + offset, (size_t)bytes, NULL) < 0)
        abort();
    out->data = scratch->data;
    out->bytes = bytes;
    out->record = NULL;
    return status;
}

/* ---- Text from choices ------------------------------------------------------------------------------------------------------------- */

struct choices {
    const uint8_t *data;
    size_t size, at;
    char text[TEXT_MAX];
    size_t bytes;
};

static unsigned choose(struct choices *c, unsigned n) {
    return c->at < c->size && n ? c->data[c->at++] % n : 0;
}

static void say(struct choices *c, const char *text) {
    size_t bytes = strlen(text);
    if (c->bytes + bytes < TEXT_MAX) {
        memcpy(c->text + c->bytes, text, bytes + 1);
        c->bytes += bytes;
    }
}

static void say_number(struct choices *c, const struct op_param *p) {
    static const char *const often[] = {"0", "1", "2", "8", "24", "0.5", "0.1", "255", "-1", "3.5", "1e9", "100"};
    char text[32];
    double low = p->least, high = p->most;
    if (choose(c, 3) == 0 || low == high) {
        say(c, often[choose(c, 12)]);
        return;
    }
    if (high > low + 64)
        high = low + 64;
    double v = low + (high - low) * choose(c, 17) / 16.0;
    snprintf(text, sizeof text, p->kind == PARAM_INT || p->kind == PARAM_INTS ? "%.0f" : "%.4g",
             p->kind == PARAM_INT || p->kind == PARAM_INTS ? floor(v) : v);
    say(c, text);
}

static void say_value(struct choices *c, const struct op_param *p) {
    static const char *const types[] = {"u8", "u16", "i16", "i64", "f16", "bf16", "f32", "f64", "bool"};
    unsigned count = 0, n;
    while (p->choices && p->choices[count])
        count++;
    switch (p->kind) {
    case PARAM_BOOL:
        say(c, choose(c, 2) ? "true" : "false");
        return;
    case PARAM_CHOICE:
        say(c, count ? p->choices[choose(c, count)] : "x");
        return;
    case PARAM_DTYPE:
        say(c, types[choose(c, 9)]);
        return;
    case PARAM_TEXT:
        say(c, "\"x * 0.5 + c\"");
        return;
    case PARAM_INTS:
    case PARAM_FLOATS:
        if (count && choose(c, 2)) {
            say(c, p->choices[choose(c, count)]);
            return;
        }
        n = 1 + choose(c, 4);
        say(c, "[");
        for (unsigned i = 0; i < n; i++) {
            say(c, i ? ", " : "");
            say_number(c, p);
        }
        say(c, "]");
        return;
    default:
        say_number(c, p);
    }
}

static void say_step(struct choices *c) {
    const struct op_type *type = mldfi_op_at(choose(c, all.operations));
    bool first = true;
    say(c, type->name);
    for (const struct op_param *p = type->params; p && p->name; p++) {
        if (p->fallback && choose(c, 3) != 0)
            continue;
        say(c, first ? "(" : ", ");
        say(c, p->name);
        say(c, "=");
        say_value(c, p);
        first = false;
    }
    say(c, first ? "" : ")");
}

static void say_pipeline(struct choices *c) {
    static const char *const outputs[] = {"image",
                                          "mask",
                                          "label",
                                          "feat",
                                          "tokens",
                                          "boxes",
                                          "image, mask as mask",
                                          "text",
                                          "image, boxes as boxes",
                                          "image, label",
                                          "b = image",
                                          "j = [feat, feat]",
                                          "sound",
                                          "voice",
                                          "sound, voice",
                                          "tokens, text"};
    unsigned statements = 1 + choose(c, 3);
    for (unsigned s = 0; s < statements; s++) {
        say(c, s ? "\n" : "");
        say(c, outputs[choose(c, 16)]);
        say(c, ": ");
        unsigned steps = 1 + choose(c, 4);
        for (unsigned i = 0; i < steps; i++) {
            say(c, i ? " | " : "");
            say_step(c);
        }
    }
}

/* ---- Both plans ------------------------------------------------------------------------------------------------------------------------- */

struct result {
    mldf_status status[SAMPLES + 1]; /* of each sample; the last: of the plan */
    mldf_buffer bytes;
};

/* SIZE_MAX: more than is tried here. */
static size_t output_bytes(const struct plan_output *o, struct plan_length room) {
    uint64_t n = mldf_dtype_bytes(o->edge.dtype);
    for (uint32_t i = 0; i < o->edge.ndim; i++) {
        uint32_t length = mldfi_length_at(o, i);
        uint64_t dim = length < PLAN_LENGTHS ? room.n[length] : (uint64_t)o->edge.dims[i];
        if (dim && n > LARGEST / dim)
            return SIZE_MAX;
        n *= dim;
    }
    return (size_t)n;
}

/* Bytes that are asked for in advance are the value's. */
static void check_ranges(const struct plan_ranges *ranges, uint64_t p) {
    for (size_t i = 0; i < ranges->count && p < SAMPLES; i++) {
        mldf_value value;
        (void)get(NULL, p, ranges->items[i].field, NULL, &value, NULL);
        if (ranges->items[i].offset > value.bytes || ranges->items[i].bytes > value.bytes - ranges->items[i].offset)
            abort();
    }
}

static void run_sample(const struct plan *plan, struct plan_worker *worker, uint64_t p, struct result *out) {
    struct plan_feed feed = {.get = get};
    struct plan_ranges ranges = {0};
    struct plan_target targets[OUTPUTS_MAX], partner[OUTPUTS_MAX];
    struct plan_length lengths[OUTPUTS_MAX];
    size_t count = mldfi_plan_output_count(plan), bytes[OUTPUTS_MAX];
    if (p % 2) {
        feed.record = get_record;
        feed.range = get_range;
    }
    mldf_status status = mldfi_plan_prepare(plan, worker, &feed, 1, p, lengths, &ranges, NULL);
    check_ranges(&ranges, status == MLDF_OK ? p : SAMPLES);
    free(ranges.items);
    out->status[p] = status;
    if (status < 0)
        return;
    for (size_t o = 0; o < count; o++) {
        const struct plan_output *output = mldfi_plan_output(plan, o);
        struct plan_length room = mldfi_length_room(output, lengths[o]);
        bytes[o] = output_bytes(output, room);
        if (bytes[o] == SIZE_MAX) {
            while (o-- > 0) {
                free(targets[o].data);
                free(partner[o].data);
            }
            return;
        }
        targets[o] = (struct plan_target){calloc(bytes[o] + 64, 1), room};
        partner[o] = (struct plan_target){calloc(bytes[o] + 64, 1), room};
        if (!targets[o].data || !partner[o].data)
            abort();
    }
    if (mldfi_plan_pairs(plan))
        status = p % 2 ? mldfi_plan_run_pair(plan, worker, &feed, 1, p - 1, false, NULL, targets, NULL)
                       : mldfi_plan_run_pair(plan, worker, &feed, 1, p, false, targets, NULL, NULL);
    else
        status = mldfi_plan_run(plan, worker, &feed, 1, p, targets, NULL);
    out->status[p] = status;
    for (size_t o = 0; o < count; o++) {
        if (status == MLDF_OK && mldf_buffer_append(&out->bytes, targets[o].data, bytes[o], NULL) < 0)
            abort();
        free(targets[o].data);
        free(partner[o].data);
    }
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* Large images take the fuzzer's time and show nothing that small ones do not: one pipeline in three had some, and they took nearly all of
 * it. Inputs that are replayed run whatever they cost. */
enum { SIDE_MOST = 96, ELEMENTS_MOST = 1 << 14 };

static bool is_costly(const struct op *op) {
    uint64_t elements = 1;
    bool varies = false;
    for (uint32_t i = 0; i < op->out.ndim; i++) {
        varies = varies || op->out.dims[i] < 0;
        elements *= op->out.dims[i] > 0 && elements <= ELEMENTS_MOST ? (uint64_t)op->out.dims[i] : 1;
    }
    /* A size that follows from the image's own: what the text asks for is all that is known. */
    for (size_t i = 0; op->type->params && op->type->params[i].name && (varies || op->type->flags & OP_AXIS); i++) {
        const struct arg *arg = &op->args[i];
        if (op->type->params[i].kind == PARAM_INT && arg->f > SIDE_MOST)
            return true;
        for (uint32_t k = 0; op->type->params[i].kind == PARAM_INTS && k < arg->count; k++)
            if (arg->list[k] > SIDE_MOST)
                return true;
    }
    return elements > ELEMENTS_MOST;
}

static bool takes_long(const struct plan *plan) {
    for (size_t c = 0; c < plan->graph.chain_count; c++)
        for (size_t i = 0; i < plan->graph.chains[c].op_count; i++)
            if (is_costly(&plan->graph.chains[c].ops[i]))
                return true;
    return false;
}
#else
static bool takes_long(const struct plan *plan) {
    (void)plan;
    return false;
}
#endif

static void run_plan(const mldf_pipeline *pipeline, bool reference, const char *isa, struct result *out) {
    struct plan_options options = {.reference = reference, .isa = isa, .seed = 3, .codegen = 1};
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_error err;
    memset(out, 0, sizeof *out);
    out->status[SAMPLES] = mldfi_plan_new(pipeline, all.schema, all.bounds, &options, &plan, &err);
    if (out->status[SAMPLES] < 0) {
        if (!err.message[0])
            abort(); /* an error says what is wrong */
        return;
    }
    if (takes_long(plan)) {
        mldfi_plan_free(plan);
        return;
    }
    if (mldfi_worker_new(plan, &worker, NULL) < 0)
        abort();
    for (uint64_t p = 0; p < SAMPLES && mldfi_plan_output_count(plan) <= OUTPUTS_MAX; p++)
        run_sample(plan, worker, p, out);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const isas[] = {NULL, "portable", "sse4", "avx2"};
    struct choices c = {.data = data, .size = size};
    mldf_pipeline *pipeline = NULL;
    struct result want, got;
    if (!all.ready)
        make_samples();
    if (size && data[0] == 255) {
        c.bytes = size - 1 < TEXT_MAX ? size - 1 : TEXT_MAX - 1;
        memcpy(c.text, data + 1, c.bytes);
    } else {
        say_pipeline(&c);
    }
    if (mldf_pipeline_parse(NULL, c.text, c.bytes, &pipeline, NULL) < 0)
        return 0;
    const char *isa = isas[size % 4];
    if (isa && !mldfi_kernels_named(isa))
        isa = NULL;
    run_plan(pipeline, true, NULL, &want);
    run_plan(pipeline, false, isa, &got);
    bool same = memcmp(want.status, got.status, sizeof want.status) == 0 && want.bytes.size == got.bytes.size &&
                (want.bytes.size == 0 || memcmp(want.bytes.data, got.bytes.data, want.bytes.size) == 0);
    if (!same) {
        fprintf(stderr, "the plans differ for:\n%.*s\n", (int)c.bytes, c.text);
        for (int i = 0; i <= SAMPLES; i++)
            fprintf(stderr, "  sample %d: status %d and %d\n", i, (int)want.status[i], (int)got.status[i]);
        abort();
    }
    mldf_buffer_free(&want.bytes);
    mldf_buffer_free(&got.bytes);
    mldf_pipeline_free(pipeline);
    return 0;
}
