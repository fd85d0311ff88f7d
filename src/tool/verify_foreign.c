/* verify for TBL, .beton and tar: what the format's own reader finds (structure, CRCs), the keys, then, when deep, every value decoded. The structure
 * of a tar archive was checked when it was opened. verify.c comes before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/foreign.h"
#include "tool/verify.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

struct foreign_check {
    struct verify *verify;
    uint8_t *bad; /* one byte for each sample */
    bool no_memory, cancelled;
    mldf_error *err;
    mldf_buffer scratch;
    struct media_kit kit;
};

static void report(struct foreign_check *c, const mldf_error *found) {
    mldf_error problem = *found;
    uint64_t count = c->verify->result->num_samples;
    if (!c->bad && !c->no_memory)
        c->no_memory = !(c->bad = mldfi_alloc_zero((size_t)count + 1, 1, c->err));
    if (c->bad && problem.sample < count)
        c->bad[problem.sample] = 1;
    mldfi_verify_report(c->verify, &problem);
}

static bool on_problem(void *user, const mldf_error *problem) {
    struct foreign_check *c = user;
    if (problem)
        report(c, problem);
    else
        atomic_fetch_add(&c->verify->samples_done, 1);
    c->cancelled = mldfi_verify_tick(c->verify, c->err) < 0;
    return !c->no_memory && !c->cancelled;
}

/* ---- Values ------------------------------------------------------------------------------------------------------------- */

/* An image by the file's word, and no image by its bytes. Where a value is made from the file, not kept as the file, making it found that out. */
static mldf_status check_claim(const mldf_reader *reader, uint64_t sample, size_t field, const mldf_value *value,
                               mldf_error *err) {
    const struct foreign *foreign = &reader->foreign;
    const struct field_type *type = reader->schema->fields[field].type;
    mldf_error why;
    if (!type || !type->files || !type->files->keep || !foreign->ops->claims_file || value->kind != MLDF_KIND_BYTES ||
        !foreign->ops->claims_file(foreign->state, sample, field))
        return MLDF_OK;
    mldf_status status = type->files->look("", value->data, (size_t)value->bytes, NULL, NULL, &why);
    if (status >= 0 || status == MLDF_E_UNSUPPORTED)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CORRUPT, "the file says that it is %s: %s", type->files->noun, why.message);
}

static mldf_status check_value(struct foreign_check *c, uint64_t sample, size_t field, mldf_error *err) {
    const mldf_reader *reader = c->verify->reader;
    const struct schema_field *f = &reader->schema->fields[field];
    mldf_value value;
    mldf_status status = mldf_reader_get(reader, sample, field, &c->scratch, &value, err);
    if (status < 0 || value.kind == MLDF_KIND_NULL)
        return status;
    atomic_fetch_add(&c->verify->bytes_done, value.bytes);
    status = check_claim(reader, sample, field, &value, err);
    if (status >= 0)
        status = mldfi_field_check_deep(f, &c->kit, value.record, 0, value.data, value.bytes, 0, err);
    mldfi_kit_trim(&c->kit);
    if (status < 0) {
        mldfi_reader_name_error(reader, err, status);
        mldfi_error_place(err, sample, f->info.name);
    }
    return status;
}

static mldf_status check_values(struct foreign_check *c, mldf_error *err) {
    mldf_error problem;
    mldf_status status = MLDF_OK;
    atomic_store(&c->verify->samples_done, 0);
    for (uint64_t i = 0; i < c->verify->result->num_samples && status >= 0; i++) {
        for (size_t f = 0; f < c->verify->reader->schema->field_count && status >= 0; f++) {
            status = check_value(c, i, f, &problem);
            if (status >= 0)
                continue;
            if (!mldfi_is_problem(status)) {
                if (err)
                    *err = problem;
                return status;
            }
            /* What the format's own check has found already is not said twice. */
            if (!(c->bad && c->bad[i]))
                report(c, &problem);
            status = c->no_memory ? MLDF_E_MEMORY : MLDF_OK;
        }
        atomic_fetch_add(&c->verify->samples_done, 1);
        if (status >= 0)
            status = mldfi_verify_tick(c->verify, err);
    }
    return status;
}

/* ---- Keys --------------------------------------------------------------------------------------------------------------- */

/* What a key must be so that it can be shown, looked up and written. */
static mldf_status check_key(const struct foreign_check *c, uint64_t sample, mldf_error *problem) {
    const struct foreign *foreign = &c->verify->reader->foreign;
    const char *key;
    size_t bytes;
    mldf_status status = foreign->ops->key(foreign->state, sample, &key, &bytes, problem);
    if (status < 0) /* the format's own check has told of it */
        return foreign->ops->verify && mldfi_is_problem(status) ? MLDF_OK : status;
    if (bytes == 0 || bytes > FORMAT_MAX_KEY)
        return mldfi_fail(problem, MLDF_E_CORRUPT, "a key of %zu bytes; keys have 1 to %d", bytes, (int)FORMAT_MAX_KEY);
    if (memchr(key, 0, bytes) || mldfi_utf8_valid_prefix(key, bytes) != bytes)
        return mldfi_fail(problem, MLDF_E_CORRUPT, "its key is not UTF-8 text");
    if (foreign->ops->find_key(foreign->state, key, bytes) != sample)
        return mldfi_fail(problem, MLDF_E_CORRUPT, "its key leads to another sample");
    return MLDF_OK;
}

static mldf_status check_keys(struct foreign_check *c, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!c->verify->reader->foreign.ops->key)
        return MLDF_OK;
    for (uint64_t i = 0; i < c->verify->result->num_samples && status >= 0; i++) {
        mldf_error problem;
        status = check_key(c, i, &problem);
        if (status >= 0)
            continue;
        if (!mldfi_is_problem(status)) {
            if (err)
                *err = problem;
            return status;
        }
        mldfi_reader_name_error(c->verify->reader, &problem, status);
        mldfi_error_place(&problem, i, NULL);
        report(c, &problem);
        status = c->no_memory ? MLDF_E_MEMORY : MLDF_OK;
    }
    return status;
}

mldf_status mldfi_verify_foreign(struct verify *verify, const mldf_reader *reader, mldf_error *err) {
    struct foreign_check c = {.verify = verify, .err = err};
    const struct foreign_ops *ops = reader->foreign.ops;
    mldf_verify_result *result = verify->result;
    mldf_status status = MLDF_OK;
    verify->reader = reader;
    result->num_samples = mldf_reader_sample_count(reader);
    result->checksummed = ops->checksummed;
    if (ops->verify) {
        status = ops->verify(reader->foreign.state, on_problem, &c, err);
        if (c.cancelled)
            status = mldfi_fail(err, MLDF_E_CANCELLED, "verify was cancelled");
    }
    if (status >= 0 && c.no_memory)
        status = MLDF_E_MEMORY;
    if (status >= 0)
        status = check_keys(&c, err);
    if (status >= 0 && verify->options.deep)
        status = check_values(&c, err);
    result->good_samples = result->num_samples;
    for (uint64_t i = 0; c.bad && i < result->num_samples; i++)
        result->good_samples -= c.bad[i];
    free(c.bad);
    mldf_buffer_free(&c.scratch);
    mldfi_kit_free(&c.kit);
    return status;
}
