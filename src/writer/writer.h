/* The writer from the inside. Samples travel in jobs of about 1 MiB:
 *
 *   caller    append → job (values copied)                                  job.c
 *   worker    encode: validate, compress                                    job.c
 *   in order  place: pointers, rows, tables, statistics                     place.c
 *   worker    emit: encrypt, checksum, positional writes                    emit.c
 *   in order  retire: payload checks, skipped samples, recycle              schedule.c
 *   caller    finish: tables, sections, directory, footer, header, publish  finish_file.c
 *
 * Job boundaries depend on the samples alone and both ordered steps follow the samples' order, so the bytes do not depend on the
 * number of threads. With 0 threads the caller runs each step itself.
 *
 * While the page size is not decided (the first 16 MiB, "prelude"), place also emits, into memory; see place.c. */
#ifndef MLDF_WRITER_WRITER_H
#define MLDF_WRITER_WRITER_H

#include <pthread.h>
#include <stdatomic.h>

#include "codec/crypt.h"
#include "codec/zstd.h"
#include "field/field.h"
#include "format/format.h"
#include "mldf/writer.h"
#include "os/file.h"
#include "tokenizer/tokenizer.h"
#include "util/watch.h"
#include "writer/keyset.h"
#include "writer/row_tables.h"

enum {
    JOB_BYTES = 1 << 20, /* value bytes after which a job is handed on */
    JOB_SAMPLES = 4096,
    RUN_BYTES = 1 << 20,     /* small payloads are gathered into writes of this size */
    DIRECT_BYTES = 64 << 10, /* larger ones are written from where they are */
    WRITEBACK_BYTES = 8 << 20,
    DICTIONARY_SAMPLE_BYTES = 64 << 20,
    KEY_SLOTS_AT_ONCE = 1 << 21
};

enum job_state { JOB_FILLING, JOB_QUEUED, JOB_ENCODED, JOB_PLACED, JOB_WRITTEN };

/* One payload of one sample, from the caller's bytes to its place in the file. */
struct job_payload {
    mldf_kind kind; /* as given; NULL: none */
    mldf_dtype dtype;
    uint32_t ndim;
    bool in_encoded;    /* data is in job->encoded, else in job->arena */
    bool viewable;      /* align its value on 64 */
    uint32_t crc;       /* of the bytes in the file */
    uint64_t number;    /* value.as, for a user-defined type that takes one */
    size_t dims_offset; /* ARRAY: ndim u64 in the arena */
    size_t offset;      /* of the data */
    uint64_t bytes;     /* given; after encode: to be stored, before encryption */
    struct value_note note;
    uint64_t file_bytes, ptr; /* after place */
};

struct job_bad {
    size_t sample;
    mldf_error error;
};

struct job {
    struct job *next; /* in submission order */
    enum job_state state;
    uint64_t first_submitted;
    size_t samples;
    mldf_buffer rows;             /* samples × row_bytes */
    struct job_payload *payloads; /* samples × payload fields */
    uint8_t *valid;               /* samples × nullable fields */
    uint32_t *key_bytes;          /* for each sample; 0: none */
    mldf_buffer keys;
    mldf_buffer arena;   /* the caller's value bytes */
    mldf_buffer encoded; /* what encode made of them */
    struct job_bad *bad; /* ascending */
    size_t bad_count, bad_capacity;
    size_t emit_from;      /* samples that the prelude emitted already */
    uint64_t first_sample; /* index in the file of the sample at emit_from; set by place */
    uint64_t end;          /* of the data written so far, after place; 0 while all is in the prelude */
};

/* What a thread needs for itself. */
struct worker {
    struct mldf_writer *writer;
    pthread_t thread;
    struct zstd_compressor *compressor;
    const struct zstd_dictionary *compressor_dictionary;
    struct media_kit kit; /* what types and codecs keep between values */
    struct work_watch watch;
    mldf_buffer scratch; /* of user-defined types */
    mldf_buffer sealed;
    mldf_buffer run; /* bytes on their way to run_offset */
    uint64_t run_offset;
    struct placement *placements; /* room for one sample */
    struct value_note *notes;     /* the same */
};

/* A payload laid out while the page size was undecided. */
struct prelude_entry {
    uint64_t sample;
    struct placement at; /* in the layout with small pages */
    uint64_t moved_ptr;  /* in the layout with large pages */
};

struct prelude {
    bool active;
    bool moved; /* became large: rows[0, samples) still hold the old pointers */
    uint64_t samples;
    mldf_buffer bytes; /* the data region so far */
    size_t written;    /* of them, in the file */
    struct prelude_entry *entries;
    size_t count, capacity;
};

