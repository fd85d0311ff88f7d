/* Statements and a schema become chains: what comes out, who leads a draw, which streams are drawn from, and what is refused in which words. */
#include "graphs.h"
#include "util/random.h"

static mldf_schema *schema;

static const struct {
    const char *text, *want;
} good[] = {
    {"image: resize([32, 48]) | hflip | normalize(imagenet) | chw(f32)",
     "image(0): u8 <=375x<=500x3 stored image > decode > resize/0* > hflip/1* > normalize > chw = f32 3x32x48 planar image\n"
     "2: image"},
    {"image, seg as mask, box as boxes: hflip; image, seg: resize([8, 9]); image: normalize(imagenet); box: drop",
     "image(0): u8 <=375x<=500x3 stored image > decode > hflip/0* > resize/1* > normalize = f32 8x9x3 image\n"
     "seg(1): u8 <=375x<=500x1 stored mask > decode > hflip/0 > resize/1 = u8 8x9x1 mask\n"
     "2: image seg"},
    {"box as boxes, image: random_resized_crop(32) | hflip; box: drop",
     "image(0): u8 <=375x<=500x3 stored image > decode > random_resized_crop/0* > hflip/1* = u8 32x32x3 image\n"
     "2: image"},
    {"a = image: random_resized_crop(32) | hflip; b = image: random_resized_crop(32); a: hflip",
     "a(0): u8 <=375x<=500x3 stored image > decode > random_resized_crop/0* > hflip/1* > hflip/3* = u8 32x32x3 image\n"
     "b(0): u8 <=375x<=500x3 stored image > decode > random_resized_crop/2* = u8 32x32x3 image\n"
     "4: a b"},
    {"image: center_crop(9); z = image: center_crop(3)",
     "image(0): u8 <=375x<=500x3 stored image > decode > center_crop/0* = u8 9x9x3 image\n"
     "z(0): u8 <=375x<=500x3 stored image > decode > center_crop/1* = u8 3x3x3 image\n"
     "2: image z"},
    {"crop = image: center_crop(9); z = crop: center_crop(3) ; crop: hflip; z: vflip",
     "-crop(0): u8 <=375x<=500x3 stored image > decode > center_crop/0*\n"
     "z[0]: u8 9x9x3 image > center_crop/1* > vflip/3* = u8 3x3x3 image\n"
     "crop[0]: u8 9x9x3 image > hflip/2* = u8 9x9x3 image\n"
     "4: crop z"},
    {"pose.x: cast(f64); t = pose.tag; u = pose.name", "pose.x(12.x): f32 number > cast = f64 number\n"
                                                       "t(12.tag): u8 6 array = u8 6 array\n"
                                                       "u(12.name): u32 3x2 array = u32 3x2 array\n"
                                                       "0: pose.x t u"},
    {"raster as mask: hflip; seg as mask: resize([3, 4])",
     "raster(9): u8 6x7x1 mask > hflip/0* = u8 6x7x1 mask\n"
     "seg(1): u8 <=375x<=500x1 stored mask > decode > resize/1* = u8 3x4x1 mask\n"
     "2: raster seg"},
    {"label: drop; score, x, y, small: drop", "0:"},
    {"pts as points, image: center_crop(9)",
     "image(0): u8 <=375x<=500x3 stored image > decode > center_crop/0* = u8 9x9x3 image\n"
     "pts(7): i32 5x3 points > center_crop/0 = f32 5x3 points\n"
     "1: pts image"},
    {"m = raster as image: resize([3, 3])", "m(9): u8 6x7x1 image > resize/0* = u8 3x3x1 image\n"
                                            "1: m"},
    {"seg: decode(channels=1) | resize([5, 5])",
     "seg(1): u8 <=375x<=500x1 stored image > decode > resize/0* = u8 5x5x1 image\n"
     "1: seg"},
    {"pose.x, pose.tag: cast(f32)", "pose.x(12.x): f32 number > cast = f32 number\n"
                                    "pose.tag(12.tag): u8 6 array > cast = f32 6 array\n"
                                    "0: pose.x pose.tag"},
    {"x = label: cast(i32)", "x(2): i64 number > cast = i32 number\n"
                             "0: x"},
    {"image: random_resized_crop(20); image: hflip; image: hflip(p=1)",
     "image(0): u8 <=375x<=500x3 stored image > decode > random_resized_crop/0* > hflip/1* > hflip/2* = u8 20x20x3 image\n"
     "3: image"},
    {"index_of = index: cast(i32)", "index_of(14): i64 number > cast = i32 number\n"
                                    "0: index_of"},
    {"x, y: cast(f16)", "x(4): f32 8 array > cast = f16 8 array\n"
                        "y(5): f32 8 array > cast = f16 8 array\n"
                        "0: x y"},
    {"xy = [x, y]: stack", "-x(4): f32 8 array\n"
                           "-y(5): f32 8 array\n"
                           "xy[0,1]: f32 2x8 array > stack = f32 2x8 array\n"
                           "0: xy"},
    {"xy = [x, y]: stack; x: cast(f16); x: cast(f64)", "-x(4): f32 8 array\n"
                                                       "-y(5): f32 8 array\n"
                                                       "xy[0,1]: f32 2x8 array > stack = f32 2x8 array\n"
                                                       "x(4): f32 8 array > cast > cast = f64 8 array\n"
                                                       "0: xy x"},
    {"a = image: resize([4, 4]); b = image: resize([4, 4]) | hflip; two = [a, b]: stack | normalize(half); a, b: drop",
     "-a(0): u8 <=375x<=500x3 stored image > decode > resize/0*\n"
     "-b(0): u8 <=375x<=500x3 stored image > decode > resize/1* > hflip/2*\n"
     "two[0,1]: u8 2x4x4x3 array > stack > normalize = f32 2x4x4x3 array\n"
     "3: two"},
    {"tokens: truncate(100) | pad(100, mask=true)", "tokens(8): i32 <=512 array > truncate > pad = i32 100 array pad\n"
                                                    "0: tokens"},
    {"image, seg as mask: pad(multiple=32); x: drop; box: drop",
     "image(0): u8 <=375x<=500x3 stored image > decode > pad = u8 <=375x<=500x3 image pad\n"
     "seg(1): u8 <=375x<=500x1 stored mask > decode > pad = u8 <=375x<=500x1 mask pad\n0: image seg"},
    {"tokens: pad; caption: ragged; box: ragged", "tokens(8): i32 <=512 array > pad = i32 <=512 array pad\n"
                                                  "caption(10): u8 ? bytes > ragged = u8 ? bytes ragged\n"
                                                  "box(6): f32 ?x4 array > ragged = f32 ?x4 array ragged\n"
                                                  "0: tokens caption box"},
    {"tokens: pad; t2 = tokens: ragged", "tokens(8): i32 <=512 array > pad = i32 <=512 array pad\n"
                                         "t2(8): i32 <=512 array > ragged = i32 <=512 array ragged\n"
                                         "0: tokens t2"},
    {"tokens: pad(64); tokens_mask = label: cast(i32)", "tokens(8): i32 <=512 array > pad = i32 64 array pad\n"
                                                        "tokens_mask(2): i64 number > cast = i32 number\n"
                                                        "0: tokens tokens_mask"},
    {"image: resize([8, 8]); label: one_hot(10); image, label: mixup(0.2)",
     "image(0): u8 <=375x<=500x3 stored image > decode > resize/0* > mixup/1* = u8 8x8x3 image\n"
     "label(2): i64 number > one_hot > mixup/1 = f32 10 array\n"
     "2: image label"},
    {"x = [x, y]: stack", "-x(4): f32 8 array\n"
                          "-y(5): f32 8 array\n"
                          "x[0,1]: f32 2x8 array > stack = f32 2x8 array\n"
                          "0: x"},
    {"z = [x]: stack", "-x(4): f32 8 array\n"
                       "z[0]: f32 1x8 array > stack = f32 1x8 array\n"
                       "0: z"},
    {"label: one_hot(10) | label_smoothing", "label(2): i64 number > one_hot > label_smoothing = f32 10 array\n"
                                             "0: label"},
    {"image: resize([8, 8]) | mixup(1) | hflip",
     "image(0): u8 <=375x<=500x3 stored image > decode > resize/0* > mixup/1* > hflip/2* = u8 8x8x3 image\n"
     "3: image"},
    {"image: randaugment | resize([9, 9])",
     "image(0): u8 <=375x<=500x3 stored image > decode > randaugment/0* > resize/1* = u8 9x9x3 image\n"
     "2: image"},
    {"x: cast(f64) | cast(f32); xy = [x, y]: concat | cast(f16); x: cast(f16); xy: cast(f32)",
     "-x(4): f32 8 array > cast > cast\n"
     "-y(5): f32 8 array\n"
     "xy[0,1]: f32 16 array > concat > cast > cast = f32 16 array\n"
     "x[0]: f32 8 array > cast = f16 8 array\n"
     "0: x xy"},
};

