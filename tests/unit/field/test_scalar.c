/* INT of every width and FLOAT: limits, what is exact, what a damaged record gives. */
#include "fields.h"
#include "util/bytes.h"

#include <math.h>

static mldf_value int_value(int64_t i) {
    mldf_value v = value_of(MLDF_KIND_INT, NULL, 0);
    v.as.i = i;
    return v;
}

static mldf_value uint_value(uint64_t u) {
    mldf_value v = value_of(MLDF_KIND_UINT, NULL, 0);
    v.as.u = u;
    return v;
}

static const struct width {
    const char *arguments, *canonical;
    mldf_dtype dtype;
    int64_t least;
    uint64_t most;
} widths[] = {
    {"{\"dtype\":\"|b1\"}", "{\"dtype\":\"|b1\"}", MLDF_BOOL, 0, 1},
    {"{\"dtype\":\"|i1\"}", "{\"dtype\":\"|i1\"}", MLDF_I8, -128, 127},
    {"{ \"dtype\" : \"|u1\" }", "{\"dtype\":\"|u1\"}", MLDF_U8, 0, 255},
    {"{\"dtype\":\"<i2\"}", "{\"dtype\":\"<i2\"}", MLDF_I16, -32768, 32767},
    {"{\"dtype\":\"<u2\"}", "{\"dtype\":\"<u2\"}", MLDF_U16, 0, 65535},
    {"{\"dtype\":\"<i4\"}", "{\"dtype\":\"<i4\"}", MLDF_I32, INT32_MIN, INT32_MAX},
    {"{\"dtype\":\"<u4\"}", "{\"dtype\":\"<u4\"}", MLDF_U32, 0, UINT32_MAX},
    {"{\"dtype\":\"<i8\"}", "{}", MLDF_I64, INT64_MIN, INT64_MAX},
    {NULL, "{}", MLDF_I64, INT64_MIN, INT64_MAX},
    {"{\"dtype\":\"<u8\"}", "{\"dtype\":\"<u8\"}", MLDF_U64, 0, UINT64_MAX},
};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static void int_keeps_the_limits_of_its_width(void) {
    mldf_error err;
    for (size_t i = 0; i < WIDTHS; i++) {
        const struct width *w = &widths[i];
        mldf_schema *s = one_field(MLDF_INT, w->arguments, 0, &err);
        struct encoded e;
        mldf_value least = int_value(w->least), most = uint_value(w->most), out;
        REQUIRE(s != NULL);
        CHECK_EQ_STR(w->canonical, mldf_schema_field(s, 0)->arguments);
        CHECK_EQ_INT(w->dtype, mldf_schema_field(s, 0)->dtype);
        CHECK_OK(encode(s, &least, &e, &err), &err);
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_EQ_INT(w->least, out.as.i);
        CHECK_EQ_INT(w->dtype, out.dtype);
        CHECK_EQ_INT(w->dtype == MLDF_U64 ? MLDF_KIND_UINT : MLDF_KIND_INT, out.kind);
        CHECK_OK(encode(s, &most, &e, &err), &err);
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_EQ_U64(w->most, out.as.u);
        CHECK_EQ_U64(w->most, mldfi_load_u64(e.record));
        if (w->least > INT64_MIN) {
            least.as.i--;
            CHECK_STATUS(MLDF_E_RANGE, encode(s, &least, &e, &err), &err);
        }
        if (w->most < UINT64_MAX) {
            most.as.u++;
            CHECK_STATUS(MLDF_E_RANGE, encode(s, &most, &e, &err), &err);
        }
        mldf_schema_free(s);
    }
}

static void int_out_of_range_names_value_and_limits(void) {
    mldf_error err;
    struct encoded e;
    mldf_schema *s = one_field(MLDF_INT, "{\"dtype\":\"|i1\"}", 0, &err);
    mldf_value v = int_value(-129);
    REQUIRE(s != NULL);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("-129", TEXT(err));
    CHECK_CONTAINS("-128 to 127", TEXT(err));
    v = int_value(INT64_MIN);
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("-9223372036854775808", TEXT(err));
    mldf_schema_free(s);
}

static void int_refuses_other_kinds_and_dtypes(void) {
    mldf_error err;
    struct encoded e;
    mldf_schema *s = one_field(MLDF_INT, NULL, 0, &err);
    for (int kind = MLDF_KIND_NULL; kind <= MLDF_KIND_STORED + 1; kind++) {
        mldf_value v = value_of((mldf_kind)kind, NULL, 0);
        if (kind != MLDF_KIND_INT && kind != MLDF_KIND_UINT)
            CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    }
    mldf_schema_free(s);
    CHECK(one_field(MLDF_INT, "{\"dtype\":\"<f4\"}", 0, &err) == NULL);
    CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
    CHECK(one_field(MLDF_INT, "{\"dtype\":8}", 0, &err) == NULL);
    CHECK(one_field(MLDF_INT, "{\"dtyp\":\"<i4\"}", 0, &err) == NULL);
    CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
    CHECK_CONTAINS("\"dtyp\"", TEXT(err));
    CHECK_CONTAINS("did you mean \"dtype\"", TEXT(err));
}

