/* mldf_diff: two files compared by content, whatever their layout. Fields are matched by name; what one file alone has is one difference
 * of the whole file, not one for each sample. See diff_value.h for when two values are equal. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "mldf/tool.h"
#include "tool/diff_value.h"
#include "tool/input.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

struct pair {
    size_t a, b;
    struct value_compare compare;
    mldf_buffer scratch_a, scratch_b;
    bool stored; /* a type that is not known here */
};

struct diff {
    const mldf_reader *a, *b;
    const mldf_diff_options *options;
    uint64_t count;
    bool stop;
    struct pair *pairs;
    size_t pair_count;
    mldf_buffer key_a, key_b;
};

__attribute__((format(printf, 5, 6))) static void report(struct diff *d, uint64_t sample, const char *field,
                                                         const char *what, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mldf_difference difference = {sample, field, what, message};
    d->count++;
    if (d->options->difference && !d->options->difference(d->options->difference_user, &difference))
        d->stop = true;
}

/* ---- Fields -------------------------------------------------------------------------------------------------------- */

static bool is_foreign(const mldf_reader *reader) {
    return strcmp(mldf_reader_format(reader), "mldf") != 0;
}

/* What another format cannot say of a field: which images it takes, the width of its integers. */
static bool same_kind(const struct schema_field *a, const struct schema_field *b) {
    return mldfi_match_by_record(a, b) || (a->info.type_id == MLDF_INT && b->info.type_id == MLDF_INT);
}

/* False when their values cannot be compared. */
static bool compare_types(struct diff *d, const struct schema_field *one, const struct schema_field *other) {
    const mldf_field *a = &one->info, *b = &other->info;
    if ((is_foreign(d->a) || is_foreign(d->b)) && same_kind(one, other))
        return true;
    if (a->type_id != b->type_id) {
        report(d, MLDF_NONE, a->name, "type", "%s in the first file, %s in the second", a->type_name, b->type_name);
        return false;
    }
    /* A private type of a 1.0 file has no name to compare. */
    bool unnamed = a->type_id >= MLDF_PRIVATE && (strcmp(a->arguments, "{}") == 0 || strcmp(b->arguments, "{}") == 0);
    if (strcmp(a->arguments, b->arguments) == 0 || unnamed)
        return true;
    report(d, MLDF_NONE, a->name, "type", "%s %.200s in the first file, %.200s in the second", a->type_name,
           a->arguments, b->arguments);
    return a->type_id == MLDF_INT || a->type_id == MLDF_NDARRAY;
}

static mldf_status match_fields(struct diff *d, mldf_error *err) {
    const mldf_schema *a = mldf_reader_schema(d->a), *b = mldf_reader_schema(d->b);
    size_t na = mldf_schema_field_count(a), nb = mldf_schema_field_count(b), other;
    d->pairs = mldfi_alloc_zero(na + 1, sizeof *d->pairs, err);
    if (!d->pairs)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < na && !d->stop; i++) {
        const mldf_field *field = mldf_schema_field(a, i);
        if (mldf_schema_find(b, field->name, &other, NULL) < 0) {
            report(d, MLDF_NONE, field->name, "fields", "only the first file has this field");
        } else if (compare_types(d, &a->fields[i], &b->fields[other])) {
            struct pair *pair = &d->pairs[d->pair_count++];
            pair->a = i;
            pair->b = other;
            pair->compare.schema = a;
            pair->compare.field = i;
            pair->stored = !field->known || !mldf_schema_field(b, other)->known;
        }
    }
    for (size_t i = 0; i < nb && !d->stop; i++) {
        const char *name = mldf_schema_field(b, i)->name;
        if (mldf_schema_find(a, name, &other, NULL) < 0)
            report(d, MLDF_NONE, name, "fields", "only the second file has this field");
    }
    return MLDF_OK;
}

/* ---- The whole file ------------------------------------------------------------------------------------------------ */

/* Other formats have no card: what stands for one tells how the file is stored. TBL version 1 has the dataset's version in it. */
static bool cards_count(const struct diff *d) {
    const char *a = mldf_reader_format(d->a), *b = mldf_reader_format(d->b);
    return strcmp(a, b) == 0 && (strcmp(a, "mldf") == 0 || strcmp(a, "tbl1") == 0);
}

static mldf_status compare_cards(struct diff *d, mldf_error *err) {
    mldf_buffer a = MLDF_BUFFER_INIT, b = MLDF_BUFFER_INIT, ca = MLDF_BUFFER_INIT, cb = MLDF_BUFFER_INIT;
    mldf_status sa = mldf_reader_card(d->a, &a, err);
    mldf_status sb = sa < 0 ? sa : mldf_reader_card(d->b, &b, err);
    mldf_status status = sa < 0 ? sa : sb < 0 ? sb : MLDF_OK;
    if (status == MLDF_OK && sa != sb)
        report(d, MLDF_NONE, "", "card", "only the %s file has a card", sa == MLDF_OK ? "first" : "second");
    if (status == MLDF_OK && sa == MLDF_OK && sb == MLDF_OK) {
        bool equal = true;
        status = mldfi_json_equal(a.data, a.size, b.data, b.size, &ca, &cb, &equal, err);
        if (status == MLDF_OK && !equal)
            report(d, MLDF_NONE, "", "card", "the cards differ");
    }
    mldf_buffer_free(&a);
    mldf_buffer_free(&b);
    mldf_buffer_free(&ca);
    mldf_buffer_free(&cb);
    return status;
}