static void statements_become_typed_chains(void) {
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        mldf_pipeline *pipeline;
        struct graph graph;
        mldf_error err;
        mldf_buffer out = MLDF_BUFFER_INIT;
        CHECK_OK(graph_of(good[i].text, schema, &pipeline, &graph, &err), &err);
        graph_write(&graph, &out);
        CHECK_OK(mldf_buffer_append(&out, "", 1, NULL), NULL);
        if (out.data && strcmp(good[i].want, (const char *)out.data) != 0)
            check_fail(__FILE__, __LINE__, "%s\n    expected %s\n    got      %s", good[i].text, good[i].want,
                       (const char *)out.data);
        mldf_buffer_free(&out);
        mldfi_graph_free(&graph);
        mldf_pipeline_free(pipeline);
    }
}

static const struct {
    const char *text;
    mldf_status status;
    size_t offset;
    const char *message;
} wrong[] = {
    {"raster, image: center_crop(6)", MLDF_E_TYPE, 15,
     "raster, step 1, center_crop(6): wants an image, gets u8 6x7 array"},
    {"image", MLDF_E_TYPE, 0,
     "line 1, column 1: image: its size differs from sample to sample (up to 375x500x3); add resize([h, w]), random_resized_crop, center_crop or pad"},
    {"imag: hflip", MLDF_E_NO_FIELD, 0, "line 1, column 1: there is no field or output imag; did you mean image?"},
    {"pose: cast(f32)", MLDF_E_TYPE, 0, "line 1, column 1: pose is a struct: name one of its members, such as pose.x"},
    {"pose.z: cast(f32)", MLDF_E_NO_FIELD, 0,
     "line 1, column 1: there is no field or output pose.z; did you mean pose.x?"},
    {"pos.x: cast(f32)", MLDF_E_NO_FIELD, 0,
     "line 1, column 1: there is no field or output pos.x; did you mean pose.x?"},
    {"caption", MLDF_E_TYPE, 0,
     "line 1, column 1: caption: its length differs from sample to sample; add pad or ragged"},
    {"tokens: cast(i64)", MLDF_E_TYPE, 0,
     "line 1, column 1: tokens: its length differs from sample to sample (up to 512); add pad or ragged"},
    {"image: hflip", MLDF_E_TYPE, 0,
     "line 1, column 1: image: its size differs from sample to sample (up to 375x500x3); add resize([h, w]), random_resized_crop, center_crop or pad"},
    {"image: resize(20)", MLDF_E_TYPE, 0,
     "line 1, column 1: image: its size differs from sample to sample; add resize([h, w]), random_resized_crop, center_crop or pad"},
    {"label: hflip", MLDF_E_TYPE, 7, "label, step 1, hflip: wants an image, gets i64 number"},
    {"label: cast(f32) | hflip(0.25)", MLDF_E_TYPE, 19, "label, step 2, hflip(0.25): wants an image, gets f32 number"},
    {"x = [label, score]: cast(f32)", MLDF_E_ARGUMENT, 20,
     "x, step 1, cast(f32): it takes one input; the first step of a list takes several"},
    {"q = [label, score]", MLDF_E_ARGUMENT, 0, "line 1, column 1: q: a list of inputs needs a step that takes several"},
    {"q = [label, nope]: cast(f32)", MLDF_E_NO_FIELD, 12,
     "line 1, column 13: there is no field or output nope; did you mean pose?"},
    {"image: hflip | drop | vflip", MLDF_E_ARGUMENT, 22, "image, step 2, vflip: nothing follows drop"},
    {"image: drop; image: hflip", MLDF_E_ARGUMENT, 13, "line 1, column 14: image was dropped; nothing follows"},
    {"image: resize([3,3]); image = seg: hflip", MLDF_E_ARGUMENT, 22,
     "line 1, column 23: image is made already; `image: ...` goes on with it"},
    {"image, seg: color_jitter | hflip", MLDF_E_TYPE, 0,
     "line 1, column 1: image: its size differs from sample to sample (up to 375x500x3); add resize([h, w]), random_resized_crop, center_crop or pad"},
    {"image, label: hflip", MLDF_E_TYPE, 14, "label, step 1, hflip: wants an image, gets i64 number"},
    {"box as boxes: hflip", MLDF_E_ARGUMENT, 14,
     "box, step 1, hflip: boxes move with an image: name it in the same statement"},
    {"label as mask: drop", MLDF_E_TYPE, 0,
     "line 1, column 1: label: wants an image, or an array HxW, HxWxC or TxHxWxC of u8, u16, f16, bf16 or f32, as a mask, gets i64 number"},
    {"x as boxes: drop", MLDF_E_TYPE, 0,
     "line 1, column 1: x: wants an array whose last dimension is 4 (x0, y0, x1, y1) as boxes, gets f32 8 array"},
    {"caption as image: drop", MLDF_E_TYPE, 0,
     "line 1, column 1: caption: wants an image, or an array HxW, HxWxC or TxHxWxC of u8, u16, f16, bf16 or f32, as an image, gets u8 ? bytes"},
    {"image: hflip; image as mask: vflip", MLDF_E_ARGUMENT, 14,
     "line 1, column 15: image: say what it is where it is first named"},
    {"image as mask: normalize(imagenet)", MLDF_E_TYPE, 0,
     "line 1, column 1: image: its size differs from sample to sample (up to 375x500x3); add resize([h, w]), random_resized_crop, center_crop or pad"},
    {"image: random_crop(300) | resize([4, 4]) | normalize([1,2])", MLDF_E_ARGUMENT, 43,
     "image, step 3, normalize([1,2]): std must be given when mean is given as numbers"},
    {"image: decode(channels=2)", MLDF_E_ARGUMENT, 7,
     "image, step 1, decode(channels=2): channels 2; 0, 1, 3 and 4 can be asked for"},
    {"image: hflip | decode", MLDF_E_TYPE, 15,
     "image, step 2, decode: wants a stored image, gets u8 <=375x<=500x3 image"},
    {"q = pose.zz: cast(f32)", MLDF_E_NO_FIELD, 4,
     "line 1, column 5: there is no field or output pose.zz; did you mean pose.x?"},
    {"w = [label, pose.tg]: cast(f32)", MLDF_E_NO_FIELD, 12,
     "line 1, column 13: there is no field or output pose.tg; did you mean pose.tag?"},
    {"tokens: hflip", MLDF_E_TYPE, 8, "tokens, step 1, hflip: wants an image, gets i32 <=512 array"},
    {"x: cast(f16); xy = [x, y]: concat | cast(f32)", MLDF_E_TYPE, 27,
     "xy, step 1, concat: wants inputs of one element type (cast the others), gets f32 8 array"},
    {"two = [image, seg]: stack", MLDF_E_TYPE, 20,
     "two, step 1, stack: wants inputs of fixed shape, gets u8 <=375x<=500x3 image"},
    {"tokens: pad | cast(f32)", MLDF_E_ARGUMENT, 14,
     "tokens, step 2, cast(f32): nothing follows pad and ragged, which make the batch"},
    {"label: cast(u16) | reshape([1]) | pad(value=-1)", MLDF_E_ARGUMENT, 34,
     "label, step 3, pad(value=-1): value -1 does not fit the element type u16"},
    {"image: decode(channels=1) | resize([8, 8]) | normalize(imagenet)", MLDF_E_TYPE, 45,
     "image, step 3, normalize(imagenet): constants for 3 channels, the input has 1; decode(channels=3) makes 3"},
    {"tokens: pad; t2 = [tokens, x]: concat", MLDF_E_ARGUMENT, 0,
     "line 1, column 1: tokens: it ends with a step for whole batches: no input of others"},
    {"t = tokens: pad; t2 = t: cast(f32)", MLDF_E_ARGUMENT, 0,
     "line 1, column 1: t: it ends with a step for whole batches: nothing follows"},
    {"tokens: pad(64); tokens_length = label: cast(i32)", MLDF_E_ARGUMENT, 17,
     "line 1, column 18: tokens_length: tokens makes an output of this name itself"},
    {"tokens: pad(64, mask=true); tokens_mask = label: cast(i32)", MLDF_E_ARGUMENT, 28,
     "line 1, column 29: tokens_mask: tokens makes an output of this name itself"},
    {"label: pad", MLDF_E_TYPE, 7,
     "label, step 1, pad: wants an array of at least one dimension, or bytes, gets i64 number"},
    {"image: ragged", MLDF_E_TYPE, 7,
     "image, step 1, ragged: wants dimensions that are fixed, except the first, gets u8 <=375x<=500x3 image"},
    {"tokens: pad(100, multiple=32)", MLDF_E_ARGUMENT, 8,
     "tokens, step 1, pad(100, multiple=32): length 100 is not a multiple of 32"},
    {"tokens: pad([64, 64])", MLDF_E_ARGUMENT, 8,
     "tokens, step 1, pad([64, 64]): two lengths are for images; a list has one"},
    {"image: resize([30, 40]) | pad([32, 32])", MLDF_E_TYPE, 26,
     "image, step 2, pad([32, 32]): every value has the length 40, which is more than 32"},
    {"x: stack", MLDF_E_ARGUMENT, 3, "x, step 1, stack: it takes several inputs: x = [a, b]: stack"},
    {"x, z = [x, y]: stack", MLDF_E_ARGUMENT, 15, "x, step 1, stack: it takes several inputs: x = [a, b]: stack"},
    {"q = [box, box]: concat", MLDF_E_TYPE, 16, "q, step 1, concat: wants inputs of fixed shape, gets f32 ?x4 array"},
    {"image, seg: randaugment | resize([9, 9])", MLDF_E_ARGUMENT, 12,
     "image, step 1, randaugment: it draws for one output alone; give each its own statement"},
};

