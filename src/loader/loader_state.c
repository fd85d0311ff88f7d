/* Where a run is, as JSON below 1 kB, equal on all ranks:
 *
 *     {"algorithm":1,"consumed":5120,"count":50000,"digest":"…","epoch":3,"seed":7,"codecs":"libjpeg-turbo 2.1.5",
 *      "keys":"k5f0c…","values":{"label":"i33a1…"},
 *      "view":{"digest":"…","text":"windows(x, …)"},
 *      "bucket":{"begin":4096,"end":8192,"batch":256,"budget":0,"ranks":4,"output":"tokens"},
 *      "skip":[[3,6400,6656]]}
 *
 * The first five are the order's (mldf/order.h). `view` is there unless items are rows. `keys` and `values` say of which samples (identity.c). `bucket` is the window that the last
 * batch came from: it is finished as it was planned. `skip` has epoch, begin and end of positions that are left out. */
#include <stdio.h>
#include <string.h>

#include "codec/versions.h"
#include "field/field.h"
#include "loader/loader.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

enum { NAME_LIMIT = 256 };

static const char *bucket_output(const mldf_loader *loader) {
    return mldfi_plan_output(loader->plan, loader->series.bucket.output)->name;
}

static mldf_status write_bucket(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    const struct bucket_span *s = &loader->span;
    const char *name = bucket_output(loader);
    mldf_status status = mldfi_buffer_printf(
        out, err, ",\"bucket\":{\"begin\":%llu,\"end\":%llu,\"batch\":%llu,\"budget\":%llu,\"ranks\":%u,\"output\":",
        (unsigned long long)s->begin, (unsigned long long)s->end, (unsigned long long)s->batch,
        (unsigned long long)s->budget, s->ranks);
    size_t bytes = strlen(name);
    if (status >= 0)
        status = mldfi_json_append_string(out, name, bytes < NAME_LIMIT ? bytes : NAME_LIMIT, err);
    char curriculum[CURRICULUM_NAME];
    mldfi_curriculum_name(loader, curriculum);
    if (status >= 0 && curriculum[0])
        status = mldfi_buffer_printf(out, err, ",\"curriculum\":\"%s\"", curriculum);
    return status < 0 ? status : mldf_buffer_append(out, "}", 1, err);
}

/* ---- What is left out ---------------------------------------------------------------------------------------------------------------- */

static mldf_status write_skips(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < loader->skip_count && status >= 0; i++) {
        const struct skip_range *r = &loader->skips[i];
        status =
            mldfi_buffer_printf(out, err, "%s[%llu,%llu,%llu]", i ? "," : ",\"skip\":[", (unsigned long long)r->epoch,
                                (unsigned long long)r->begin, (unsigned long long)r->end);
    }
    return status >= 0 && loader->skip_count ? mldf_buffer_append(out, "]", 1, err) : status;
}

/* Ascending, apart from one another. */
static mldf_status read_skips(const struct json *json, uint64_t count, struct skip_range out[LOADER_SKIPS],
                              size_t *found, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "skip");
    *found = 0;
    if (at == UINT32_MAX)
        return MLDF_OK;
    bool good = json->nodes[at].kind == MLDFI_JSON_ARRAY && json->nodes[at].count <= LOADER_SKIPS;
    for (uint32_t i = mldfi_json_first(json, at); good && i < json->nodes[at].next; i = json->nodes[i].next) {
        uint64_t numbers[3] = {0};
        size_t have = 0;
        good = json->nodes[i].kind == MLDFI_JSON_ARRAY && json->nodes[i].count == 3;
        for (uint32_t k = mldfi_json_first(json, i); good && k < json->nodes[i].next; k = json->nodes[k].next)
            good = mldfi_json_u64(json, k, &numbers[have++]);
        struct skip_range range = {numbers[0], numbers[1], numbers[2]}, *last = *found ? &out[*found - 1] : NULL;
        good = good && range.begin < range.end && range.end <= count &&
               (!last || last->epoch < range.epoch || (last->epoch == range.epoch && last->end < range.begin));
        if (good)
            out[(*found)++] = range;
    }
    return good ? MLDF_OK
                : mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[at].offset,
                                "the state's \"skip\" is not up to %d ascending ranges [epoch, begin, end]",
                                LOADER_SKIPS);
}

/* ---- The view ---------------------------------------------------------------------------------------------------------------------- */

