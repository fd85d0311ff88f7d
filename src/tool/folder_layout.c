/* What a folder of files is: of what type its files are, and what its sub-folders mean, classes or nothing. See folder_pack.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/folder_pack.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/utf8.h"

static const char *below(const struct folder_entry *entry) {
    return entry->path + entry->below;
}

/* ---- The type ----------------------------------------------------------------------------------------------------------- */

/* How many names end like files of this type, and the first of them. */
static size_t count_names(const struct folder_list *list, const struct field_type *type, const char **first) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (mldfi_type_of_file(below(&list->entries[i]), NULL) != type)
            continue;
        if (count++ == 0)
            *first = below(&list->entries[i]);
    }
    return count;
}

mldf_status mldfi_folder_type(const struct folder_list *list, bool by_majority, const struct field_type **out,
                              mldf_error *err) {
    const char *most_name = "", *name = "";
    size_t most = 0, count;
    const struct field_type *type;
    *out = mldfi_type_with_files(0);
    for (size_t i = 0; (type = mldfi_type_with_files(i)) != NULL; i++) {
        if ((count = count_names(list, type, &name)) == 0)
            continue;
        if (most && !by_majority)
            return mldfi_fail(
                err, MLDF_E_TYPE,
                "the folder holds %s (%zu, such as %.80s) and %s (%zu, such as %.80s): pack each kind from a "
                "folder of its own, or name the files in a table",
                (*out)->files->plural, most, most_name, type->files->plural, count, name);
        if (count > most) {
            *out = type;
            most = count;
            most_name = name;
        }
    }
    for (size_t i = 0; i < list->count; i++) { /* one file that needs another type of this kind decides for all */
        type = mldfi_type_for_file(below(&list->entries[i]));
        if (type && type != *out && type->files == (*out)->files) {
            *out = type;
            break;
        }
    }
    return MLDF_OK;
}

/* ---- Classes ------------------------------------------------------------------------------------------------------------ */

/* Samples directly in the folder, and in sub-folders. What a name does not show to be a sample counts only where nothing else lies deeper. */
struct places {
    size_t direct, deep;
    bool any_deep;
};

static struct places count_places(const struct folder_list *list) {
    struct places places = {0, 0, false};
    for (size_t i = 0; i < list->count; i++) {
        bool direct = strchr(below(&list->entries[i]), '/') == NULL;
        size_t sample = mldfi_type_of_file(below(&list->entries[i]), NULL) != NULL;
        places.direct += direct ? sample : 0;
        places.deep += direct ? 0 : sample;
        places.any_deep = places.any_deep || !direct;
    }
    return places;
}

