/* Power loss: the writes and syncs of a write and of an append are logged, then every prefix of the log is replayed with random subsets
 * of the sectors that were not yet synced left out. What a reader finds must be the old file or the new one, whole.
 *
 * The model of the disk: sectors of 512 bytes are written or not; a sync makes all earlier writes of that file durable; a rename
 * may be lost until the folder is synced. Bytes 0..72 (magic and header) lie in one sector. */
#include <errno.h>
#include <fcntl.h>

#include "dataset.h"
#include "writer/field_writer.h"

enum { SECTOR = 512 };
enum op { OP_WRITE, OP_TRUNCATE, OP_SYNC, OP_RENAME };

struct entry {
    enum op op;
    ino_t file;
    uint64_t offset;
    size_t bytes;
    uint8_t *data;
};

static struct entry *entries;
static size_t entry_count;
static bool logging;

static void add_entry(enum op op, int fd, uint64_t offset, const void *data, size_t bytes) {
    struct stat info;
    if (!logging || fstat(fd, &info) != 0 || info.st_nlink == 0 || S_ISDIR(info.st_mode))
        return;
    entries = realloc(entries, (entry_count + 1) * sizeof *entries);
    entries[entry_count] = (struct entry){op, info.st_ino, offset, bytes, NULL};
    if (data) {
        entries[entry_count].data = malloc(bytes + 1);
        memcpy(entries[entry_count].data, data, bytes);
    }
    entry_count++;
}

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t bytes);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    add_entry(OP_WRITE, fd, (uint64_t)offset, data, bytes);
    return __real_pwrite(fd, data, bytes, offset);
}
int __wrap_fsync(int fd) {
    add_entry(OP_SYNC, fd, 0, NULL, 0);
    return __real_fsync(fd);
}
int __wrap_ftruncate(int fd, off_t bytes) {
    add_entry(OP_TRUNCATE, fd, (uint64_t)bytes, NULL, 0);
    return __real_ftruncate(fd, bytes);
}
static void log_rename(const char *from) {
    int fd = open(from, O_RDONLY);
    if (fd >= 0) {
        add_entry(OP_RENAME, fd, 0, NULL, 0);
        close(fd);
    }
}
int __wrap_rename(const char *from, const char *to) {
    log_rename(from);
    return __real_rename(from, to);
}
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    log_rename(from);
    return __real_renameat2(a, from, b, to, flags);
}

/* ---- The disk after a crash ------------------------------------------------------------------------------------------------ */

struct image {
    uint8_t *data;
    size_t bytes, capacity;
};

static void image_put(struct image *image, uint64_t offset, const uint8_t *data, size_t bytes) {
    size_t end = (size_t)offset + bytes;
    if (end > image->capacity) {
        image->data = realloc(image->data, end * 2);
        memset(image->data + image->capacity, 0, end * 2 - image->capacity);
        image->capacity = end * 2;
    }
    memcpy(image->data + offset, data, bytes);
    if (end > image->bytes)
        image->bytes = end;
}

static void image_cut(struct image *image, uint64_t bytes) {
    if (bytes < image->bytes) {
        memset(image->data + bytes, 0, image->bytes - (size_t)bytes);
        image->bytes = (size_t)bytes;
    }
}

/* Sector by sector: each is there with a chance of `keep` in 8. */
static void image_put_torn(struct image *image, const struct entry *entry, unsigned keep, uint64_t *state) {
    for (size_t at = 0; at < entry->bytes;) {
        size_t part = SECTOR - (size_t)(entry->offset + at) % SECTOR;
        if (part > entry->bytes - at)
            part = entry->bytes - at;
        if (check_rand(state) % 8 < keep)
            image_put(image, entry->offset + at, entry->data + at, part);
        at += part;
    }
}