static void wrong_statements_are_refused_in_exact_words(void) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mldf_pipeline *pipeline;
        struct graph graph;
        mldf_error err;
        CHECK_STATUS(wrong[i].status, graph_of(wrong[i].text, schema, &pipeline, &graph, &err), &err);
        CHECK_EQ_STR(wrong[i].message, TEXT(err));
        CHECK_EQ_U64(wrong[i].offset, err.offset);
        CHECK(!graph.chains);
        mldf_pipeline_free(pipeline);
    }
}

/* The names of outputs, separated by blanks. */
static void check_outputs(const char *text, const char *want) {
    mldf_pipeline *pipeline;
    struct graph graph;
    mldf_error err;
    char names[512] = "";
    REQUIRE_OK(graph_of(text, schema, &pipeline, &graph, &err), &err);
    for (size_t i = 0; i < graph.output_count; i++) {
        const struct chain *c = &graph.chains[graph.outputs[i]];
        CHECK(!c->hidden);
        CHECK_EQ_STR(c->name, c->output.name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "", c->name);
    }
    CHECK_EQ_STR(want, names);
    mldfi_graph_free(&graph);
    mldf_pipeline_free(pipeline);
}

static void fields_of_a_fixed_shape_come_by_themselves(void) {
    check_outputs(NULL, "label score x y pts raster small vec");
    check_outputs("", "label score x y pts raster small vec");
    check_outputs("y: cast(f16); label: drop", "y score x pts raster small vec");
    check_outputs("score = label", "score x y pts raster small vec");
    check_outputs("q = [x, y]: stack", "q label score pts raster small vec");
    check_outputs("pts as points, image: center_crop(9)", "pts image label score x y raster small vec");
}

