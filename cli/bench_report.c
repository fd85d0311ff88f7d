/* What mldf bench says at its end: speed, where the time went, what holds it up, hashes, bad samples; as text or as one JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

static uint64_t peak_rss(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

/* ---- Bad samples ----------------------------------------------------------------------------------------------------------------------- */

enum { BAD_SHOWN = 10, BAD_LISTED = 1000 /* loader.h */ };

/* Field and message follow, each with its 0. */
struct bad_note {
    uint32_t file;
    uint64_t sample, epoch, position, item;
};

static mldf_status keep_bad(struct bench *b, const mldf_bad_sample *bad, mldf_error *err) {
    struct bad_note head;
    memset(&head, 0, sizeof head);
    head = (struct bad_note){bad->reader, bad->sample, bad->epoch, bad->position, bad->item};
    mldf_status status = mldf_buffer_append(&b->bad, &head, sizeof head, err);
    if (status >= 0)
        status = mldf_buffer_append(&b->bad, bad->error.field, strlen(bad->error.field) + 1, err);
    char text[MLDF_TEXT_MAX + 1];
    mldf_error_text(&bad->error, text, sizeof text);
    if (status >= 0)
        status = mldf_buffer_append(&b->bad, text, strlen(text) + 1, err);
    b->bad_kept += status >= 0;
    return status;
}

mldf_status bench_note_bad(struct bench *b, mldf_status status, mldf_error *err) {
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    size_t listed = mldf_loader_bad_count(b->loader);
    /* Until the loader's list is full, its length says whether there is anything new; this is called for every batch. */
    if ((!b->v->json && b->bad_kept == BAD_SHOWN) || (listed == b->bad_seen && listed < BAD_LISTED))
        return status;
    mldf_status own = mldf_loader_get_stats(b->loader, &stats, err);
    uint64_t fresh = own < 0 ? 0 : stats.bad_samples - b->bad_seen;
    for (size_t i = fresh < listed ? listed - (size_t)fresh : 0; i < listed && own >= 0; i++) {
        own = mldf_loader_bad_sample(b->loader, i, &bad, err);
        if (own >= 0 && (b->v->json || b->bad_kept < BAD_SHOWN))
            own = keep_bad(b, &bad, err);
    }
    b->bad_seen += fresh;
    return own < 0 ? own : status;
}

/* The note at *at, and on to the next; NULL: no more. */
static const char *next_bad(const struct bench *b, size_t *at, struct bad_note *head, const char **message) {
    if (*at >= b->bad.size)
        return NULL;
    const char *field = (const char *)b->bad.data + *at + sizeof *head;
    memcpy(head, b->bad.data + *at, sizeof *head);
    *message = field + strlen(field) + 1;
    *at = (size_t)((const uint8_t *)*message - b->bad.data) + strlen(*message) + 1;
    return field;
}

static void json_bad(const struct bench *b) {
    struct bad_note head;
    const char *field, *message;
    size_t at = 0;
    json_key("bad");
    json_begin('[');
    while ((field = next_bad(b, &at, &head, &message))) {
        json_begin('{');
        json_key("source");
        json_string(b->v->files[head.file]);
        json_key("sample");
        json_u64(head.sample);
        if (b->view) {
            json_key("item");
            json_u64(head.item);
        }
        json_key("field");
        if (field[0])
            json_string(field);
        else
            json_null();
        json_key("epoch");
        json_u64(head.epoch);
        json_key("position");
        json_u64(head.position);
        json_key("message");
        json_string(message);
        json_end('}');
    }
    json_end(']');
}

static void text_bad(const struct bench *b, uint64_t count) {
    struct bad_note head;
    const char *message;
    size_t at = 0;
    if (count)
        out_printf("%" PRIu64 " bad sample%s\n", count, count == 1 ? "" : "s");
    while (next_bad(b, &at, &head, &message)) {
        out_printf("  %s\n", message);
    }
    if (count > b->bad_kept)
        out_printf("  ... and %" PRIu64 " more; --json lists them\n", count - b->bad_kept);
}

