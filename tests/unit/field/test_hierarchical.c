/* TEXT_HIERARCHICAL: record and payload, what makes no levels, ids outside the vocabulary, levels as parts. */
#include "field/edge.h"
#include "field/tokens.h"
#include "fields.h"
#include "util/buffer.h"
#include "util/bytes.h"

static const int32_t ids[] = {10, 11, 12, 13, 14, 15, 16};
static const uint32_t paragraphs[] = {3, 7}, sentences[] = {2, 3, 4, 7};

static mldf_status encode_levels(const mldf_schema *s, uint64_t count, const uint32_t *p, uint64_t p_count,
                                 const uint32_t *q, uint64_t q_count, mldf_buffer *scratch, struct encoded *out,
                                 mldf_error *err) {
    const struct schema_field *f = &s->fields[0];
    mldf_buffer form = MLDF_BUFFER_INIT;
    mldf_value v;
    memset(out, 0, sizeof *out);
    mldf_status status = mldf_tokens_levels_value(MLDF_I32, ids, count, p, p_count, q, q_count, &form, &v, err);
    if (status == MLDF_OK)
        status =
            f->type->type.encode(NULL, f->state, &v, out->record, scratch, &out->payload, &out->payload_bytes, err);
    mldf_buffer_free(&form);
    return status;
}

static mldf_schema *field(mldf_error *err) {
    return one_field(MLDF_TEXT_HIERARCHICAL, "{\"vocabulary\":300}", 0, err);
}

static void the_tables_follow_the_ids(void) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    mldf_value out;
    mldf_tokens t;
    uint64_t begin, end;
    mldf_schema *s = field(&err);
    REQUIRE(s != NULL);
    CHECK_EQ_STR("text_hierarchical", mldf_schema_field(s, 0)->type_name);
    CHECK_EQ_U64(32, mldf_schema_field(s, 0)->record_bytes);
    CHECK_EQ_U64(MLDF_FIELD_SIZE64, mldf_schema_field(s, 0)->flags);
    CHECK_OK(encode_levels(s, 7, paragraphs, 2, sentences, 4, &scratch, &e, &err), &err);
    CHECK_EQ_U64(16 + 4 * 6, e.payload_bytes); /* 7 ids of 2 bytes, 2 zeros, 6 ends */
    CHECK_EQ_U64(7, mldfi_load_u32(e.record + 16));
    CHECK_EQ_U64(2, mldfi_load_u32(e.record + 20));
    CHECK_EQ_U64(4, mldfi_load_u32(e.record + 24));
    CHECK_EQ_U64(3, mldfi_load_u32((const uint8_t *)e.payload + 16));
    CHECK_EQ_U64(2, mldfi_load_u32((const uint8_t *)e.payload + 24));
    CHECK_OK(check_deep(s, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(7, out.dims[0]);
    CHECK_EQ_U64(14, out.bytes);
    const mldf_field *info = mldf_schema_field(s, 0);
    CHECK_OK(mldf_tokens_of(info, &out, &t, &err), &err);
    CHECK_EQ_U64(1, t.documents);
    CHECK_OK(mldf_tokens_level(info, &out, MLDF_LEVEL_PARAGRAPH, &t, &err), &err);
    CHECK_EQ_U64(2, t.documents);
    CHECK_OK(mldf_tokens_document(&t, 1, &begin, &end, &err), &err);
    CHECK(begin == 3 && end == 7);
    CHECK_OK(mldf_tokens_level(info, &out, MLDF_LEVEL_SENTENCE, &t, &err), &err);
    CHECK_EQ_U64(4, t.documents);
    CHECK_OK(mldf_tokens_document(&t, 2, &begin, &end, &err), &err);
    CHECK(begin == 3 && end == 4);
    CHECK_STATUS(MLDF_E_RANGE, mldf_tokens_document(&t, 4, &begin, &end, &err), &err);
    mldf_schema_free(s);
    mldf_buffer_free(&scratch);
}

static void a_flat_array_is_one_sentence_and_nothing_has_none(void) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    mldf_value v = value_of(MLDF_KIND_ARRAY, ids, sizeof ids);
    mldf_schema *s = field(&err);
    REQUIRE(s != NULL);
    const struct schema_field *f = &s->fields[0];
    v.dtype = MLDF_I32;
    v.ndim = 1;
    for (uint64_t count = 0; count <= 7; count += 7) {
        v.dims[0] = count;
        v.bytes = 4 * count;
        memset(&e, 0, sizeof e);
        CHECK_OK(f->type->type.encode(NULL, f->state, &v, e.record, &scratch, &e.payload, &e.payload_bytes, &err),
                 &err);
        CHECK_EQ_U64(count ? 24 : 0, e.payload_bytes);
        CHECK_EQ_U64(count ? 1 : 0, mldfi_load_u32(e.record + 20));
        CHECK_EQ_U64(count ? 1 : 0, mldfi_load_u32(e.record + 24));
        CHECK_OK(check_deep(s, &e, &err), &err);
    }
    mldf_schema_free(s);
    mldf_buffer_free(&scratch);
}

