/* A folder of files (images, recordings) as a list: every file that may be a sample, in the order of its path's bytes, and the classes.
 *
 *     photos/cat/1.jpg   entry {path "photos/cat/1.jpg", key "cat/1.jpg", label 0}, classes {"cat", ...}
 *
 * folder_list.c walks, folder_layout.c decides what files and sub-folders are, folder_pack.c feeds a writer. */
#ifndef MLDF_TOOL_FOLDER_PACK_H
#define MLDF_TOOL_FOLDER_PACK_H

#include "field/field.h"
#include "mldf/tool.h"

struct folder_entry {
    char *path;     /* to open; owned */
    size_t below;   /* the part of it below the folder */
    size_t key;     /* the part of it that is the key */
    uint32_t label; /* FOLDER_NO_LABEL: in no class folder, or in one whose name is not UTF-8 */
    uint64_t bytes;
    int64_t seconds, nanoseconds; /* of its last change */
};
enum { FOLDER_NO_LABEL = UINT32_MAX, FOLDER_DEPTH_MAX = 128 };

struct folder_list {
    struct folder_entry *entries;
    size_t count, capacity;
    char **classes; /* sorted by bytes */
    size_t class_count, class_capacity;
    bool labelled;
    bool mixed;    /* the layout was chosen here, and there are samples both in sub-folders and beside them */
    size_t strays; /* samples beside the class folders: their label is null; 0 where the caller asked for classes */
    uint64_t total_bytes;
};

/* What the walk tells as it goes; each may be NULL. unreadable returns true to go on without that folder or file. */
struct folder_hooks {
    void (*left_out)(void *user, const char *path, const char *why);
    bool (*unreadable)(void *user, const char *path, const mldf_error *why);
    mldf_status (*watch)(void *user, mldf_error *err); /* now and then: < 0 ends the walk */
    void *user;
    bool every_file; /* whatever their names: documents */
};

/* Adds the files below `root`. Hidden names, what is neither file nor folder and side files (notes, tables, thumbnails) are left out;
 * links are followed; a root may be a file; a folder that contains itself through a link is MLDF_E_ARGUMENT. with_root: keys begin with the root's own path. */
mldf_status mldfi_folder_add(struct folder_list *list, const char *root, bool with_root,
                             const struct folder_hooks *hooks, mldf_error *err);
/* The type that the names of the files say; the first of the table when they say none. Names of two types: MLDF_E_TYPE, or, by majority, the type
 * of most. */
mldf_status mldfi_folder_type(const struct folder_list *list, bool by_majority, const struct field_type **out,
                              mldf_error *err);
/* After the last folder: labels and classes. */
mldf_status mldfi_folder_layout(struct folder_list *list, mldf_layout layout, mldf_error *err);
void mldfi_folder_free(struct folder_list *list);
/* Of names, sizes and times: two runs with the same value see the same files. */
uint64_t mldfi_folder_fingerprint(const struct folder_list *list, uint64_t seed);

/* Layout frames (folder_frames.c): every folder with images is a video. Entry i of the list becomes the folder of files [first[i], first[i + 1]), in the
 * order of the numbers in their names. */
struct frame_folders {
    struct folder_entry *files;
    size_t count, *first;
};
mldf_status mldfi_frames_group(struct folder_list *list, struct frame_folders *out, mldf_error *err);
void mldfi_frames_free(struct frame_folders *folders);
bool mldfi_frames_are_jpeg(const struct frame_folders *folders); /* by their names */
/* The frames of entry `index` as a value for a writer. images: what a frame must be. */
mldf_status mldfi_frames_read(const struct frame_folders *folders, size_t index, const struct field_files *images,
                              uint32_t fps_num, uint32_t fps_den, mldf_buffer *out, mldf_error *err);

/* The label of each class folder in a file whose card has "classes"; *out is the caller's. MLDF_E_SCHEMA names a folder that is none of
 * them, and them. */
mldf_status mldfi_folder_labels(const struct folder_list *list, const char *card, size_t card_bytes, uint32_t **out,
                                mldf_error *err);
/* The card with the member "classes" added; appended to out. A card that has other classes is MLDF_E_ARGUMENT. */
mldf_status mldfi_card_with_classes(const char *card, size_t card_bytes, char *const *classes, size_t count,
                                    mldf_buffer *out, mldf_error *err);

#endif
