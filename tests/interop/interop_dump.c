/* interop_dump FILE (or - for standard input): what our readers see in a TBL, .beton or tar file, as one JSON object on standard
 * output. Blobs are named by size and SHA-1, names are in hexadecimal digits. tests/python/test_interop.py compares it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/beton.h"
#include "interop/tar.h"
#include "interop/tbl.h"
#include "os/file.h"
#include "sha1.h"

static void hex(const void *data, size_t bytes) {
    const uint8_t *p = data;
    putchar('"');
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", p[i]);
    putchar('"');
}

static void blob(const uint8_t *data, uint64_t bytes) {
    char digest[41];
    sha1_hex(data, (size_t)bytes, digest);
    printf("[%llu, \"%s\"]", (unsigned long long)bytes, digest);
}

static void end(mldf_status status, const mldf_error *err) {
    printf("], \"status\": \"%s\", \"message\": ", mldf_status_name(status));
    const char *text = status < 0 ? MLDF_ERROR_TEXT(err) : "";
    hex(text, strlen(text));
    printf("}\n");
}

static void dump_tbl(const uint8_t *data, uint64_t bytes) {
    struct tbl *tbl = NULL;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_tbl_open(&tbl, data, bytes, &err);
    uint64_t count = status >= 0 ? mldfi_tbl_info(tbl)->count : 0;
    printf("{\"kind\": \"tbl\", \"version\": %u, \"samples\": [", status >= 0 ? mldfi_tbl_info(tbl)->version : 0);
    for (uint64_t i = 0; i < count && status >= 0; i++) {
        struct tbl_entry e;
        struct tbl_metadata m;
        const uint8_t *p;
        uint64_t n;
        status = mldfi_tbl_entry(tbl, i, &e, &err);
        if (status >= 0)
            status = mldfi_tbl_payload(tbl, i, true, &scratch, &p, &n, &err);
        if (status < 0)
            break;
        printf("%s[\"%s\", %u, %u, ", i ? ", " : "", mldfi_tbl_format_name(e.format), e.width, e.height);
        blob(p, n);
        if (mldfi_tbl_find_metadata(tbl, i, &m, &err) == MLDF_OK) {
            printf(", %u, ", m.type);
            hex(m.data, m.bytes);
        }
        printf("]");
    }
    end(status, &err);
    mldf_buffer_free(&scratch);
    mldfi_tbl_close(tbl);
}

static void beton_value(const struct beton_field *f, const struct beton_value *v) {
    if (f->type == BETON_INT)
        printf("%lld", (long long)v->integer);
    else if (f->type == BETON_FLOAT)
        printf("%.17g", v->real);
    else {
        if (f->type == BETON_IMAGE)
            printf("[%u, %u, %u, ", v->mode, v->width, v->height);
        blob(v->data, v->bytes + (f->type == BETON_JSON)); /* with its NUL */
        printf(f->type == BETON_IMAGE ? "]" : "");
    }
}

static void dump_beton(const uint8_t *data, uint64_t bytes) {
    struct beton *b = NULL;
    mldf_error err;
    mldf_status status = mldfi_beton_open(&b, data, bytes, NULL, &err);
    uint64_t count = status >= 0 ? mldfi_beton_info(b)->count : 0;
    uint32_t fields = status >= 0 ? mldfi_beton_info(b)->field_count : 0;
    printf("{\"kind\": \"beton\", \"fields\": [");
    for (uint32_t i = 0; i < fields; i++)
        printf("%s\"%s\"", i ? ", " : "", mldfi_beton_field(b, i)->name);
    printf("], \"samples\": [");
    for (uint64_t s = 0; s < count && status >= 0; s++) {
        printf(s ? ", [" : "[");
        for (uint32_t i = 0; i < fields && status >= 0; i++) {
            struct beton_value v;
            status = mldfi_beton_value(b, s, i, &v, &err);
            printf(i ? ", " : "");
            if (status >= 0)
                beton_value(mldfi_beton_field(b, i), &v);
        }
        printf("]");
    }
    end(status, &err);
    mldfi_beton_close(b);
}

static unsigned warnings;
static void warn(void *user, const char *message) {
    (void)user, (void)message;
    warnings++;
}

static void dump_tar(struct tar_input *input) {
    struct tar_group_options options = {.warn = warn};
    struct tar_group *group = NULL;
    struct tar_sample s;
    mldf_error err;
    mldf_status status = mldfi_tar_group_new(&group, &options, &err);
    if (status >= 0)
        status = mldfi_tar_group_begin(group, input, "archive", &err);
    printf("{\"kind\": \"%s\", \"samples\": [", mldfi_tar_input_kind(input));
    for (int n = 0; status >= 0 && (status = mldfi_tar_group_next(group, &s, &err)) == MLDF_OK; n++) {
        printf(n ? ", [" : "[");
        hex(s.key, s.key_bytes);
        for (size_t i = 0; i < s.part_count; i++) {
            printf(", [");
            hex(s.parts[i].extension, strlen(s.parts[i].extension));
            printf(", ");
            blob(s.parts[i].data, s.parts[i].bytes);
            printf("]");
        }
        printf("]");
    }
    printf("], \"warnings\": [%u", warnings);
    end(status, &err);
    mldfi_tar_group_free(group);
}

static int fail(const mldf_error *err) {
    fprintf(stderr, "interop_dump: %s\n", err->message);
    return 1;
}

int main(int argc, char **argv) {
    struct os_file file;
    struct os_map map;
    struct tar_input *input = NULL;
    uint64_t bytes;
    mldf_error err;
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "-") == 0) {
        if (mldfi_tar_input_fd(&input, 0, &err) < 0)
            return fail(&err);
        dump_tar(input);
        mldfi_tar_input_free(input);
        return 0;
    }
    if (mldfi_file_open(&file, argv[1], OS_OPEN_READ, &err) < 0 || mldfi_file_size(&file, &bytes, &err) < 0 ||
        mldfi_map_open(&map, &file, bytes, &err) < 0)
        return fail(&err);
    if (mldfi_tbl_is(map.data, map.bytes))
        dump_tbl(map.data, map.bytes);
    else if (mldfi_beton_is(map.data, map.bytes))
        dump_beton(map.data, map.bytes);
    else if (mldfi_tar_input_memory(&input, map.data, map.bytes, &err) < 0)
        return fail(&err);
    else
        dump_tar(input);
    mldfi_tar_input_free(input);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
    return 0;
}