static void nothing_at_all_is_refused(void) {
    static const char text[] = "label, score, x, y, pts, raster, small, vec: drop";
    mldf_pipeline *pipeline;
    struct graph graph;
    mldf_error err;
    CHECK_STATUS(MLDF_E_ARGUMENT, graph_of(text, schema, &pipeline, &graph, &err), &err);
    CHECK_EQ_STR("nothing comes out: fields of a fixed shape do by themselves, all others where a statement names them",
                 err.message);
    mldf_pipeline_free(pipeline);
}

static const struct op *find_op(const struct graph *g, const char *chain, const char *op, size_t nth) {
    for (size_t i = 0; i < g->chain_count; i++)
        for (size_t k = 0; !strcmp(g->chains[i].name, chain) && k < g->chains[i].op_count; k++)
            if (strcmp(g->chains[i].ops[k].type->name, op) == 0 && nth-- == 0)
                return &g->chains[i].ops[k];
    return NULL;
}

static void check_stream(const struct graph *g, const char *chain, const char *op, size_t nth, const char *name) {
    const struct op *found = find_op(g, chain, op, nth);
    REQUIRE(found);
    CHECK_EQ_U64(mldfi_rng_stream(name, strlen(name)), found->stream);
}

/* These names are promised: batches must not change when a pipeline gains a statement. */
static void streams_are_named_by_fields_operation_occurrence_and_view(void) {
    static const char text[] = "a = image: random_resized_crop(32) | hflip | hflip\n"
                               "b = image: hflip | center_crop(9)\n"
                               "image, seg as mask: hflip | center_crop(9)\n"
                               "a: hflip\n"
                               "c = image, s2 = seg: hflip | center_crop(9)\n"
                               "q = [x, y]: stack\n"
                               "d = b: hflip\n"
                               "b: hflip\n";
    mldf_pipeline *pipeline;
    struct graph g;
    mldf_error err;
    REQUIRE_OK(graph_of(text, schema, &pipeline, &g, &err), &err);
    check_stream(&g, "a", "random_resized_crop", 0, "image/random_resized_crop/0/0");
    check_stream(&g, "a", "hflip", 0, "image/hflip/0/0");
    check_stream(&g, "a", "hflip", 1, "image/hflip/1/0");
    check_stream(&g, "a", "hflip", 2, "image/hflip/2/0");
    check_stream(&g, "b", "hflip", 0, "image/hflip/0/1");
    check_stream(&g, "image", "hflip", 0, "image,seg/hflip/0/0");
    check_stream(&g, "seg", "hflip", 0, "image,seg/hflip/0/0");
    check_stream(&g, "c", "hflip", 0, "image,seg/hflip/0/1");
    check_stream(&g, "d", "hflip", 0, "b/hflip/0/0");
    check_stream(&g, "b", "hflip", 1, "image/hflip/1/1");
    const struct op *image = find_op(&g, "image", "hflip", 0), *seg = find_op(&g, "seg", "hflip", 0);
    REQUIRE(image && seg);
    CHECK(image->leads && !seg->leads);
    CHECK_EQ_U64(image->shared, seg->shared);
    CHECK(image->shared < g.shared_count);
    mldfi_graph_free(&g);
    mldf_pipeline_free(pipeline);
}