struct mldf_writer {
    const mldf_context *context;
    mldf_schema *schema;
    mldf_writer_options options; /* strings and secrets are not kept */
    char *card;                  /* canonical */
    size_t card_bytes;
    char *target; /* NULL: a stream */
    struct os_file file;
    int stream_fd; /* -1: a file */
    uint64_t stream_position;
    bool finished, published;
    bool in_set; /* the target is a temporary name of a publish_set, which makes names durable */

    struct crypt *crypt; /* NULL: not encrypted */
    struct zstd_dictionary *dictionary;
    mldf_buffer dictionary_bytes;
    bool dictionary_in_clear; /* of an encrypted file that is appended to and has it so */

    /* layout; place's turn only */
    struct table_builder tables;
    struct prelude prelude;
    struct key_set seen;
    uint64_t page_size, data_ptr, cursor;
    mldf_buffer taken_checks;

    /* resume */
    bool resuming;        /* options.resume: the partial files stay when the writer ends early */
    bool saved;           /* a checkpoint exists */
    uint64_t saved_end;   /* of the data that it covers */
    bool no_space;        /* the disk is full: what is saved stays, and the partial file too when nothing is */
    uint64_t fingerprint; /* of schema and options */
    uint64_t checkpoints; /* sequence number of the last one */
    mldf_buffer position;

    /* append: what stands before */
    bool appending;
    char *appended;   /* the file's name, from the root */
    uint64_t old_end; /* cut back to it on failure */
    uint64_t old_samples, old_descriptor_ptr;
    uint8_t old_header[FORMAT_HEADER_BYTES];
    mldf_buffer old_descriptors,
        old_long_arguments; /* as they stand in the file: another writer may spell them in its own way */
    bool header_touched;    /* the new one may be in place: put the old one back on failure */
    uint32_t generation;
    mldf_buffer history;
    struct kept_section *kept; /* private sections, carried over */
    size_t kept_count;
    struct added_field
        *adding;        /* field_writer.c; NULL: samples are added. While it runs, schema is of the new field alone */
    size_t first_field; /* index in the file of the schema's first field */

    /* caller's */
    struct job *filling;
    size_t job_samples;
    uint64_t submitted;
    mldf_value *staged; /* mldf_writer_set */
    size_t *staged_offset;
    mldf_buffer staged_bytes, staged_key;
    bool staged_has_key;
    struct job *held, *held_tail; /* waiting for the dictionary */
    uint64_t held_bytes;
    bool dictionary_pending;
    double last_progress;

    /* shared, under lock */
    pthread_mutex_t lock;
    pthread_cond_t work, room;
    struct job *encode_next, *place_next, *emit_next, *retire_next, *tail, *unused;
    size_t in_flight, max_in_flight;
    bool placing, retiring, stop, failed;
    mldf_error failure;
    mldf_buffer pending_checks; /* of retired jobs, until place's turn takes them */
    struct job_bad *skipped;    /* sample: submitted index; to be told on the caller's thread */
    size_t skipped_count, skipped_capacity;
    uint64_t skipped_total, bytes_written, samples_done;
    uint64_t writeback_from;
    atomic_bool cancelled;
    atomic_uint_least64_t frames_done; /* packets of videos that were decoded while packing */

    struct worker *workers; /* workers[0] is the caller's own */
    int thread_count;

    mldf_tokenize_options tokenize; /* tokenizer NULL: none. tokenize.c */
    size_t tokenize_field;
};

struct kept_section {
    struct section section;
    mldf_buffer bytes;
};

/* writer.c */
/* A file of a publish_set: finish gives it `temporary` as its name, which is not made durable yet. */
mldf_status mldfi_writer_open_in_set(const char *temporary, const mldf_schema *schema,
                                     const mldf_writer_options *options, mldf_writer **out, mldf_error *err);
/* Any time before finish; the text is copied. */
mldf_status mldfi_writer_set_card(mldf_writer *writer, const char *card, size_t card_bytes, mldf_error *err);

/* job.c */
mldf_status mldfi_job_new(mldf_writer *writer, struct job **out, mldf_error *err);
void mldfi_job_reset(struct job *job);
void mldfi_job_free(struct job *job);
/* Copies one sample into the job; on error the job is as before. */
mldf_status mldfi_job_add(mldf_writer *writer, struct job *job, const mldf_value *values, const char *key,
                          size_t key_bytes, mldf_error *err);
bool mldfi_job_full(const mldf_writer *writer, const struct job *job);
/* Marks the sample as one that cannot be written. */
mldf_status mldfi_job_add_bad(struct job *job, size_t sample, const mldf_error *why, mldf_error *err);
/* By sample, after some were added behind others. */
void mldfi_job_sort_bad(struct job *job);
mldf_status mldfi_job_encode(struct worker *worker, struct job *job, mldf_error *err);
static inline const uint8_t *mldfi_payload_data(const struct job *job, const struct job_payload *payload) {
    return (payload->in_encoded ? job->encoded.data : job->arena.data) + payload->offset;
}

