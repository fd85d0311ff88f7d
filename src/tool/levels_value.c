/* JSON into hierarchical text: [[[1, 2], [3]], [[4, 5]]], paragraphs of sentences of ids; or what extract writes, {"tokens": [...], "paragraphs": [ends],
 * "sentences": [ends]}. A flat list is one sentence (array.c). See convert.h. */
#include <string.h>

#include "mldf/tokens.h"
#include "tool/convert.h"
#include "util/buffer.h"
#include "util/error.h"

struct levels {
    mldf_buffer ids, paragraphs, sentences; /* i64; u32 each */
};

static uint64_t id_count(const struct levels *l) {
    return l->ids.size / 8;
}

static mldf_status add_id(struct levels *l, const struct json *json, uint32_t node, mldf_error *err) {
    uint8_t id[8];
    mldf_status status = mldfi_put_element(MLDF_I64, json, node, id, err);
    return status < 0 ? status : mldf_buffer_append(&l->ids, id, sizeof id, err);
}

static mldf_status add_end(mldf_buffer *ends, uint64_t end, mldf_error *err) {
    uint32_t small = (uint32_t)end;
    if (end > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "more than 2^32 - 1 tokens");
    return mldf_buffer_append(ends, &small, sizeof small, err);
}

static mldf_status expect_list(const struct json *json, uint32_t node, const char *what, mldf_error *err) {
    return json->nodes[node].kind == MLDFI_JSON_ARRAY ? MLDF_OK
                                                      : mldfi_fail(err, MLDF_E_TYPE, "%s is not a list", what);
}

static mldf_status take_nested(struct levels *l, const struct json *json, uint32_t node, mldf_error *err) {
    const struct json_node *n = json->nodes;
    mldf_status status = MLDF_OK;
    for (uint32_t p = mldfi_json_first(json, node); p < n[node].next && status >= 0; p = n[p].next) {
        status = expect_list(json, p, "a paragraph", err);
        for (uint32_t s = mldfi_json_first(json, p); status >= 0 && s < n[p].next; s = n[s].next) {
            status = expect_list(json, s, "a sentence", err);
            for (uint32_t i = mldfi_json_first(json, s); status >= 0 && i < n[s].next; i = n[i].next)
                status = add_id(l, json, i, err);
            if (status >= 0)
                status = add_end(&l->sentences, id_count(l), err);
        }
        if (status >= 0)
            status = add_end(&l->paragraphs, id_count(l), err);
    }
    return status;
}

static mldf_status take_ends(const struct json *json, uint32_t object, const char *name, mldf_buffer *out,
                             mldf_error *err) {
    uint32_t node = mldfi_json_find(json, object, name);
    if (node == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_TYPE, "an object without \"%s\"", name);
    mldf_status status = expect_list(json, node, name, err);
    for (uint32_t i = mldfi_json_first(json, node); status >= 0 && i < json->nodes[node].next;
         i = json->nodes[i].next) {
        uint64_t end;
        status = mldfi_json_u64(json, i, &end)
                     ? add_end(out, end, err)
                     : mldfi_fail(err, MLDF_E_TYPE, "\"%s\" has an entry that is not a position", name);
    }
    return status;
}

static mldf_status take_object(struct levels *l, const struct json *json, uint32_t node, mldf_error *err) {
    uint32_t tokens = mldfi_json_find(json, node, "tokens");
    if (tokens == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_TYPE, "an object without \"tokens\"");
    mldf_status status = expect_list(json, tokens, "tokens", err);
    for (uint32_t i = mldfi_json_first(json, tokens); status >= 0 && i < json->nodes[tokens].next;
         i = json->nodes[i].next)
        status = add_id(l, json, i, err);
    if (status >= 0)
        status = take_ends(json, node, "paragraphs", &l->paragraphs, err);
    return status < 0 ? status : take_ends(json, node, "sentences", &l->sentences, err);
}

mldf_status mldfi_convert_levels(struct converter *c, const struct json *json, uint32_t node, mldf_value *out,
                                 mldf_error *err) {
    const struct json_node *n = &json->nodes[node];
    struct levels l = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    uint32_t first = mldfi_json_first(json, node);
    if (n->kind != MLDFI_JSON_OBJECT &&
        (n->kind != MLDFI_JSON_ARRAY || n->count == 0 || json->nodes[first].kind != MLDFI_JSON_ARRAY))
        return mldfi_convert_array(c, json, node, out, err);
    mldf_status status =
        n->kind == MLDFI_JSON_OBJECT ? take_object(&l, json, node, err) : take_nested(&l, json, node, err);
    if (status >= 0)
        status = mldf_tokens_levels_value(
            MLDF_I64, l.ids.data, id_count(&l), (const uint32_t *)(void *)l.paragraphs.data, l.paragraphs.size / 4,
            (const uint32_t *)(void *)l.sentences.data, l.sentences.size / 4, &c->scratch, out, err);
    mldf_buffer_free(&l.ids);
    mldf_buffer_free(&l.paragraphs);
    mldf_buffer_free(&l.sentences);
    return status;
}
