/* mldf_verify: everything that a file promises, checked by positional reads in bounded memory. What makes a file unreadable is
 * one problem; otherwise every check runs, in the order of the specification, and each violation is reported. verify.h
 * shows how the work is divided; verify_tables.c comes next. */
#include "tool/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

/* ---- Reports and progress ------------------------------------------------------------------------------------------- */

void mldfi_verify_report(struct verify *verify, const mldf_error *problem) {
    verify->result->problems++;
    if (verify->options.problem)
        verify->options.problem(verify->options.problem_user, problem);
}

void mldfi_verify_problem(struct verify *verify, mldf_status status, uint64_t offset, uint64_t sample,
                          const char *format, ...) {
    mldf_error problem;
    char text[MLDF_MESSAGE_MAX + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mldfi_reader_fail(verify->reader, &problem, status, offset, "%s", text);
    mldfi_error_place(&problem, sample, NULL);
    mldfi_verify_report(verify, &problem);
}

mldf_status mldfi_verify_tick(struct verify *verify, mldf_error *err) {
    double now = mldfi_time();
    uint64_t total = verify->reader && !verify->reader->foreign.ops ? verify->reader->end : MLDF_NONE,
             done = atomic_load(&verify->bytes_done);
    mldf_progress progress = {"verify",
                              atomic_load(&verify->samples_done),
                              verify->result->num_samples,
                              done < total ? done : total /* some tables are read twice */,
                              total,
                              0};
    if (!verify->options.progress || now - verify->last_report < 0.05)
        return MLDF_OK;
    verify->last_report = now;
    if (verify->options.progress(verify->options.progress_user, &progress))
        return MLDF_OK;
    atomic_store(&verify->cancelled, true);
    return mldfi_fail(err, MLDF_E_CANCELLED, "verify was cancelled");
}

mldf_status mldfi_verify_pulse(struct verify_worker *worker, mldf_error *err) {
    if (worker->on_caller)
        return mldfi_verify_tick(worker->verify, err);
    if (atomic_load_explicit(&worker->verify->cancelled, memory_order_relaxed))
        return mldfi_fail(err, MLDF_E_CANCELLED, "verify was cancelled");
    return MLDF_OK;
}

mldf_status mldfi_verify_add(struct verify_job *job, const mldf_error *problem, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&job->problems, &job->problem_capacity, job->problem_count + 1, sizeof *problem, err);
    if (status >= 0)
        job->problems[job->problem_count++] = *problem;
    return status;
}

/* ---- The front header ------------------------------------------------------------------------------------------------- */

/* A header that is not the state is a problem, unless the file was streamed: then its pointers are zero, and what could be
 * known beforehand must be what the footer says. */
static mldf_status check_front(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint8_t front[FORMAT_HEADER_BYTES], state[FORMAT_HEADER_BYTES], zero[FORMAT_HEADER_BYTES] = {0};
    enum { SAMPLES = 8, SAMPLES_END = 16, POINTERS = 24 };
    if (!reader->header_recovered)
        return MLDF_OK;
    mldf_status status = mldfi_reader_copy(reader, FORMAT_HEADER_OFFSET, front, sizeof front, err);
    if (status >= 0)
        status = mldfi_reader_copy(reader, reader->footer_ptr, state, sizeof state, err);
    if (status < 0 || memcmp(front, zero, sizeof front) == 0)
        return status;
    bool streamed = memcmp(front + POINTERS, zero, FORMAT_HEADER_BYTES - POINTERS) == 0;
    if (streamed) {
        memset(state + POINTERS, 0, FORMAT_HEADER_BYTES - POINTERS);
        if (memcmp(front + SAMPLES, zero, SAMPLES_END - SAMPLES) == 0)
            memset(state + SAMPLES, 0, SAMPLES_END - SAMPLES);
    }
    for (size_t i = 0; i < FORMAT_HEADER_BYTES; i++)
        if (front[i] != state[i]) {
            mldfi_verify_problem(
                verify, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + i, MLDF_NONE,
                "the front header is not the state of the file: byte %zu is %02x, in the footer at %" PRIu64
                " it is %02x; `mldf repair` puts it back",
                FORMAT_HEADER_OFFSET + i, front[i], reader->footer_ptr, state[i]);
            break;
        }
    return MLDF_OK;
}

/* V13. A field of a 1.0 file whose type is known and whose records are not that type's is read as one of an unknown type, and cannot be
 * written anew. */
