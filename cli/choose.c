/* Lists in options: samples as numbers and ranges, keys, names. A list may stand in a file: @FILE. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int add_range(const struct invocation *v, struct choice *choice, uint64_t begin, uint64_t end) {
    if (choice->range_count == choice->range_capacity) {
        size_t capacity = choice->range_capacity ? 2 * choice->range_capacity : 64;
        mldf_sample_range *grown = realloc(choice->ranges, capacity * sizeof *grown);
        if (!grown)
            return no_memory(v);
        choice->ranges = grown;
        choice->range_capacity = capacity;
    }
    choice->ranges[choice->range_count++] = (mldf_sample_range){begin, end};
    return EXIT_FINE;
}

/* An empty list is not the same as none. */
static int begin_ranges(const struct invocation *v, struct choice *choice) {
    int code = add_range(v, choice, 0, 0);
    choice->range_count = 0;
    return code;
}

/* The text itself, or the file's that @FILE names. */
static int load_list(const struct invocation *v, const char *text, mldf_buffer *file, const char **list,
                     size_t *bytes) {
    *list = text;
    *bytes = strlen(text);
    if (text[0] != '@')
        return EXIT_FINE;
    int code = read_small_file(v, text + 1, (size_t)1 << 30, file);
    *list = file->data ? (const char *)file->data : "";
    *bytes = file->size;
    if (*bytes >= 3 && memcmp(*list, "\xef\xbb\xbf", 3) == 0) /* the mark that some editors begin a file with */
        *list += 3, *bytes -= 3;
    return code;
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int add_samples(const struct invocation *v, const mldf_reader *reader, const char *path, const char *word,
                       size_t bytes, struct choice *choice) {
    uint64_t count = mldf_reader_sample_count(reader), begin, end;
    const char *colon = memchr(word, ':', bytes);
    bool good;
    if (colon) {
        size_t left = (size_t)(colon - word);
        good = parse_side(word, left, count, 0, &begin) && parse_side(colon + 1, bytes - left - 1, count, count, &end);
        return good ? add_range(v, choice, begin, end < begin ? begin : end)
                    : usage_error(v, "--samples: '%.*s' is not A:B with whole numbers", (int)bytes, word);
    }
    bool negative = bytes > 0 && word[0] == '-';
    uint64_t value = 0;
    good = bytes > (size_t)negative && bytes < 21;
    for (size_t i = negative; good && i < bytes; i++) {
        good = word[i] >= '0' && word[i] <= '9' && !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(word[i] - '0'), &value);
    }
    if (!good)
        return usage_error(v, "--samples: '%.*s' is not a sample number", (int)(bytes < 60 ? bytes : 60), word);
    if (negative ? value == 0 || value > count : value >= count)
        return complain(v, EXIT_DATA, "%s: there is no sample %.*s: the file has %" PRIu64, path, (int)bytes, word,
                        count);
    begin = negative ? count - value : value;
    return add_range(v, choice, begin, begin + 1);
}

int choose_samples_list(const struct invocation *v, const mldf_reader *reader, const char *path, const char *text,
                        struct choice *choice) {
    mldf_buffer file = MLDF_BUFFER_INIT;
    const char *list;
    size_t bytes, at = 0;
    bool from_file = text[0] == '@';
    int code = load_list(v, text, &file, &list, &bytes);
    if (code == EXIT_FINE)
        code = begin_ranges(v, choice);
    while (code == EXIT_FINE && at <= bytes) {
        size_t end = at;
        while (end < bytes && list[end] != ',' && !(from_file && is_space(list[end])))
            end++;
        if (end > at || !from_file)
            code = add_samples(v, reader, path, list + at, end - at, choice);
        at = end + 1;
    }
    mldf_buffer_free(&file);
    return code;
}

static int add_key(const struct invocation *v, const mldf_reader *reader, const char *path, const char *key,
                   size_t bytes, struct choice *choice) {
    mldf_error err;
    uint64_t sample;
    if (mldf_reader_find_key(reader, key, bytes, &sample, &err) < 0)
        return report_error(v, path, &err);
    return add_range(v, choice, sample, sample + 1);
}

int choose_keys_list(const struct invocation *v, const mldf_reader *reader, const char *path, const char *text,
                     struct choice *choice) {
    mldf_buffer file = MLDF_BUFFER_INIT;
    const char *list;
    size_t bytes, at = 0;
    bool from_file = text[0] == '@';
    uint64_t sample;
    int code = load_list(v, text, &file, &list, &bytes);
    if (code == EXIT_FINE)
        code = begin_ranges(v, choice);
    /* A key may hold a comma: the whole text is tried first. */
    if (code == EXIT_FINE && !from_file && mldf_reader_has_keys(reader) && bytes > 0 &&
        mldf_reader_find_key(reader, list, bytes, &sample, NULL) == MLDF_OK)
        return add_range(v, choice, sample, sample + 1);
    while (code == EXIT_FINE && at <= bytes) {
        size_t end = at, length;
        while (end < bytes && list[end] != (from_file ? '\n' : ','))
            end++;
        length = end - at;
        if (from_file && length > 0 && list[end - 1] == '\r')
            length--;
        if (length > 0 || !from_file)
            code = add_key(v, reader, path, list + at, length, choice);
        at = end + 1;
    }
    mldf_buffer_free(&file);
    return code;
}

int choose_words(const struct invocation *v, const char *option, const char *text, struct choice *choice) {
    size_t room = 1;
    for (const char *p = text; *p; p++)
        room += *p == ',';
    choice->fields = calloc(room, sizeof *choice->fields);
    if (!choice->fields)
        return no_memory(v);
    for (const char *p = text;;) {
        size_t bytes = strcspn(p, ",");
        if (bytes == 0)
            return usage_error(v, "%s: '%s' is not a list of names", option, text);
        char *word = strndup(p, bytes);
        if (!word)
            return no_memory(v);
        choice->fields[choice->field_count++] = word;
        if (p[bytes] == 0)
            return EXIT_FINE;
        p += bytes + 1;
    }
}

void free_choice(struct choice *choice) {
    for (size_t i = 0; i < choice->field_count; i++)
        free(choice->fields[i]);
    free(choice->fields);
    free(choice->ranges);
    memset(choice, 0, sizeof *choice);
}