/* ---- Reporting ------------------------------------------------------------------------------------------------------------------------ */

static void hex(char out[33], const uint8_t digest[16]) {
    for (size_t i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static double per_second(const mldf_loader_stats *stats) {
    return stats->seconds > 0 ? (double)stats->samples / stats->seconds : 0;
}

static void report_json(const struct bench *b, const mldf_loader_stats *stats, const mldf_buffer *explain) {
    json_begin('{');
    json_key("samples_per_second");
    json_double(per_second(stats));
    json_key("samples");
    json_u64(stats->samples);
    json_key("batches");
    json_u64(stats->batches);
    json_key("bad_samples");
    json_u64(stats->bad_samples);
    json_bad(b);
    json_warnings();
    json_key("seconds");
    json_double(stats->seconds);
    json_key("bytes_read");
    json_u64(stats->bytes_read);
    json_key("peak_rss_bytes");
    json_u64(peak_rss());
    json_key("threads");
    json_i64(stats->threads);
    json_key("wait_loader_seconds");
    json_double(stats->wait_loader);
    json_key("wait_consumer_seconds");
    json_double(stats->wait_consumer);
    json_key("steps");
    json_begin('[');
    for (size_t i = 0; i < stats->step_count; i++) {
        json_begin('{');
        json_key("name");
        json_string(stats->steps[i].name);
        json_key("seconds");
        json_double(stats->steps[i].seconds);
        json_end('}');
    }
    json_end(']');
    json_key("verdict");
    json_string(stats->verdict);
    if (option_given(b->v, "hash")) {
        char text[33];
        json_key("batch_hashes");
        json_begin('[');
        for (size_t i = 0; i + 16 <= b->hashes.size; i += 16) {
            hex(text, b->hashes.data + i);
            json_string(text);
        }
        json_end(']');
    }
    if (explain->size) {
        json_key("explain");
        json_string_bytes((const char *)explain->data, explain->size);
    }
    json_end('}');
    json_line_end();
}

static void report_text(const struct bench *b, const mldf_loader_stats *stats, const mldf_buffer *explain) {
    char text[33], bytes[32], rate[32], memory[32], samples[32];
    double work = 0;
    if (explain->size)
        out_bytes(explain->data, explain->size);
    for (size_t i = 0; i + 16 <= b->hashes.size; i += 16) {
        hex(text, b->hashes.data + i);
        out_printf("batch %zu: %s\n", i / 16, text);
    }
    format_count(samples, stats->samples);
    format_count(rate, (uint64_t)(per_second(stats) + 0.5));
    format_bytes(bytes, stats->bytes_read);
    format_bytes(memory, peak_rss());
    out_printf("%s sample%s in %" PRIu64
               " batch%s, %.3f s: %s samples/s, %s of stored values, %d thread%s, %s at most\n",
               samples, stats->samples == 1 ? "" : "s", stats->batches, stats->batches == 1 ? "" : "es", stats->seconds,
               rate, bytes, stats->threads, stats->threads == 1 ? "" : "s", memory);
    text_bad(b, stats->bad_samples);
    for (size_t i = 0; i < stats->step_count; i++)
        work += stats->steps[i].seconds;
    for (size_t i = 0; i < stats->step_count && work > 0; i++)
        out_printf("  %5.1f %%  %s\n", 100 * stats->steps[i].seconds / work, stats->steps[i].name);
    out_printf("%s\n", stats->verdict);
}

int bench_report(struct bench *b) {
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    mldf_buffer explain = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status status = mldf_loader_get_stats(b->loader, &stats, &err);
    if (status >= 0 && option_given(b->v, "explain"))
        status = mldf_loader_explain(b->loader, &explain, &err);
    if (status >= 0 && b->v->json)
        report_json(b, &stats, &explain);
    else if (status >= 0)
        report_text(b, &stats, &explain);
    mldf_buffer_free(&explain);
    return status < 0 ? report_error(b->v, NULL, &err) : EXIT_FINE;
}
