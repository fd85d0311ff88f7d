/* The known answers of docs/order-vectors.json, which tests/python/test_order_reference.py computes from the text of docs/order.md. */
#include "unit/order/orders.h"
#include "util/json.h"

static struct json json;

static uint64_t number(uint32_t object, const char *key, uint64_t otherwise) {
    uint32_t at = mldfi_json_find(&json, object, key);
    uint64_t value = otherwise;
    if (at != UINT32_MAX && !mldfi_json_u64(&json, at, &value))
        check_fail(__FILE__, __LINE__, "%s is no number", key);
    return value;
}

/* Numbers of an array; the caller frees them. */
static uint64_t *list_of(uint32_t object, const char *key, size_t *count) {
    uint32_t at = mldfi_json_find(&json, object, key);
    *count = 0;
    if (at == UINT32_MAX)
        return NULL;
    uint64_t *list = must(calloc(json.nodes[at].count + 1, sizeof *list), NULL);
    for (uint32_t i = mldfi_json_first(&json, at); i < json.nodes[at].next; i = json.nodes[i].next)
        CHECK(mldfi_json_u64(&json, i, &list[(*count)++]));
    return list;
}

static bool is(uint32_t object, const char *key, const char *text) {
    uint32_t at = mldfi_json_find(&json, object, key);
    return at != UINT32_MAX && mldfi_json_is_text(&json, at, text);
}

static mldf_order *build(uint32_t at);

static mldf_order *build_weights(uint32_t at, const mldf_order_options *o) {
    uint32_t array = mldfi_json_find(&json, at, "weights");
    double weights[16];
    size_t count = 0;
    mldf_order *order = NULL;
    mldf_error err = {0};
    for (uint32_t i = array + 1; count < 16 && i < json.nodes[array].next; i = json.nodes[i].next)
        CHECK(mldfi_json_double(&json, i, &weights[count++]));
    CHECK_OK(mldf_order_new_weighted(weights, count, number(at, "draws", 0), o, &order, &err), &err);
    return must(order, &err);
}

static mldf_order *build_mixture(uint32_t at, const mldf_order_options *o) {
    uint32_t array = mldfi_json_find(&json, at, "parts");
    mldf_order_part parts[8];
    mldf_order *made[8], *order = NULL;
    size_t count = 0;
    mldf_error err = {0};
    for (uint32_t i = array + 1; count < 8 && i < json.nodes[array].next; i = json.nodes[i].next, count++) {
        made[count] = build(mldfi_json_find(&json, i, "order"));
        parts[count] = (mldf_order_part){made[count], number(i, "ratio", 0)};
    }
    CHECK_OK(mldf_order_new_mixture(parts, count, number(at, "count", 0), o, &order, &err), &err);
    for (size_t i = 0; i < count; i++)
        mldf_order_free(made[i]);
    return must(order, &err);
}

static mldf_order *build(uint32_t at) {
    mldf_order_options o =
        options_of(MLDF_ORDER_SEQUENTIAL, number(at, "seed", 0), number(at, "block", 0), number(at, "window", 0));
    mldf_order *order = NULL;
    mldf_error err = {0};
    size_t count;
    for (int kind = 0; kind < 3; kind++)
        if (is(at, "kind", mldf_order_kind_name((mldf_order_kind)kind)))
            o.kind = (mldf_order_kind)kind;
    if (is(at, "form", "weights"))
        return build_weights(at, &o);
    if (is(at, "form", "mixture"))
        return build_mixture(at, &o);
    if (is(at, "form", "subset")) {
        uint64_t *list = list_of(at, "samples", &count);
        CHECK_OK(mldf_order_new_subset(list, count, &o, &order, &err), &err);
        free(list);
    } else {
        CHECK_OK(mldf_order_new(number(at, "count", 0), &o, &order, &err), &err);
    }
    return must(order, &err);
}

static size_t check_case(uint32_t at) {
    mldf_order *order = build(at);
    size_t positions, found, parts;
    uint64_t *position = list_of(at, "positions", &positions), *sample = list_of(at, "found", &found);
    uint64_t *part = list_of(at, "found_parts", &parts), epoch = number(at, "epoch", 0);
    uint8_t digest[16];
    char hex[33];
    CHECK_EQ_U64(positions, found);
    for (size_t i = 0; i < positions && i < found; i++) {
        mldf_place place;
        uint64_t back;
        mldf_error err = {0};
        CHECK_OK(mldf_order_at(order, epoch, position[i], &place, &err), &err);
        CHECK_EQ_U64(sample[i], place.sample);
        CHECK_EQ_U64(part ? part[i] : 0, place.part);
        if (mldf_order_is_invertible(order) && !part) {
            CHECK_OK(mldf_order_find(order, epoch, &place, &back, &err), &err);
            CHECK_EQ_U64(position[i], back);
        }
    }
    mldf_order_digest(order, digest);
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    CHECK(is(at, "digest", hex));
    free(position), free(sample), free(part);
    mldf_order_free(order);
    return positions;
}

static void orders_give_the_known_answers(void) {
    size_t bytes, answers = 0;
    char *text = (char *)check_read_file(check_source("docs/order-vectors.json"), &bytes);
    mldf_error err = {0};
    REQUIRE(text != NULL);
    REQUIRE_OK(mldfi_json_parse(&json, text, bytes, &err), &err);
    CHECK_EQ_U64(MLDF_ORDER_ALGORITHM, number(0, "algorithm", 0));
    uint32_t all = mldfi_json_find(&json, 0, "orders");
    for (uint32_t i = all + 1; i < json.nodes[all].next; i = json.nodes[i].next)
        answers += check_case(i);
    CHECK(json.nodes[all].count >= 30 && answers >= 500);
    mldfi_json_free(&json);
    free(text);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(orders_give_the_known_answers);
    return check_end();
}