static void levels_that_contradict_themselves_are_refused(void) {
    static const struct {
        uint64_t count;
        uint32_t p[3], p_count, q[3], q_count;
        const char *why;
    } cases[] = {
        {7, {7}, 1, {3, 6}, 2, "sentences ends at 6"},
        {7, {6}, 1, {3, 7}, 2, "paragraphs ends at 6"},
        {7, {7}, 1, {3, 3, 7}, 3, "sentence 1 ends at token 3"},
        {7, {4, 7}, 2, {3, 7}, 2, "inside a sentence"},
        {7, {0, 7}, 2, {3, 7}, 2, "paragraph 0 ends at token 0"},
        {7, {0}, 0, {7}, 1, "0 paragraphs"},
        {7, {7}, 1, {0}, 0, "1 paragraphs of 0 sentences"},
        {0, {0}, 1, {0}, 1, "1 sentences of 0 tokens"},
        {7, {3, 7}, 2, {7}, 1, "2 paragraphs of 1 sentences"},
    };
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    mldf_schema *s = field(&err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(MLDF_E_RANGE,
                     encode_levels(s, cases[i].count, cases[i].p, cases[i].p_count, cases[i].q, cases[i].q_count,
                                   &scratch, &e, &err),
                     &err);
        CHECK_CONTAINS(cases[i].why, TEXT(err));
    }
    mldf_schema_free(s);
    s = one_field(MLDF_TEXT_HIERARCHICAL, "{\"vocabulary\":15}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_STATUS(MLDF_E_RANGE, encode_levels(s, 7, paragraphs, 2, sentences, 4, &scratch, &e, &err), &err);
    CHECK_CONTAINS("token 5 (sentence 3) is 15", TEXT(err));
    mldf_schema_free(s);
    mldf_buffer_free(&scratch);
}

static void a_level_is_a_part_read_from_its_table_alone(void) {
    mldf_buffer scratch = MLDF_BUFFER_INIT, column = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    struct field_part part;
    struct edge edge = {0};
    uint64_t offset;
    mldf_schema *s = field(&err);
    REQUIRE(s != NULL);
    const struct schema_field *f = &s->fields[0];
    CHECK_OK(encode_levels(s, 7, paragraphs, 2, sentences, 4, &scratch, &e, &err), &err);
    CHECK_OK(f->type->part(f, 1, &part, &err), &err);
    CHECK_EQ_STR("sentences", part.name);
    CHECK_OK(f->type->part_edge(f, &part, NULL, &edge, &err), &err);
    CHECK_EQ_INT(MLDF_I64, edge.dtype);
    CHECK_EQ_U64(16, f->type->part_table(f, &part, e.record, &offset));
    CHECK_EQ_U64(24, offset);
    CHECK_OK(
        f->type->part_column(f, &part, e.record, e.payload_bytes, (const uint8_t *)e.payload + offset, &column, &err),
        &err);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ_U64(sentences[i], mldfi_load_u64(column.data + 8 * i));
    CHECK_STATUS(MLDF_END, f->type->part(f, 2, &part, &err), NULL);
    mldf_schema_free(s);
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&column);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(the_tables_follow_the_ids);
    RUN(a_flat_array_is_one_sentence_and_nothing_has_none);
    RUN(levels_that_contradict_themselves_are_refused);
    RUN(a_level_is_a_part_read_from_its_table_alone);
    return check_end();
}
