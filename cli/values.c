/* The values of options: counts, sizes, threads, small files, schemas. Each function prints its own message. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double seconds_since(double start) {
    return (double)(int64_t)((seconds_now() - start) * 1e6) / 1e6;
}

static bool digits(const char *text, uint64_t *out, const char **end) {
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    *out = value;
    *end = p;
    return p > text;
}

bool parse_count(const struct invocation *v, const char *option, const char *text, uint64_t *out) {
    const char *end;
    if (digits(text, out, &end) && *end == 0 && *out != MLDF_NONE)
        return true;
    usage_error(v, "%s: '%s' is not a whole number", option, text);
    return false;
}

bool parse_seed(const struct invocation *v, const char *option, const char *text, uint64_t *out) {
    const char *end;
    if (digits(text, out, &end) && *end == 0)
        return true;
    usage_error(v, "%s: '%s' is not a whole number from 0 to 18446744073709551615", option, text);
    return false;
}

bool parse_bytes(const struct invocation *v, const char *option, const char *text, uint64_t *out) {
    const char *end;
    uint64_t scale = 1;
    bool good = digits(text, out, &end);
    if (good && *end) {
        static const char units[] = "KMGT";
        const char *unit = strchr(units, *end >= 'a' ? *end - 32 : *end);
        good = unit != NULL;
        if (good) {
            scale = UINT64_C(1) << (10 * (unit - units + 1));
            end++;
            if (strcmp(end, "iB") != 0 && strcmp(end, "B") != 0 && *end != 0)
                good = false;
        }
    }
    if (good && !__builtin_mul_overflow(*out, scale, out) && *out != MLDF_NONE)
        return true;
    usage_error(v, "%s: '%s' is not a size in bytes (K, M and G may follow the number)", option, text);
    return false;
}

bool parse_threads(const struct invocation *v, int *out) {
    const char *text = option_value(v, "workers") ? option_value(v, "workers") : option_value(v, "threads");
    uint64_t count;
    *out = -1;
    if (!text)
        return true;
    if (!parse_count(v, "-j", text, &count))
        return false;
    if (count > 1024) {
        usage_error(v, "-j: %s threads are too many; the limit is 1024", text);
        return false;
    }
    *out = (int)count;
    return true;
}

bool parse_on_error(const struct invocation *v, bool *skip) {
    const char *text = option_value(v, "on-error");
    *skip = text && strcmp(text, "skip") == 0;
    if (!text || *skip || strcmp(text, "stop") == 0)
        return true;
    usage_error(v, "--on-error: '%s' is neither stop nor skip", text);
    return false;
}

bool parse_format(const struct invocation *v, mldf_source_format *out) {
    const char *text = option_value(v, "format");
    *out = MLDF_SOURCE_AUTO;
    if (!text)
        return true;
    if (strcmp(text, "csv") == 0)
        *out = MLDF_SOURCE_CSV;
    else if (strcmp(text, "tsv") == 0)
        *out = MLDF_SOURCE_TSV;
    else if (strcmp(text, "jsonl") == 0)
        *out = MLDF_SOURCE_JSONL;
    else if (strcmp(text, "tar") == 0)
        *out = MLDF_SOURCE_TAR;
    else if (strcmp(text, "text") == 0 && v->command == &command_pack)
        *out = MLDF_SOURCE_TEXT;
    if (*out != MLDF_SOURCE_AUTO)
        return true;
    usage_error(v, "--format: '%s' is none of csv, tsv, jsonl and tar", text);
    return false;
}

bool parse_delimiter(const struct invocation *v, char *out) {
    const char *text = option_value(v, "delimiter");
    *out = 0;
    if (!text)
        return true;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1 || (unsigned char)*text >= 0x80 || strchr("\"\r\n", *text)) {
        usage_error(v, "--delimiter: '%s' is not one ASCII character, or tab", text);
        return false;
    }
    *out = *text;
    return true;
}

bool parse_layout(const struct invocation *v, mldf_layout *out) {
    static const char *const names[] = {"auto", "flat", "classes", "frames"};
    const char *text = option_value(v, "layout");
    *out = MLDF_LAYOUT_AUTO;
    for (unsigned i = 0; text && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (mldf_layout)i;
            return true;
        }
    }
    if (text)
        usage_error(v, "--layout: '%s' is none of flat, classes, frames and auto", text);
    return !text;
}

int collect(const struct invocation *v, const char *option, const char ***list, size_t *count) {
    const char *value;
    size_t at = 0;
    *count = 0;
    *list = calloc(v->use_count + 1, sizeof **list);
    if (!*list)
        return no_memory(v);
    while ((value = option_next(v, option, &at)) != NULL)
        (*list)[(*count)++] = value;
    return EXIT_FINE;
}

static int file_error(const struct invocation *v, const char *path, int error) {
    return complain(v, EXIT_ENVIRONMENT, "%s: %s", strcmp(path, "-") == 0 ? "(standard input)" : path, strerror(error));
}

/* - is standard input, which can be read only once. */
static int open_small_file(const struct invocation *v, const char *path, int *fd) {
    static bool taken;
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    for (size_t i = 0; standard && i < v->file_count; i++)
        taken = taken || strcmp(v->files[i], "-") == 0;
    if (standard && taken)
        return usage_error(v, "standard input (-) can be given for one thing only");
    taken = taken || standard;
    *fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return file_error(v, path, errno);
    if (fstat(*fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(*fd);
        return file_error(v, path, EISDIR);
    }
    return EXIT_FINE;
}

int read_small_file(const struct invocation *v, const char *path, size_t limit, mldf_buffer *out) {
    char part[4096];
    ssize_t n;
    mldf_error err;
    int fd, code = open_small_file(v, path, &fd);
    if (code != EXIT_FINE)
        return code;
    out->size = 0;
    while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR && !interrupted())) {
        if (n < 0)
            continue;
        if (out->size + (size_t)n > limit) {
            close(fd);
            return usage_error(v, "%s: is larger than %zu bytes", path, limit);
        }
        if (mldf_buffer_append(out, part, (size_t)n, &err) < 0) {
            close(fd);
            return report_error(v, path, &err);
        }
    }
    int error = errno;
    close(fd);
    if (n < 0 && interrupted())
        return complain(v, EXIT_INTERRUPTED, "interrupted");
    return n < 0 ? file_error(v, path, error) : EXIT_FINE;
}

/* What is wrong with a schema is the user's to mend, whatever the status is called. */
int load_schema(const struct invocation *v, const char *text, mldf_schema **out) {
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_error err;
    int code = EXIT_FINE;
    bool is_json = text[0] == '{' || text[0] == '[';
    if (!is_json)
        code = read_small_file(v, text, 64u << 20, &file);
    if (code == EXIT_FINE) {
        const char *json = is_json ? text : (const char *)file.data;
        size_t bytes = is_json ? strlen(text) : file.size;
        mldf_status status = mldf_schema_parse(v->context, json ? json : "", bytes, out, &err);
        if (status < 0) {
            report_error(v, is_json ? "--schema" : text, &err);
            code = status == MLDF_E_MEMORY ? EXIT_ENVIRONMENT : EXIT_USAGE;
        }
    }
    mldf_buffer_free(&file);
    return code;
}