static void view_digest(const mldf_view *view, char out[33]) {
    uint8_t digest[16];
    mldf_view_digest(view, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static mldf_status write_view(const mldf_view *view, mldf_buffer *out, mldf_error *err) {
    char digest[33];
    view_digest(view, digest);
    size_t bytes = strlen(view->text);
    if (bytes > NAME_LIMIT)
        for (bytes = NAME_LIMIT; bytes && ((uint8_t)view->text[bytes] & 0xC0) == 0x80;)
            bytes--; /* no half of a character */
    mldf_status status = mldfi_buffer_printf(out, err, ",\"view\":{\"digest\":\"%s\",\"text\":", digest);
    if (status >= 0)
        status = mldfi_json_append_string(out, view->text, bytes, err);
    return status < 0 ? status : mldf_buffer_append(out, "}", 1, err);
}

/* The state's view is this loader's. Before the order is compared: of another view it is another one, and that would tell nothing. */
static mldf_status check_view(const mldf_loader *loader, const struct json *json, mldf_error *err) {
    const mldf_view *view = loader->dataset.view;
    uint32_t at = mldfi_json_find(json, 0, "view"), text = UINT32_MAX, digest = UINT32_MAX;
    char own[33] = "";
    if (at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_OBJECT) {
        text = mldfi_json_find(json, at, "text");
        digest = mldfi_json_find(json, at, "digest");
    }
    if (at != UINT32_MAX && (text == UINT32_MAX || digest == UINT32_MAX || json->nodes[text].kind != MLDFI_JSON_STRING))
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[at].offset, "the state's view has no text and digest");
    if (view)
        view_digest(view, own);
    if (at == UINT32_MAX ? !view : mldfi_json_is_text(json, digest, own))
        return MLDF_OK;
    const char *its = at == UINT32_MAX ? "rows" : json->nodes[text].text, *ours = view ? view->text : "rows";
    size_t bytes = at == UINT32_MAX ? 4 : json->nodes[text].text_bytes;
    int shown = (int)(bytes < NAME_LIMIT ? bytes : NAME_LIMIT);
    if (view && at != UINT32_MAX && mldfi_json_is_text(json, text, ours))
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state was taken of the same view, %.256s, of other rows: their lengths or their number "
                          "were others",
                          ours);
    return mldfi_fail(err, MLDF_E_STATE, "the state was taken of the view %.*s, and this loader's is %.256s", shown,
                      its, ours);
}

mldf_status mldf_loader_state(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    TRY(mldfi_loader_check(loader, "state", err));
    mldf_order_state state = {.epoch = loader->epoch,
                              .consumed = loader->consumed,
                              .count = loader->count,
                              .algorithm = MLDF_ORDER_ALGORITHM};
    char codecs[128];
    size_t before = out->size;
    mldfi_codec_versions(codecs, sizeof codecs);
    mldf_order_digest(loader->order, state.digest);
    mldf_status status = mldf_order_state_write(&state, out, err);
    if (status >= 0) {
        while (out->size > before && out->data[out->size - 1] != '}')
            out->size--;
        out->size--; /* the object goes on */
        status = mldfi_buffer_printf(out, err, ",\"seed\":%llu,\"codecs\":\"%s\"",
                                     (unsigned long long)loader->options.seed, codecs);
    }
    const char *decoder = mldfi_plan_decoder(loader->plan);
    if (status >= 0 && decoder)
        status = mldfi_buffer_printf(out, err, ",\"decoder\":\"%s\"", decoder);
    if (status >= 0)
        status = mldfi_sound_versions_write(loader, out, err);
    if (status >= 0)
        status = mldfi_identity_write(loader, out, err);
    if (status >= 0 && loader->dataset.view)
        status = write_view(loader->dataset.view, out, err);
    if (status >= 0 && loader->span.end > loader->span.begin)
        status = write_bucket(loader, out, err);
    if (status >= 0)
        status = write_skips(loader, out, err);
    if (status >= 0)
        status = mldf_buffer_append(out, "}", 1, err);
    if (status < 0)
        out->size = before;
    return status;
}

/* ---- Reading it ------------------------------------------------------------------------------------------------------------------ */

static mldf_status read_bucket(const struct json *json, uint32_t at, const mldf_order_state *state,
                               struct bucket_span *span, mldf_error *err) {
    static const char *const names[] = {"begin", "end", "batch", "budget", "ranks"};
    uint64_t values[5];
    for (size_t i = 0; i < 5; i++) {
        uint32_t member = json->nodes[at].kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, at, names[i]) : UINT32_MAX;
        if (member == UINT32_MAX || !mldfi_json_u64(json, member, &values[i]))
            return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[at].offset,
                                 "the state's bucket has no whole number %s", names[i]);
    }
    *span = (struct bucket_span){values[0], values[1], values[2], values[3], (uint32_t)values[4]};
    if (span->begin > state->consumed || state->consumed > span->end || span->begin >= span->end ||
        span->end > state->count || values[4] == 0 || values[4] > UINT32_MAX || (span->batch == 0 && span->budget == 0))
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[at].offset,
                             "the state's bucket contradicts its position %llu", (unsigned long long)state->consumed);
    return MLDF_OK;
}