static void padding_reaches_the_output(void) {
    mldf_pipeline *pipeline;
    struct graph g;
    mldf_error err;
    REQUIRE_OK(graph_of("tokens: truncate(9) | pad(12, value=-1, mask=true)", schema, &pipeline, &g, &err), &err);
    const struct plan_output *out = &g.chains[g.outputs[0]].output;
    CHECK_EQ_INT(COLLATE_PAD, out->collate);
    CHECK_EQ_U64(12, out->length.n[0]);
    CHECK_EQ_F64(-1, out->fill);
    CHECK(out->mask && out->length_count == 1);
    CHECK_EQ_INT(12, out->edge.dims[0]);
    mldfi_graph_free(&g);
    mldf_pipeline_free(pipeline);
    REQUIRE_OK(graph_of("image: chw(u8) | pad([0, 640], multiple=32)", schema, &pipeline, &g, &err), &err);
    out = &g.chains[g.outputs[0]].output;
    CHECK_EQ_INT(COLLATE_PAD, out->collate);
    CHECK_EQ_U64(2, out->length_count);
    CHECK_EQ_U64(32, out->multiple);
    CHECK_EQ_INT(DIM_VARIES, out->edge.dims[1]);
    CHECK_EQ_INT(640, out->edge.dims[2]);
    CHECK(mldfi_length_open(out));
    struct plan_length room = mldfi_length_room(out, (struct plan_length){{375, 500}});
    CHECK_EQ_U64(384, room.n[0]);
    CHECK_EQ_U64(640, room.n[1]);
    mldfi_graph_free(&g);
    mldf_pipeline_free(pipeline);
    REQUIRE_OK(graph_of("tokens: pad(multiple=8)", schema, &pipeline, &g, &err), &err);
    out = &g.chains[g.outputs[0]].output;
    CHECK_EQ_U64(16, mldfi_length_room(out, (struct plan_length){{9}}).n[0]);
    CHECK_EQ_U64(16, mldfi_length_room(out, (struct plan_length){{16}}).n[0]);
    CHECK_EQ_U64(0, mldfi_length_room(out, (struct plan_length){{0}}).n[0]);
    CHECK_EQ_U64(UINT64_MAX, mldfi_length_room(out, (struct plan_length){{UINT64_MAX - 2}}).n[0]);
    mldfi_graph_free(&g);
    mldf_pipeline_free(pipeline);
}