static mldf_status check_draft_fields(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    uint64_t stride = reader->tables.descriptors.bytes / reader->schema->field_count;
    (void)err;
    for (size_t i = 0; reader->draft && i < reader->schema->field_count; i++) {
        const mldf_field *field = &reader->schema->fields[i].info;
        uint64_t at = reader->header.field_desc_ptr + i * stride;
        const struct field_type *type = mldfi_builtin_type(field->type_id);
        if (field->known || !type || type->draft_differs)
            continue;
        if (field->type_id == MLDF_NDARRAY || field->type_id == MLDF_INLINE)
            mldfi_verify_problem(verify, MLDF_E_FEATURE, at + 64, MLDF_NONE,
                                 "field %s: type %s needs arguments, which a 1.0 file does not have", field->name,
                                 field->type_name);
        else
            mldfi_verify_problem(verify, MLDF_E_CORRUPT, at + 68, MLDF_NONE,
                                 "field %s: records of %" PRIu32 " bytes are not those of type %s", field->name,
                                 field->record_bytes, field->type_name);
    }
    return MLDF_OK;
}

/* V10. */
static mldf_status check_card(struct verify *verify, mldf_error *err) {
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_error problem;
    if (!mldfi_verify_usable(verify, verify->reader->card))
        return MLDF_OK;
    mldf_status status = mldf_reader_card(verify->reader, &card, &problem);
    mldf_buffer_free(&card);
    if (status >= 0)
        return MLDF_OK;
    if (mldfi_is_problem(status)) {
        mldfi_verify_report(verify, &problem);
        return MLDF_OK;
    }
    if (err)
        *err = problem;
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------------- */

static mldf_status run_checks(struct verify *verify, mldf_error *err) {
    static mldf_status (*const checks[])(struct verify *, mldf_error *) = {check_front,
                                                                           check_draft_fields,
                                                                           mldfi_verify_sections,
                                                                           mldfi_verify_blocks,
                                                                           mldfi_verify_allocations,
                                                                           mldfi_verify_validity,
                                                                           mldfi_verify_keys,
                                                                           mldfi_verify_history,
                                                                           mldfi_verify_samples,
                                                                           mldfi_verify_page_map,
                                                                           mldfi_verify_stats,
                                                                           mldfi_verify_plans,
                                                                           check_card};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        mldf_status status = checks[i](verify, err);
        if (status >= 0)
            status = mldfi_verify_tick(verify, err);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

/* A file whose tables do not authenticate is a problem, and the rest is checked as far as it goes without the key. */
static mldf_status open_file(struct verify *verify, const char *path, mldf_reader **out, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_error problem;
    options.context = verify->options.context;
    options.backend = MLDF_BACKEND_READ;
    options.without_key = true;
    options.sequential = true;
    options.tar_index = MLDF_TAR_INDEX_IGNORE; /* what is verified is the archive */
    options.secret = verify->options.secret;
    mldf_status status = mldf_reader_open(path, &options, out, &problem);
    if (status >= 0)
        return status;
    if (!mldfi_is_problem(status)) {
        if (err)
            *err = problem;
        return status;
    }
    mldfi_verify_report(verify, &problem);
    if (status != MLDF_E_TAMPERED)
        return MLDF_END;
    options.secret = (mldf_secret){0};
    return mldf_reader_open(path, &options, out, err);
}

mldf_status mldfi_verify_reader(struct verify *verify, const mldf_reader *reader, mldf_error *err) {
    mldf_verify_result *result = verify->result;
    verify->reader = reader;
    result->num_samples = reader->header.num_samples;
    result->checksummed = (reader->header.flags & FORMAT_FLAG_CHECKSUMMED) && !reader->draft;
    result->encrypted = reader->encrypted;
    result->authenticated = reader->crypt != NULL;
    verify->bad_blocks = mldfi_alloc_zero((size_t)mldfi_crc_blocks(reader->tables.metadata.bytes) + 1, 1, err);
    verify->maxima = mldfi_alloc_zero(reader->schema->field_count, sizeof *verify->maxima, err);
    mldf_status status = verify->bad_blocks && verify->maxima ? run_checks(verify, err) : MLDF_E_MEMORY;
    free(verify->bad_blocks);
    free(verify->maxima);
    return status;
}

static mldf_status verify_file(struct verify *verify, const char *path, mldf_error *err) {
    mldf_reader *reader = NULL;
    mldf_status status = open_file(verify, path, &reader, err);
    if (status != MLDF_OK)
        return status == MLDF_END ? MLDF_OK : status;
    status = reader->foreign.ops ? mldfi_verify_foreign(verify, reader, err) : mldfi_verify_reader(verify, reader, err);
    mldf_reader_close(reader);
    return status;
}

mldf_status mldf_verify(const char *path, const mldf_verify_options *options, mldf_verify_result *result,
                        mldf_error *err) {
    struct verify verify = {.options = MLDF_VERIFY_OPTIONS_INIT};
    mldf_verify_result found = MLDF_VERIFY_RESULT_INIT;
    if (!path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "verify needs a path");
    mldf_status status =
        mldfi_take_options(&verify.options, sizeof verify.options, "mldf_verify_options", options, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_verify_result", result, err);
    if (status < 0)
        return status;
    verify.result = &found;
    status = verify_file(&verify, path, err);
    mldfi_give_result(result, &found, sizeof found);
    return status;
}
