/* TurboLoader's TBL files, sample by sample: writes one of the files that are named, with metadata, and reads it back.
 *
 *     tbl_samples OUT.tbl FILE...
 *
 * mldf_convert makes TBL files of whole datasets; include/mldf/tbl.h is for programs that handle the format itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/mldf.h"

static void stop(const char *what, const mldf_error *err) {
    fprintf(stderr, "%s: %s\n", what, err ? MLDF_ERROR_TEXT(err) : "cannot be read");
    exit(1);
}

static void read_file(const char *path, mldf_buffer *out) {
    char piece[4096];
    size_t got;
    mldf_error err;
    FILE *file = fopen(path, "rb");
    if (!file)
        stop(path, NULL);
    out->size = 0;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        if (mldf_buffer_append(out, piece, got, &err) < 0)
            stop(path, &err);
    if (ferror(file))
        stop(path, NULL);
    fclose(file);
}

static void write_all(const char *out, char **paths, int count) {
    mldf_tbl_writer_options options = MLDF_TBL_WRITER_OPTIONS_INIT;
    mldf_tbl_writer *writer;
    mldf_buffer data = MLDF_BUFFER_INIT;
    mldf_error err;
    options.overwrite = true;
    options.count = (uint64_t)count;
    if (mldf_tbl_writer_new(out, &options, &writer, &err) < 0)
        stop(out, &err);
    for (int i = 0; i < count; i++) {
        const char *dot = strrchr(paths[i], '.');
        char metadata[64];
        uint64_t sample;
        read_file(paths[i], &data);
        if (mldf_tbl_writer_add(writer, mldf_tbl_format_of(dot), 0, 0, data.data, data.size, &sample, &err) < 0)
            stop(paths[i], &err);
        snprintf(metadata, sizeof metadata, "{\"argument\":%d}", i + 1);
        if (mldf_tbl_writer_add_metadata(writer, sample, MLDF_TBL_META_JSON, metadata, strlen(metadata), &err) < 0)
            stop(paths[i], &err);
    }
    if (mldf_tbl_writer_finish(writer, &err) < 0)
        stop(out, &err);
    mldf_tbl_writer_free(writer);
    mldf_buffer_free(&data);
}

int main(int argc, char **argv) {
    mldf_buffer room = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_tbl *tbl;
    if (argc < 2) {
        fprintf(stderr, "usage: tbl_samples OUT.tbl FILE...\n");
        return 2;
    }
    write_all(argv[1], argv + 2, argc - 2);
    if (mldf_tbl_open(argv[1], &tbl, &err) < 0)
        stop(argv[1], &err);
    for (uint64_t i = 0; i < mldf_tbl_count(tbl); i++) {
        mldf_tbl_entry entry = MLDF_TBL_ENTRY_INIT;
        const void *data, *metadata;
        uint64_t bytes, metadata_bytes;
        unsigned type;
        if (mldf_tbl_get_entry(tbl, i, &entry, &err) < 0 || mldf_tbl_read(tbl, i, &room, &data, &bytes, &err) < 0 ||
            mldf_tbl_read_metadata(tbl, i, &type, &metadata, &metadata_bytes, &err) < 0)
            stop(argv[1], &err);
        printf("%" PRIu64 ": %" PRIu64 " bytes, %s, %.*s\n", i, bytes,
               mldf_tbl_extension_of((mldf_tbl_format)entry.format), (int)metadata_bytes, (const char *)metadata);
    }
    mldf_buffer_free(&room);
    mldf_tbl_close(tbl);
    return 0;
}
