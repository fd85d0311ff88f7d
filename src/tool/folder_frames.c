/* Folders of frames: every folder with images in it is a video, its images are the frames. Entries of such folders become one, and remember their files.
 * See folder_pack.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mldf/video.h"
#include "tool/folder_pack.h"
#include "tool/read_file.h"
#include "util/buffer.h"
#include "util/error.h"

/* Numbers in names count as numbers: 2.jpg comes before 10.jpg. Names that are equal so (1.jpg and 01.jpg) go by their bytes. */
static int by_number(const char *a, const char *b) {
    const char *x = a, *y = b;
    while (*x && *y) {
        if (*x >= '0' && *x <= '9' && *y >= '0' && *y <= '9') {
            while (*x == '0')
                x++;
            while (*y == '0')
                y++;
            size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
            int order = m != n ? (m < n ? -1 : 1) : strncmp(x, y, m);
            if (order)
                return order;
            x += m;
            y += n;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++, y++;
        }
    }
    return *x ? 1 : *y ? -1 : strcmp(a, b);
}

/* By folder, then by number. */
static int by_place(const void *a, const void *b) {
    const struct folder_entry *x = a, *y = b;
    const char *p = strrchr(x->path, '/'), *q = strrchr(y->path, '/');
    size_t m = p ? (size_t)(p - x->path) : 0, n = q ? (size_t)(q - y->path) : 0;
    int order = strncmp(x->path, y->path, m < n ? m : n);
    if (order == 0 && m != n)
        order = m < n ? -1 : 1;
    return order ? order : by_number(p ? p + 1 : x->path, q ? q + 1 : y->path);
}

static bool same_folder(const struct folder_entry *a, const struct folder_entry *b) {
    const char *p = strrchr(a->path, '/'), *q = strrchr(b->path, '/');
    return p && q && p - a->path == q - b->path && strncmp(a->path, b->path, (size_t)(p - a->path)) == 0;
}

mldf_status mldfi_frames_group(struct folder_list *list, struct frame_folders *out, mldf_error *err) {
    size_t kept = 0;
    *out = (struct frame_folders){.files = list->entries, .count = list->count};
    list->entries = mldfi_alloc_zero(list->count + 1, sizeof *list->entries, err);
    out->first = mldfi_alloc_zero(list->count + 1, sizeof *out->first, err);
    if (!list->entries || !out->first) {
        list->count = 0;
        return MLDF_E_MEMORY;
    }
    qsort(out->files, out->count, sizeof *out->files, by_place);
    for (size_t i = 0; i < out->count; i++) {
        const struct folder_entry *file = &out->files[i];
        const char *slash = strrchr(file->path, '/');
        struct folder_entry *last = kept ? &list->entries[kept - 1] : NULL;
        if (last && same_folder(file, &out->files[i - 1])) {
            last->bytes += file->bytes;
            continue;
        }
        if (!slash || (size_t)(slash - file->path) < file->below) {
            list->count = kept;
            return mldfi_fail_file(err, MLDF_E_TYPE, file->path,
                                   "lies beside the folders of frames: with layout frames every folder of images is a "
                                   "video");
        }
        struct folder_entry group = *file;
        group.bytes = file->bytes;
        group.path = mldfi_copy_text(file->path, (size_t)(slash - file->path), err);
        if (!group.path) {
            list->count = kept;
            return MLDF_E_MEMORY;
        }
        out->first[kept] = i;
        list->entries[kept++] = group;
    }
    out->first[kept] = out->count;
    list->count = kept;
    return MLDF_OK;
}

void mldfi_frames_free(struct frame_folders *folders) {
    for (size_t i = 0; i < folders->count; i++)
        free(folders->files[i].path);
    free(folders->files);
    free(folders->first);
    *folders = (struct frame_folders){0};
}

bool mldfi_frames_are_jpeg(const struct frame_folders *folders) {
    for (size_t i = 0; i < folders->count; i++) {
        const char *dot = strrchr(folders->files[i].path, '.');
        if (!dot || (strcasecmp(dot, ".jpg") != 0 && strcasecmp(dot, ".jpeg") != 0))
            return false;
    }
    return true;
}

mldf_status mldfi_frames_read(const struct frame_folders *folders, size_t index, const struct field_files *images,
                              uint32_t fps_num, uint32_t fps_den, mldf_buffer *out, mldf_error *err) {
    const size_t first = folders->first[index], count = folders->first[index + 1] - first;
    mldf_frame *frames = mldfi_alloc_zero(count + 1, sizeof *frames, err);
    mldf_buffer file = MLDF_BUFFER_INIT, all = MLDF_BUFFER_INIT;
    mldf_status status = frames ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        const char *path = folders->files[first + i].path;
        status = mldfi_read_file(path, images->most_bytes, &file, err);
        if (status == MLDF_OK)
            status = images->look(path, file.data, file.size, NULL, NULL, err);
        if (status < 0) {
            mldfi_error_prefix(err, "frame %zu (%s)", i, strrchr(path, '/') + 1);
            break;
        }
        frames[i].bytes = file.size;
        status = mldf_buffer_append(&all, file.data, file.size, err);
    }
    for (size_t i = 0, at = 0; i < count && status == MLDF_OK; at += frames[i++].bytes)
        frames[i].data = all.data + at;
    out->size = 0;
    if (status == MLDF_OK)
        status = mldf_video_list(frames, count, fps_num, fps_den, NULL, out, err);
    mldf_buffer_free(&file);
    mldf_buffer_free(&all);
    free(frames);
    return status;
}