static void int_record_outside_its_width_is_corrupt_at_the_record(void) {
    mldf_error err;
    struct encoded e = {{0}, NULL, 0};
    mldf_value out;
    mldf_schema *s = one_field(MLDF_INT, "{\"dtype\":\"|b1\"}", 0, &err);
    REQUIRE(s != NULL);
    mldfi_store_u64(e.record, 2);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(RECORD_AT, err.offset);
    CHECK_EQ_STR("f", err.field);
    mldfi_store_u64(e.record, UINT64_MAX);
    CHECK_STATUS(MLDF_E_CORRUPT, decode(s, &e, &out, &err), &err);
    mldf_schema_free(s);
}

static void float_takes_integers_that_are_exact(void) {
    static const struct {
        mldf_kind kind;
        uint64_t bits;
        mldf_status status;
    } cases[] = {
        {MLDF_KIND_INT, UINT64_C(1) << 53, MLDF_OK},
        {MLDF_KIND_INT, (UINT64_C(1) << 53) + 1, MLDF_E_RANGE},
        {MLDF_KIND_INT, (UINT64_C(1) << 53) + 2, MLDF_OK},
        {MLDF_KIND_INT, UINT64_C(1) << 63, MLDF_OK}, /* INT64_MIN */
        {MLDF_KIND_INT, INT64_MAX, MLDF_E_RANGE},
        {MLDF_KIND_INT, UINT64_MAX, MLDF_OK}, /* -1 */
        {MLDF_KIND_INT, 0, MLDF_OK},
        {MLDF_KIND_UINT, UINT64_MAX, MLDF_E_RANGE},
        {MLDF_KIND_UINT, UINT64_C(1) << 63, MLDF_OK},
    };
    mldf_error err;
    mldf_schema *s = one_field(MLDF_FLOAT, "{}", 0, &err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_value v = uint_value(cases[i].bits), out;
        struct encoded e;
        v.kind = cases[i].kind;
        CHECK_STATUS(cases[i].status, encode(s, &v, &e, &err), &err);
        if (cases[i].status < 0)
            continue;
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_EQ_F64(v.kind == MLDF_KIND_INT ? (double)v.as.i : (double)v.as.u, out.as.f);
    }
    mldf_schema_free(s);
}

static void float_keeps_every_bit(void) {
    static const double values[] = {0.0, -0.0, 1.5, 0x1p-1074, 1e308, -3.25};
    mldf_error err;
    mldf_schema *s = one_field(MLDF_FLOAT, NULL, 0, &err);
    struct encoded e;
    mldf_value out, v = value_of(MLDF_KIND_FLOAT, NULL, 0);
    REQUIRE(s != NULL);
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldf_schema_field(s, 0)->dtype);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        v.as.f = values[i];
        CHECK_OK(encode(s, &v, &e, &err), &err);
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_MEM_EQ(&values[i], &out.as.f, 8);
    }
    v.as.f = (double)NAN;
    CHECK_OK(encode(s, &v, &e, &err), &err);
    v.kind = MLDF_KIND_TEXT;
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    mldf_schema_free(s);
    CHECK(one_field(MLDF_FLOAT, "{\"dtype\":\"<f4\"}", 0, &err) == NULL);
    CHECK_CONTAINS("takes none", TEXT(err));
}

static void scalars_are_observed_for_statistics(void) {
    mldf_error err;
    struct encoded e;
    struct observation seen;
    mldf_schema *s = one_field(MLDF_INT, "{\"dtype\":\"<u8\"}", 0, &err);
    mldf_value v = uint_value(UINT64_MAX);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    s->fields[0].type->observe(s->fields[0].state, e.record, &seen);
    CHECK_EQ_INT(2, seen.number_kind);
    CHECK_EQ_U64(UINT64_MAX, seen.number.u);
    mldf_schema_free(s);
    s = one_field(MLDF_INT, NULL, 0, &err);
    v = int_value(-5);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    s->fields[0].type->observe(s->fields[0].state, e.record, &seen);
    CHECK_EQ_INT(1, seen.number_kind);
    CHECK_EQ_INT(-5, seen.number.i);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(int_keeps_the_limits_of_its_width);
    RUN(int_out_of_range_names_value_and_limits);
    RUN(int_refuses_other_kinds_and_dtypes);
    RUN(int_record_outside_its_width_is_corrupt_at_the_record);
    RUN(float_takes_integers_that_are_exact);
    RUN(float_keeps_every_bit);
    RUN(scalars_are_observed_for_statistics);
    return check_end();
}