/* The content of `file` when the power goes after `upto` entries. keep 8: everything reached the disk. */
static void image_at(struct image *image, ino_t file, size_t upto, const struct image *start, unsigned keep,
                     uint64_t *state) {
    size_t synced = 0;
    for (size_t i = 0; i < upto; i++)
        if (entries[i].op == OP_SYNC && entries[i].file == file)
            synced = i;
    image->bytes = 0;
    if (image->data)
        memset(image->data, 0, image->capacity);
    if (start)
        image_put(image, 0, start->data, start->bytes);
    for (size_t i = 0; i < upto; i++) {
        if (entries[i].file != file)
            continue;
        bool durable = i < synced;
        if (entries[i].op == OP_WRITE)
            image_put_torn(image, &entries[i], durable ? 8 : keep, state);
        else if (entries[i].op == OP_TRUNCATE && (durable || check_rand(state) % 8 < keep))
            image_cut(image, entries[i].offset);
    }
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------------------ */

static uint64_t base_seed;
static unsigned long states_checked, old_seen, new_seen;

/* The file must open, verified, and hold exactly `before` or `after` samples of the data. */
static void check_image(const struct image *image, struct dataset *d, size_t before, size_t after) {
    mldf_error err;
    mldf_reader *r;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    options.verify = true;
    states_checked++;
    mldf_status st = mldf_reader_open_memory(image->data, image->bytes, &options, &r, &err);
    CHECK_STATUS(MLDF_OK, st, &err);
    if (st < 0)
        return;
    uint64_t samples = mldf_reader_sample_count(r);
    CHECK(samples == before || samples == after);
    old_seen += samples == before;
    new_seen += samples == after;
    if (samples == before || samples == after) {
        size_t all = d->samples;
        d->samples = (size_t)samples;
        dataset_check(d, r);
        d->samples = all;
    }
    mldf_reader_close(r);
}

static void load_image(struct image *image, const char *path) {
    image->data = dataset_load(path, &image->bytes);
    image->capacity = image->bytes;
    CHECK(image->data != NULL);
}

static void forget_log(void) {
    for (size_t i = 0; i < entry_count; i++)
        free(entries[i].data);
    free(entries);
    entries = NULL;
    entry_count = 0;
}

static void an_append_is_there_or_not(void) {
    for (uint64_t round = 0; round < 6; round++) {
        struct dataset d;
        mldf_error err;
        char path[512];
        uint64_t state = base_seed + round;
        struct image start = {0}, image = {0};
        do
            dataset_make(&d, &state, (struct dataset_shape){4, 60, round % 2 ? 400 : 20000, true, round % 3 == 0});
        while (d.samples < 20 && (dataset_free(&d), true));
        snprintf(path, sizeof path, "%s/append.mldf", check_tmpdir());
        size_t all = d.samples, before = all / 2;
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.overwrite = true;
        options.threads = 0;
        d.samples = before;
        REQUIRE_STATUS(MLDF_OK, dataset_write(&d, path, &options, &err), &err);
        d.samples = all;
        if (round % 2) { /* an earlier append that was cut off left bytes behind */
            FILE *file = fopen(path, "ab");
            fputs("left over from an append that never finished", file);
            fclose(file);
        }
        load_image(&start, path);
        mldf_writer *w;
        logging = true;
        REQUIRE_STATUS(MLDF_OK, mldf_writer_open_append(path, &options, &w, &err), &err);
        REQUIRE_STATUS(MLDF_OK, dataset_feed(&d, w, before, all, &err), &err);
        REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
        logging = false;
        struct stat info;
        REQUIRE(stat(path, &info) == 0);
        for (size_t upto = 0; upto <= entry_count; upto++)
            for (unsigned keep = 0; keep <= 8; keep += 2) {
                image_at(&image, info.st_ino, upto, &start, keep, &state);
                check_image(&image, &d, before, all);
            }
        forget_log();
        free(start.data);
        free(image.data);
        dataset_free(&d);
    }
    printf("    %lu states: %lu old, %lu new\n", states_checked, old_seen, new_seen);
    CHECK(old_seen > 100 && new_seen > 10);
}

/* The old file without the last field, or the new one with it. */
static void check_field_image(const struct image *image, struct dataset *d) {
    mldf_error err;
    mldf_reader *r;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    options.verify = true;
    states_checked++;
    mldf_status st = mldf_reader_open_memory(image->data, image->bytes, &options, &r, &err);
    CHECK_STATUS(MLDF_OK, st, &err);
    if (st < 0)
        return;
    size_t fields = mldf_schema_field_count(mldf_reader_schema(r));
    CHECK(fields == d->fields || fields == d->fields - 1);
    old_seen += fields == d->fields - 1;
    new_seen += fields == d->fields;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    CHECK_EQ_U64(d->samples, mldf_reader_sample_count(r));
    for (size_t s = 0; s < d->samples; s++)
        for (size_t f = 0; f < fields; f++) {
            mldf_value value;
            CHECK_OK(mldf_reader_get(r, s, f, &scratch, &value, &err), &err);
            CHECK(dataset_same_value(&d->values[s * d->fields + f], &value));
        }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
}

static void write_without_last(struct dataset *d, const char *path, const mldf_writer_options *options,
                               mldf_schema **last) {
    mldf_schema *first;
    mldf_error err;
    mldf_writer *w;
    CHECK_OK(mldf_schema_new(NULL, &first, &err), &err);
    CHECK_OK(mldf_schema_new(NULL, last, &err), &err);
    for (size_t f = 0; f < d->fields; f++) {
        const mldf_field *field = mldf_schema_field(d->schema, f);
        uint16_t flags = field->flags & (MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED);
        CHECK_OK(mldf_schema_add(f + 1 < d->fields ? first : *last, field->name, field->type_id, field->arguments,
                                 flags, &err),
                 &err);
    }
    CHECK_OK(mldf_writer_open(path, first, options, &w, &err), &err);
    for (size_t s = 0; s < d->samples; s++)
        CHECK_OK(mldf_writer_append(w, &d->values[s * d->fields], d->fields - 1, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(first);
}

static void an_added_field_is_there_or_not(void) {
    states_checked = old_seen = new_seen = 0;
    for (uint64_t round = 0; round < 6; round++) {
        struct dataset d;
        mldf_error err;
        char path[512];
        uint64_t state = base_seed + 200 + round;
        struct image start = {0}, image = {0};
        mldf_schema *last;
        do
            dataset_make(&d, &state, (struct dataset_shape){4, 40, round % 2 ? 400 : 20000, true, false});
        while ((d.samples < 10 || d.fields < 2) && (dataset_free(&d), true));
        snprintf(path, sizeof path, "%s/field.mldf", check_tmpdir());
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.overwrite = true;
        options.threads = 0;
        write_without_last(&d, path, &options, &last);
        load_image(&start, path);
        mldf_writer *w;
        logging = true;
        REQUIRE_STATUS(MLDF_OK, mldfi_writer_open_add_field(path, last, &options, &w, &err), &err);
        for (size_t s = 0; s < d.samples; s++)
            CHECK_OK(mldf_writer_append(w, &d.values[s * d.fields + d.fields - 1], 1, NULL, 0, &err), &err);
        REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
        logging = false;
        struct stat info;
        REQUIRE(stat(path, &info) == 0);
        for (size_t upto = 0; upto <= entry_count; upto++)
            for (unsigned keep = 0; keep <= 8; keep += 2) {
                image_at(&image, info.st_ino, upto, &start, keep, &state);
                check_field_image(&image, &d);
            }
        forget_log();
        free(start.data);
        free(image.data);
        mldf_schema_free(last);
        dataset_free(&d);
    }
    printf("    %lu states: %lu old, %lu new\n", states_checked, old_seen, new_seen);
    CHECK(old_seen > 50 && new_seen > 10);
}

static void a_new_file_has_its_name_only_when_it_is_whole(void) {
    states_checked = old_seen = new_seen = 0;
    for (uint64_t round = 0; round < 6; round++) {
        struct dataset d;
        mldf_error err;
        char path[512];
        uint64_t state = base_seed + 100 + round;
        struct image start = {0}, image = {0};
        do
            dataset_make(&d, &state, (struct dataset_shape){4, 60, round % 2 ? 400 : 100000, true, false});
        while (d.samples < 10 && (dataset_free(&d), true));
        snprintf(path, sizeof path, "%s/new.mldf", check_tmpdir());
        size_t all = d.samples, before = all / 3;
        mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
        options.overwrite = true;
        options.threads = 0;
        d.samples = before;
        REQUIRE_STATUS(MLDF_OK, dataset_write(&d, path, &options, &err), &err);
        load_image(&start, path);
        d.samples = all;
        logging = true;
        REQUIRE_STATUS(MLDF_OK, dataset_write(&d, path, &options, &err), &err);
        logging = false;
        struct stat info;
        REQUIRE(stat(path, &info) == 0);
        size_t renamed = SIZE_MAX;
        for (size_t i = 0; i < entry_count; i++)
            if (entries[i].op == OP_RENAME)
                renamed = i;
        CHECK(renamed != SIZE_MAX);
        for (size_t upto = 0; upto <= entry_count; upto++)
            for (unsigned keep = 0; keep <= 8; keep += 4) {
                bool named = upto > renamed && (keep == 8 || check_rand(&state) % 2);
                if (named)
                    image_at(&image, info.st_ino, upto, NULL, keep, &state);
                check_image(named ? &image : &start, &d, before, all);
            }
        forget_log();
        free(start.data);
        free(image.data);
        dataset_free(&d);
    }
    printf("    %lu states: %lu old, %lu new\n", states_checked, old_seen, new_seen);
    CHECK(new_seen > 0);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    base_seed = check_seed();
    RUN(an_append_is_there_or_not);
    RUN(an_added_field_is_there_or_not);
    RUN(a_new_file_has_its_name_only_when_it_is_whole);
    return check_end();
}
