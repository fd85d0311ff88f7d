/* Memory that reports its absence: mldf_buffer (64-byte aligned, grows by half), and malloc with an mldf_error.
 * Nothing here knows what the bytes mean. error.h has the reports. */
#include "util/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

enum { BUFFER_ALIGN = 64, BUFFER_FIRST = 256 };
/* No object may be larger than this: pointer differences must fit. */
#define MEMORY_MAX ((size_t)PTRDIFF_MAX - BUFFER_ALIGN)

void mldf_buffer_free(mldf_buffer *buffer) {
    if (!buffer)
        return;
    free(buffer->data);
    buffer->data = NULL;
    buffer->size = 0;
    buffer->capacity = 0;
}

void mldfi_buffer_trim(mldf_buffer *buffer, size_t most) {
    if (buffer->capacity > most)
        mldf_buffer_free(buffer);
}

mldf_status mldf_buffer_reserve(mldf_buffer *buffer, size_t capacity, mldf_error *err) {
    if (!buffer)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "buffer is NULL");
    if (capacity <= buffer->capacity)
        return MLDF_OK;
    if (capacity > MEMORY_MAX)
        return mldfi_fail_memory(err, capacity);
    /* There is no aligned realloc: new place, copy, free. */
    size_t room = (capacity + BUFFER_ALIGN - 1) & ~(size_t)(BUFFER_ALIGN - 1);
    uint8_t *data = aligned_alloc(BUFFER_ALIGN, room);
    if (!data)
        return mldfi_fail_memory(err, room);
    if (buffer->size)
        memcpy(data, buffer->data, buffer->size);
    free(buffer->data);
    buffer->data = data;
    buffer->capacity = room;
    return MLDF_OK;
}

/* Room for `bytes` more, by half of what there is at least, so that many appends cost O(total). */
static mldf_status grow(mldf_buffer *buffer, size_t bytes, mldf_error *err) {
    if (bytes <= buffer->capacity - buffer->size)
        return MLDF_OK;
    if (bytes > MEMORY_MAX - buffer->size)
        return mldfi_fail_memory(err, bytes);
    size_t needed = buffer->size + bytes;
    size_t wanted = buffer->capacity + buffer->capacity / 2;
    if (wanted > MEMORY_MAX)
        wanted = MEMORY_MAX;
    if (wanted < BUFFER_FIRST)
        wanted = BUFFER_FIRST;
    if (wanted > needed && mldf_buffer_reserve(buffer, wanted, NULL) == MLDF_OK)
        return MLDF_OK;
    return mldf_buffer_reserve(buffer, needed, err);
}

mldf_status mldfi_buffer_extend(mldf_buffer *buffer, size_t bytes, uint8_t **where, mldf_error *err) {
    mldf_status status = grow(buffer, bytes, err);
    if (status != MLDF_OK)
        return status;
    *where = buffer->data ? buffer->data + buffer->size : NULL;
    buffer->size += bytes;
    return MLDF_OK;
}

mldf_status mldfi_buffer_resize(mldf_buffer *buffer, size_t size, mldf_error *err) {
    if (size > buffer->size) {
        mldf_status status = grow(buffer, size - buffer->size, err);
        if (status != MLDF_OK)
            return status;
    }
    buffer->size = size;
    return MLDF_OK;
}

mldf_status mldf_buffer_append(mldf_buffer *buffer, const void *data, size_t bytes, mldf_error *err) {
    uint8_t *where;
    if (!buffer || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s is NULL", buffer ? "data" : "buffer");
    mldf_status status = mldfi_buffer_extend(buffer, bytes, &where, err);
    if (status == MLDF_OK && bytes)
        memcpy(where, data, bytes);
    return status;
}

mldf_status mldfi_buffer_append_text(mldf_buffer *buffer, const char *text, mldf_error *err) {
    return mldf_buffer_append(buffer, text, strlen(text), err);
}

mldf_status mldfi_buffer_printf(mldf_buffer *buffer, mldf_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (wanted < 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the format \"%s\" cannot be printed", format);
    /* vsnprintf ends with a NUL that is not part of the content. */
    mldf_status status = grow(buffer, (size_t)wanted + 1, err);
    if (status != MLDF_OK)
        return status;
    va_start(args, format);
    (void)vsnprintf((char *)buffer->data + buffer->size, (size_t)wanted + 1, format, args);
    va_end(args);
    buffer->size += (size_t)wanted;
    return MLDF_OK;
}

void *mldfi_alloc(size_t bytes, mldf_error *err) {
    void *memory = bytes <= MEMORY_MAX ? malloc(bytes ? bytes : 1) : NULL;
    if (!memory)
        (void)mldfi_fail_memory(err, bytes);
    return memory;
}

void *mldfi_alloc_zero(size_t count, size_t bytes, mldf_error *err) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total) || total > MEMORY_MAX) {
        (void)mldfi_fail(err, MLDF_E_MEMORY, "no memory for %zu items of %zu bytes", count, bytes);
        return NULL;
    }
    void *memory = calloc(total ? total : 1, 1);
    if (!memory)
        (void)mldfi_fail_memory(err, total);
    return memory;
}

char *mldfi_copy_text(const char *text, size_t bytes, mldf_error *err) {
    if (bytes >= MEMORY_MAX) {
        (void)mldfi_fail_memory(err, bytes);
        return NULL;
    }
    char *copy = mldfi_alloc(bytes + 1, err);
    if (!copy)
        return NULL;
    if (bytes)
        memcpy(copy, text, bytes);
    copy[bytes] = 0;
    return copy;
}

mldf_status mldfi_array_reserve(void *array, size_t *capacity, size_t needed, size_t item_bytes, mldf_error *err) {
    size_t wanted = *capacity < SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    size_t total;
    void *items;
    if (needed <= *capacity)
        return MLDF_OK;
    if (wanted < 8)
        wanted = 8;
    if (wanted < needed)
        wanted = needed;
    if (__builtin_mul_overflow(wanted, item_bytes, &total) || total > MEMORY_MAX)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for %zu items of %zu bytes", wanted, item_bytes);
    /* `array` is the address of a T *; memcpy moves the pointer without guessing T. */
    memcpy(&items, array, sizeof items);
    items = realloc(items, total);
    if (!items)
        return mldfi_fail_memory(err, total);
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return MLDF_OK;
}