static void types_of_fields_follow_schema_and_bounds(void) {
    struct value_bounds bounds[GRAPH_FIELDS];
    struct edge edge;
    mldf_error err;
    graph_bounds(bounds);
    REQUIRE_OK(mldfi_field_edge(schema, 0, NULL, &edge, &err), &err);
    CHECK_EQ_INT(VALUE_ENCODED, edge.kind);
    CHECK_EQ_INT(DIM_VARIES, edge.dims[2]);
    CHECK_EQ_U64(MLDF_NONE, edge.most[0]);
    bounds[0].least[0] = 375;
    bounds[0].image.bits = 16;
    bounds[0].image.same_channels = false;
    REQUIRE_OK(mldfi_field_edge(schema, 0, &bounds[0], &edge, &err), &err);
    CHECK_EQ_INT(375, edge.dims[0]);
    CHECK_EQ_INT(DIM_VARIES, edge.dims[1]);
    CHECK_EQ_U64(500, edge.most[1]);
    CHECK_EQ_INT(DIM_VARIES, edge.dims[2]);
    CHECK_EQ_INT(MLDF_U16, edge.dtype);
    bounds[8].least[0] = 512;
    REQUIRE_OK(mldfi_field_edge(schema, 8, &bounds[8], &edge, &err), &err);
    CHECK_EQ_INT(512, edge.dims[0]);
    REQUIRE_OK(mldfi_field_edge(schema, 10, &bounds[8], &edge, &err), &err);
    CHECK_EQ_INT(VALUE_BYTES, edge.kind);
    CHECK_EQ_INT(DIM_VARIES, edge.dims[0]); /* text is text, even when all are equally long */
    CHECK_STATUS(MLDF_E_TYPE, mldfi_field_edge(schema, 12, NULL, &edge, &err), &err);
    CHECK_EQ_STR("pose is a struct: name one of its members, such as pose.x", err.message);
}