static mldf_status compare_files(struct diff *d, mldf_error *err) {
    uint64_t na = mldf_reader_sample_count(d->a), nb = mldf_reader_sample_count(d->b);
    if (na != nb)
        report(d, MLDF_NONE, "", "num_samples", "%" PRIu64 " samples in the first file, %" PRIu64 " in the second", na,
               nb);
    if (!d->stop && mldf_reader_has_keys(d->a) != mldf_reader_has_keys(d->b) && na > 0 && nb > 0)
        report(d, MLDF_NONE, "", "key", "only the %s file has sample keys",
               mldf_reader_has_keys(d->a) ? "first" : "second");
    mldf_status status = d->stop ? MLDF_OK : match_fields(d, err);
    if (status == MLDF_OK && !d->stop && cards_count(d))
        status = compare_cards(d, err);
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------- */

static mldf_status get(const mldf_reader *reader, bool stored, uint64_t sample, size_t field, mldf_buffer *scratch,
                       mldf_value *out, mldf_error *err) {
    return stored ? mldf_reader_get_stored(reader, sample, field, scratch, out, err)
                  : mldf_reader_get(reader, sample, field, scratch, out, err);
}

static mldf_status compare_value(struct diff *d, struct pair *p, uint64_t sample, mldf_error *err) {
    mldf_value x, y;
    bool equal;
    mldf_status status = get(d->a, p->stored, sample, p->a, &p->scratch_a, &x, err);
    if (status < 0) {
        mldfi_error_prefix(err, "first file");
        return status;
    }
    status = get(d->b, p->stored, sample, p->b, &p->scratch_b, &y, err);
    if (status < 0) {
        mldfi_error_prefix(err, "second file");
        return status;
    }
    status = mldfi_values_equal(&p->compare, &x, &y, &equal, err);
    if (status < 0 || equal)
        return status;
    char text[800];
    const char *name = mldf_schema_field(p->compare.schema, p->a)->name;
    bool null = x.kind == MLDF_KIND_NULL || y.kind == MLDF_KIND_NULL;
    mldfi_value_difference(&p->compare, &x, &y, text, sizeof text);
    report(d, sample, name, null ? "null" : "value", "%s", text);
    return MLDF_OK;
}

static mldf_status compare_keys(struct diff *d, uint64_t sample, mldf_error *err) {
    const char *a, *b;
    size_t na, nb;
    mldf_status status = mldf_reader_key(d->a, sample, &d->key_a, &a, &na, err);
    if (status == MLDF_OK)
        status = mldf_reader_key(d->b, sample, &d->key_b, &b, &nb, err);
    if (status == MLDF_OK && (na != nb || memcmp(a, b, na) != 0))
        report(d, sample, "", "key", "'%.*s' in the first file, '%.*s' in the second", (int)(na < 80 ? na : 80), a,
               (int)(nb < 80 ? nb : 80), b);
    return status;
}

static mldf_status compare_samples(struct diff *d, mldf_error *err) {
    uint64_t na = mldf_reader_sample_count(d->a), nb = mldf_reader_sample_count(d->b), count = na < nb ? na : nb;
    bool keys = mldf_reader_has_keys(d->a) && mldf_reader_has_keys(d->b);
    struct input_watch watch;
    memset(&watch, 0, sizeof watch);
    watch.progress = d->options->progress;
    watch.user = d->options->progress_user;
    watch.now.phase = "diff";
    watch.now.samples_total = count;
    watch.now.bytes_total = MLDF_NONE;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; status == MLDF_OK && i < count && !d->stop; i++) {
        if (keys)
            status = compare_keys(d, i, err);
        for (size_t f = 0; status == MLDF_OK && f < d->pair_count && !d->stop; f++)
            status = compare_value(d, &d->pairs[f], i, err);
        watch.now.samples_done = i + 1;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(&watch, false, err);
    }
    return status;
}

mldf_status mldf_diff(const mldf_reader *a, const mldf_reader *b, const mldf_diff_options *given, uint64_t *differences,
                      mldf_error *err) {
    mldf_diff_options own = MLDF_DIFF_OPTIONS_INIT;
    struct diff d;
    memset(&d, 0, sizeof d);
    if (!a || !b)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "diff needs two readers");
    TRY(mldfi_take_options(&own, sizeof own, "mldf_diff_options", given, err));
    d.a = a;
    d.b = b;
    d.options = &own;
    mldf_status status = compare_files(&d, err);
    if (status == MLDF_OK && !d.stop)
        status = compare_samples(&d, err);
    for (size_t i = 0; i < d.pair_count; i++) {
        mldf_buffer_free(&d.pairs[i].scratch_a);
        mldf_buffer_free(&d.pairs[i].scratch_b);
        mldf_buffer_free(&d.pairs[i].compare.a);
        mldf_buffer_free(&d.pairs[i].compare.b);
    }
    mldf_buffer_free(&d.key_a);
    mldf_buffer_free(&d.key_b);
    free(d.pairs);
    if (differences)
        *differences = d.count;
    return status;
}
