/* Memory that NumPy arrays, torch tensors and the like look at. Plain C, counted atomically: the last view may go on
 * a thread that has no interpreter, or after there is one no longer. */
#include "py_extension.h"

#include <stdlib.h>

void memory_init(struct memory *memory, void (*release)(struct memory *memory)) {
    atomic_init(&memory->references, 1);
    memory->release = release;
}

struct memory *memory_retain(struct memory *memory) {
    atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
    return memory;
}

void memory_release(struct memory *memory) {
    if (memory && atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) == 1)
        memory->release(memory);
}

struct owned {
    struct memory memory;
    mldf_buffer buffer;
};

static void release_owned(struct memory *memory) {
    struct owned *owned = (struct owned *)memory;
    mldf_buffer_free(&owned->buffer);
    free(owned);
}

struct memory *memory_from_buffer(mldf_buffer *buffer) {
    struct owned *owned = malloc(sizeof *owned);
    if (!owned) {
        PyErr_NoMemory();
        return NULL;
    }
    memory_init(&owned->memory, release_owned);
    owned->buffer = *buffer;
    *buffer = (mldf_buffer)MLDF_BUFFER_INIT;
    return &owned->memory;
}