/* Sub-folders are classes unless most samples lie beside them: a few stray files must not take the labels of all others. */
static bool looks_labelled(const struct places *places) {
    return places->direct ? places->direct < places->deep : places->any_deep;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The name of the class folder that the entry lies in, or NULL: in none, or in one whose name cannot stand in the card. */
static mldf_status class_name(const struct folder_entry *entry, char **out, mldf_error *err) {
    const char *path = below(entry), *slash = strchr(path, '/');
    *out = NULL;
    if (!slash || mldfi_utf8_valid_prefix(path, (size_t)(slash - path)) != (size_t)(slash - path))
        return MLDF_OK;
    *out = mldfi_copy_text(path, (size_t)(slash - path), err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

/* Entries are sorted, so equal names mostly follow each other; sorting and removing does the rest. */
static mldf_status collect(struct folder_list *list, mldf_error *err) {
    for (size_t i = 0; i < list->count; i++) {
        char *name;
        TRY(class_name(&list->entries[i], &name, err));
        if (!name || (list->class_count && strcmp(list->classes[list->class_count - 1], name) == 0)) {
            free(name);
            continue;
        }
        mldf_status status = mldfi_array_reserve(&list->classes, &list->class_capacity, list->class_count + 1,
                                                 sizeof *list->classes, err);
        if (status < 0) {
            free(name);
            return status;
        }
        list->classes[list->class_count++] = name;
    }
    if (list->class_count)
        qsort(list->classes, list->class_count, sizeof *list->classes, by_bytes);
    size_t kept = 0;
    for (size_t i = 0; i < list->class_count; i++) {
        if (kept && strcmp(list->classes[kept - 1], list->classes[i]) == 0)
            free(list->classes[i]);
        else
            list->classes[kept++] = list->classes[i];
    }
    list->class_count = kept;
    return MLDF_OK;
}

static uint32_t label_of(const struct folder_list *list, const struct folder_entry *entry) {
    const char *path = below(entry), *slash = strchr(path, '/');
    size_t bytes = slash ? (size_t)(slash - path) : 0, low = 0, high = list->class_count;
    if (!slash)
        return FOLDER_NO_LABEL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = list->classes[middle];
        int order = strncmp(name, path, bytes);
        if (order == 0 && name[bytes] == 0)
            return (uint32_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return FOLDER_NO_LABEL;
}

mldf_status mldfi_folder_layout(struct folder_list *list, mldf_layout layout, mldf_error *err) {
    struct places places = count_places(list);
    list->labelled =
        layout == MLDF_LAYOUT_CLASSES || (layout == MLDF_LAYOUT_AUTO && looks_labelled(&places)) ||
        (layout == MLDF_LAYOUT_FRAMES && places.any_deep); /* entries are folders of frames, in folders of classes */
    list->mixed = layout == MLDF_LAYOUT_AUTO && places.direct && places.deep;
    list->strays = list->mixed && list->labelled ? places.direct : 0;
    if (!list->labelled)
        return MLDF_OK;
    mldf_status status = collect(list, err);
    for (size_t i = 0; status == MLDF_OK && i < list->count; i++)
        list->entries[i].label = label_of(list, &list->entries[i]);
    return status;
}

/* ---- What resuming compares ------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

uint64_t mldfi_folder_fingerprint(const struct folder_list *list, uint64_t seed) {
    uint64_t hash = seed;
    for (size_t i = 0; i < list->count; i++) {
        const struct folder_entry *e = &list->entries[i];
        hash = mix(hash, e->path, strlen(e->path) + 1);
        hash = mix(hash, &e->bytes, sizeof e->bytes);
        hash = mix(hash, &e->seconds, sizeof e->seconds);
        hash = mix(hash, &e->nanoseconds, sizeof e->nanoseconds);
    }
    return hash;
}

/* ---- The card ---------------------------------------------------------------------------------------------------------------- */

static bool same_classes(const struct json *json, uint32_t list, char *const *classes, size_t count) {
    if (json->nodes[list].kind != MLDFI_JSON_ARRAY || json->nodes[list].count != count)
        return false;
    uint32_t at = mldfi_json_first(json, list);
    for (size_t i = 0; i < count; i++, at = json->nodes[at].next)
        if (!mldfi_json_is_text(json, at, classes[i]))
            return false;
    return true;
}

static mldf_status append_classes(char *const *classes, size_t count, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, "\"classes\":[", err);
    for (size_t i = 0; status == MLDF_OK && i < count; i++) {
        if (i)
            status = mldfi_buffer_append_text(out, ",", err);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, classes[i], strlen(classes[i]), err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "]", err) : status;
}

/* The card's own text stays as it is: the new member goes in front of its last brace. */
static mldf_status merge(const struct json *json, const char *card, size_t card_bytes, char *const *classes,
                         size_t count, mldf_buffer *out, mldf_error *err) {
    if (json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the card is not a JSON object");
    uint32_t old = mldfi_json_find(json, 0, "classes");
    if (old != UINT32_MAX) {
        if (!same_classes(json, old, classes, count))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "the card's \"classes\" are not the names of the class folders");
        return mldf_buffer_append(out, card, card_bytes, err);
    }
    size_t end = card_bytes;
    while (end > 0 && card[end - 1] != '}')
        end--;
    mldf_status status = mldf_buffer_append(out, card, end - 1, err);
    if (status == MLDF_OK && json->nodes[0].count)
        status = mldfi_buffer_append_text(out, ",", err);
    if (status == MLDF_OK)
        status = append_classes(classes, count, out, err);
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "}", err) : status;
}

mldf_status mldfi_card_with_classes(const char *card, size_t card_bytes, char *const *classes, size_t count,
                                    mldf_buffer *out, mldf_error *err) {
    struct json json = {0};
    if (!card || card_bytes == 0) {
        card = "{}";
        card_bytes = 2;
    }
    mldf_status status = mldfi_json_parse(&json, card, card_bytes, err);
    if (status == MLDF_OK)
        status = merge(&json, card, card_bytes, classes, count, out, err);
    else
        mldfi_error_prefix(err, "the card");
    mldfi_json_free(&json);
    return status;
}

/* ---- The classes of a file that is there ------------------------------------------------------------------------------------- */

static mldf_status unknown_class(const struct json *json, uint32_t classes, const char *name, mldf_error *err) {
    mldf_buffer list = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    uint32_t at = mldfi_json_first(json, classes);
    for (uint32_t i = 0; i < json->nodes[classes].count && status >= 0; i++, at = json->nodes[at].next) {
        const struct json_node *node = &json->nodes[at];
        if (list.size + node->text_bytes > 300) {
            status = mldfi_buffer_printf(&list, err, "%s... %u in all", i ? ", " : "", json->nodes[classes].count);
            break;
        }
        status = mldfi_buffer_printf(&list, err, "%s%.*s", i ? ", " : "", (int)node->text_bytes, node->text);
    }
    if (status >= 0)
        status = mldf_buffer_append(&list, "", 1, err);
    if (status >= 0)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "the folder '%.100s' is none of the file's classes: %s", name,
                            (const char *)list.data);
    mldf_buffer_free(&list);
    return status;
}

static mldf_status find_labels(const struct folder_list *list, const struct json *json, uint32_t *labels,
                               mldf_error *err) {
    uint32_t classes =
        json->nodes && json->nodes[0].kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, 0, "classes") : UINT32_MAX;
    if (classes == UINT32_MAX || json->nodes[classes].kind != MLDFI_JSON_ARRAY)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "the file's card has no list \"classes\", so no label is known for the folder '%.100s'",
                          list->class_count ? list->classes[0] : "");
    for (size_t i = 0; i < list->class_count; i++) {
        uint32_t at = mldfi_json_first(json, classes), label = 0, count = json->nodes[classes].count;
        while (label < count && !mldfi_json_is_text(json, at, list->classes[i])) {
            at = json->nodes[at].next;
            label++;
        }
        if (label == count)
            return unknown_class(json, classes, list->classes[i], err);
        labels[i] = label;
    }
    return MLDF_OK;
}

mldf_status mldfi_folder_labels(const struct folder_list *list, const char *card, size_t card_bytes, uint32_t **out,
                                mldf_error *err) {
    struct json json = {0};
    *out = mldfi_alloc_zero(list->class_count + 1, sizeof **out, err);
    mldf_status status = *out ? MLDF_OK : MLDF_E_MEMORY;
    if (status == MLDF_OK && card)
        status = mldfi_json_parse(&json, card, card_bytes, err);
    if (status == MLDF_OK)
        status = find_labels(list, &json, *out, err);
    mldfi_json_free(&json);
    return status;
}
