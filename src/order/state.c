/* Where a training run is (epoch, position, what it has seen), as JSON that a checkpoint keeps, and back; a state of another order is refused, by the
 * digest (digest.c). docs/order.md states the members. */
#include <inttypes.h>
#include <string.h>

#include "order/order.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

static void hex(char out[33], const uint8_t digest[16]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[32] = 0;
}

mldf_status mldf_order_state_write(const mldf_order_state *state, mldf_buffer *out, mldf_error *err) {
    char digest[33];
    if (!state || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no state, or no buffer for it");
    hex(digest, state->digest);
    return mldfi_buffer_printf(out, err,
                               "{\"algorithm\":%" PRIu32 ",\"consumed\":%" PRIu64 ",\"count\":%" PRIu64
                               ",\"digest\":\"%s\",\"epoch\":%" PRIu64 "}",
                               state->algorithm, state->consumed, state->count, digest, state->epoch);
}

/* ---- Parsing -------------------------------------------------------------------------------------------------------------- */

static mldf_status number(const struct json *json, const char *key, uint64_t most, uint64_t *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, key);
    if (at == UINT32_MAX)
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[0].offset, "the state of an order has no \"%s\"", key);
    if (!mldfi_json_u64(json, at, out) || *out > most)
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[at].offset,
                             "\"%s\" of an order's state is a whole number from 0 to %" PRIu64, key, most);
    return MLDF_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static mldf_status digest_of(const struct json *json, uint8_t digest[16], mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "digest");
    if (at == UINT32_MAX)
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[0].offset, "the state of an order has no \"digest\"");
    const struct json_node *node = &json->nodes[at];
    bool good = node->kind == MLDFI_JSON_STRING && node->text_bytes == 32;
    for (size_t i = 0; good && i < 16; i++) {
        int high = hex_digit(node->text[2 * i]), low = hex_digit(node->text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        if (good)
            digest[i] = (uint8_t)(high * 16 + low);
    }
    return good ? MLDF_OK
                : mldfi_fail_at(err, MLDF_E_SYNTAX, node->offset,
                                "\"digest\" of an order's state is a text of 32 hexadecimal digits");
}

static mldf_status members(const struct json *json, mldf_order_state *out, mldf_error *err) {
    uint64_t algorithm = 0;
    if (json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail_at(err, MLDF_E_SYNTAX, json->nodes[0].offset, "the state of an order is a JSON object");
    mldf_status status = number(json, "algorithm", UINT32_MAX, &algorithm, err);
    out->algorithm = (uint32_t)algorithm;
    if (status >= 0)
        status = number(json, "epoch", UINT64_MAX, &out->epoch, err);
    if (status >= 0)
        status = number(json, "count", ORDER_COUNT_MAX, &out->count, err);
    if (status >= 0) /* no more than there are */
        status = number(json, "consumed", out->count, &out->consumed, err);
    return status < 0 ? status : digest_of(json, out->digest, err);
}

mldf_status mldf_order_state_parse(const char *text, size_t bytes, mldf_order_state *out, mldf_error *err) {
    struct json json = {0};
    if (!out || (!text && bytes > 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no text, or no place for the state");
    memset(out, 0, sizeof *out);
    mldf_order_state state = {0};
    mldf_status status = mldfi_json_parse(&json, text ? text : "", bytes, err);
    if (status >= 0)
        status = members(&json, &state, err);
    if (status >= 0)
        *out = state;
    mldfi_json_free(&json);
    return status < 0 ? status : MLDF_OK;
}

/* ---- Belonging ------------------------------------------------------------------------------------------------------------ */

mldf_status mldf_order_state_check(const mldf_order *order, const mldf_order_state *state, mldf_error *err) {
    char theirs[33], ours[33];
    if (!order || !state)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no order, or no state");
    if (state->algorithm != MLDF_ORDER_ALGORITHM)
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state is of order algorithm %" PRIu32 ", this library has algorithm %d",
                          state->algorithm, (int)MLDF_ORDER_ALGORITHM);
    if (state->count != order->count)
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state is of an order with %" PRIu64 " positions an epoch, this one has %" PRIu64,
                          state->count, order->count);
    if (state->consumed > state->count)
        return mldfi_fail(err, MLDF_E_STATE, "the state has consumed %" PRIu64 " of %" PRIu64 " positions",
                          state->consumed, state->count);
    if (memcmp(state->digest, order->digest, 16) != 0) {
        hex(theirs, state->digest);
        hex(ours, order->digest);
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state is of another order of %" PRIu64 " positions (another kind, seed, block, window, "
                          "subset, weights or parts): its digest is %s, this one's %s",
                          state->count, theirs, ours);
    }
    return MLDF_OK;
}