static void images_of_one_size_need_no_step(void) {
    static const char text[] = "image";
    struct value_bounds bounds[GRAPH_FIELDS];
    struct plan_options options = {0};
    mldf_pipeline *pipeline;
    struct graph g;
    mldf_error err;
    graph_bounds(bounds);
    bounds[0] = (struct value_bounds){true, 3, {32, 32, 3}, {32, 32, 3}, .image = {8, true, false}};
    REQUIRE_OK(mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err), &err);
    REQUIRE_OK(mldfi_graph_new(pipeline, schema, bounds, &options, &g, &err), &err);
    CHECK_EQ_U64(1, g.chains[0].op_count);
    CHECK_EQ_STR("decode", g.chains[0].ops[0].type->name);
    CHECK_EQ_INT(32, g.chains[0].output.edge.dims[1]);
    CHECK_EQ_INT(VALUE_IMAGE, g.chains[0].output.edge.kind);
    mldfi_graph_free(&g);
    mldf_pipeline_free(pipeline);
}

int main(int argc, char **argv) {
    mldf_error err;
    check_begin(argc, argv);
    if (mldf_schema_parse(NULL, graph_schema, strlen(graph_schema), &schema, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    RUN(statements_become_typed_chains);
    RUN(wrong_statements_are_refused_in_exact_words);
    RUN(fields_of_a_fixed_shape_come_by_themselves);
    RUN(nothing_at_all_is_refused);
    RUN(streams_are_named_by_fields_operation_occurrence_and_view);
    RUN(padding_reaches_the_output);
    RUN(types_of_fields_follow_schema_and_bounds);
    RUN(images_of_one_size_need_no_step);
    mldf_schema_free(schema);
    return check_end();
}