/* Is a window half way through, and can this loader finish it? */
static mldf_status check_bucket(const mldf_loader *loader, const struct json *json, uint32_t at,
                                const mldf_order_state *state, const struct bucket_span *span, mldf_error *err) {
    if (state->consumed == span->end)
        return MLDF_OK;
    uint32_t output = mldfi_json_find(json, at, "output");
    if (!loader->series.bucket.window)
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state is inside a window of buckets (positions %llu to %llu), and this loader has none",
                          (unsigned long long)span->begin, (unsigned long long)span->end);
    if (output == UINT32_MAX || !mldfi_json_is_text(json, output, bucket_output(loader)))
        return mldfi_fail(err, MLDF_E_STATE, "the state's buckets are sorted by another output than %s",
                          bucket_output(loader));
    char own[CURRICULUM_NAME];
    uint32_t its = mldfi_json_find(json, at, "curriculum");
    mldfi_curriculum_name(loader, own);
    if (its == UINT32_MAX ? own[0] != 0 : !mldfi_json_is_text(json, its, own))
        return mldfi_fail(err, MLDF_E_STATE, "the state was taken in an epoch of another order than %s",
                          own[0] ? own : "this loader's");
    if (own[0] && (span->begin != 0 || span->end != loader->count || span->budget < mldfi_curriculum_longest(loader)))
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state's epoch of order %s has a budget of %llu or items that this loader does not have",
                          own, (unsigned long long)span->budget);
    return MLDF_OK;
}

static mldf_status check_rest(const mldf_loader *loader, const struct json *json, mldf_error *err) {
    uint64_t seed;
    char codecs[128];
    uint32_t at = mldfi_json_find(json, 0, "seed");
    if (at != UINT32_MAX && (!mldfi_json_u64(json, at, &seed) || seed != loader->options.seed))
        return mldfi_fail(err, MLDF_E_STATE, "the state was taken with another seed than %llu",
                          (unsigned long long)loader->options.seed);
    mldfi_codec_versions(codecs, sizeof codecs);
    at = mldfi_json_find(json, 0, "codecs");
    if (at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_STRING && !mldfi_json_is_text(json, at, codecs))
        mldfi_warn(
            loader->options.context, "the state was taken with %.*s, this is %s: images may differ in their last bits",
            (int)(json->nodes[at].text_bytes < 128 ? json->nodes[at].text_bytes : 128), json->nodes[at].text, codecs);
    const char *decoder = mldfi_plan_decoder(loader->plan);
    at = mldfi_json_find(json, 0, "decoder");
    if (decoder && at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_STRING &&
        !mldfi_json_is_text(json, at, decoder))
        mldfi_warn(loader->options.context, "the state was taken with %.*s, this is %s: frames of videos may differ",
                   (int)(json->nodes[at].text_bytes < 128 ? json->nodes[at].text_bytes : 128), json->nodes[at].text,
                   decoder);
    return mldfi_sound_versions_check(loader, json, err);
}

static mldf_status restore(mldf_loader *loader, const struct json *json, const mldf_order_state *state,
                           mldf_error *err) {
    /* What was consumed without buckets is a run of positions: the first window begins behind it. */
    struct bucket_span span = {state->consumed, state->consumed, 0, 0, 0};
    struct skip_range skips[LOADER_SKIPS];
    size_t skip_count = 0;
    uint32_t at = mldfi_json_find(json, 0, "bucket");
    mldf_status status = check_rest(loader, json, err);
    if (status >= 0)
        status = mldfi_identity_check(loader, json, err);
    if (status >= 0 && at != UINT32_MAX) {
        status = read_bucket(json, at, state, &span, err);
        if (status >= 0)
            status = check_bucket(loader, json, at, state, &span, err);
    }
    if (status >= 0 && at == UINT32_MAX && state->consumed && loader->options.curriculum)
        status = mldfi_fail(err, MLDF_E_STATE, "the state was taken inside an epoch of another order");
    if (status >= 0)
        status = read_skips(json, state->count, skips, &skip_count, err);
    if (status >= 0 && skip_count && loader->series.bucket.window)
        status = mldfi_fail(err, MLDF_E_STATE, "the state skips batches, and this loader has buckets or a budget");
    if (status < 0)
        return status;
    pthread_mutex_lock(&loader->lock);
    memcpy(loader->skips, skips, skip_count * sizeof *skips);
    loader->skip_count = skip_count;
    pthread_mutex_unlock(&loader->lock);
    return mldfi_loader_begin_at(loader, state->epoch, state->consumed, loader->series.bucket.window ? &span : NULL,
                                 err);
}

mldf_status mldf_loader_restore(mldf_loader *loader, const char *text, size_t text_bytes, mldf_error *err) {
    mldf_order_state state;
    struct json json = {0};
    mldf_status status = mldfi_loader_check(loader, "restore", err);
    if (status >= 0)
        status = mldf_order_state_parse(text, text_bytes, &state, err);
    if (status >= 0)
        status = mldfi_json_parse(&json, text, text_bytes, err);
    if (status >= 0)
        status = check_view(loader, &json, err);
    if (status >= 0)
        status = mldf_order_state_check(loader->order, &state, err);
    if (status >= 0)
        status = restore(loader, &json, &state, err);
    mldfi_json_free(&json);
    return status;
}