/* tokenize.c */
/* Text in a job becomes ids, all of the job's in one request; documents that cannot be tokenized are noted as bad. */
mldf_status mldfi_job_tokenize(struct worker *worker, struct job *job, mldf_error *err);

/* place.c */
/* A new file; page_size 0: automatic. */
void mldfi_place_begin(mldf_writer *writer, uint64_t page_size);
mldf_status mldfi_place_job(struct worker *worker, struct job *job, mldf_error *err);
/* Ends the prelude with small pages, if it is still active. */
mldf_status mldfi_place_end(struct worker *worker, mldf_error *err);

/* emit.c */
mldf_status mldfi_sink_write(mldf_writer *writer, uint64_t offset, const void *data, size_t bytes, mldf_error *err);
mldf_status mldfi_emit_job(struct worker *worker, struct job *job, mldf_error *err);
/* seal.c: encrypts tables and prefix of the finished file, which has this header and *file_bytes, and ends it with an envelope. */
mldf_status mldfi_seal_file(mldf_writer *writer, const struct header *header, uint64_t *file_bytes, mldf_error *err);
/* Bytes of one payload as they go to the file (encrypted where asked for), with their checksum set. */
mldf_status mldfi_emit_prepare(struct worker *worker, struct job *job, struct job_payload *payload, uint64_t sample,
                               uint16_t field, const uint8_t **data, mldf_error *err);
mldf_status mldfi_run_add(struct worker *worker, uint64_t offset, const uint8_t *data, uint64_t bytes, mldf_error *err);
mldf_status mldfi_run_flush(struct worker *worker, mldf_error *err);

/* schedule.c */
mldf_status mldfi_schedule_start(mldf_writer *writer, mldf_error *err);
void mldfi_schedule_stop(mldf_writer *writer);
/* Hands on the job that is being filled. */
mldf_status mldfi_submit(mldf_writer *writer, mldf_error *err);
/* Waits until every job is retired. */
mldf_status mldfi_drain(mldf_writer *writer, mldf_error *err);
/* The first failure, a cancel, or MLDF_OK; also tells of skipped samples. */
mldf_status mldfi_check(mldf_writer *writer, mldf_error *err);
/* Calls the progress hook now and then; MLDF_E_CANCELLED when it says so. */
mldf_status mldfi_tick(mldf_writer *writer, const char *phase, uint64_t done, uint64_t total, mldf_error *err);

/* front.c */
mldf_status mldfi_write_front(mldf_writer *writer, mldf_error *err);
void mldfi_writer_header(const mldf_writer *writer, struct header *out);
/* The descriptors of a new file. */
mldf_status mldfi_descriptor_table(const mldf_schema *schema, mldf_buffer *out, mldf_error *err);
/* Section 10 of a new file; stays empty when every field's arguments fit into its descriptor. */
mldf_status mldfi_long_arguments(const mldf_schema *schema, mldf_buffer *out, mldf_error *err);
/* What the finished file has as its descriptors and as its section 10: those of the schema, or, after an append, the bytes that the
 * old file has, with an added field behind them. */
mldf_status mldfi_final_descriptors(const mldf_writer *writer, mldf_buffer *descriptors, mldf_buffer *long_arguments,
                                    mldf_error *err);

/* finish_file.c */
mldf_status mldfi_finish_file(mldf_writer *writer, uint64_t *file_bytes, mldf_error *err);

/* checkpoint.c */
/* Opens or makes the partial files and restores the last checkpoint, if there is one. */
mldf_status mldfi_resume_begin(mldf_writer *writer, const mldf_writer_options *options, mldf_error *err);
/* Passes status on; a full disk is remembered, and the message says what stays. */
mldf_status mldfi_resume_note(mldf_writer *writer, mldf_status status, mldf_error *err);
/* Removes the partial tables; with `all` the partial file too. */
void mldfi_resume_remove(mldf_writer *writer, bool all);

/* append_writer.c */
mldf_status mldfi_append_begin(mldf_writer *writer, const char *path, const mldf_writer_options *options,
                               mldf_error *err);

/* field_writer.c */
/* The tables of the old file and of the new field become one, in writer->tables; the schema becomes that of both. */
mldf_status mldfi_added_field_join(mldf_writer *writer, mldf_error *err);
void mldfi_added_field_free(struct added_field *added);

/* keyslots.c */
typedef mldf_status (*mldfi_emit_fn)(void *user, const void *bytes, size_t count, mldf_error *err);
/* slots_at_once: a power of two; the memory it takes is 16 bytes for each. */
mldf_status mldfi_key_slots(struct table_builder *tables, uint64_t slots_at_once, mldfi_emit_fn emit, void *user,
                            mldf_error *err);

#endif
