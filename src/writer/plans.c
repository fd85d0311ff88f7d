/* Section 11 of a file that is written: it stands among the sections that an append carries along. See plans.h. */
#include "writer/plans.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "writer/writer.h"

static struct kept_section *find(mldf_writer *writer) {
    for (size_t i = 0; i < writer->kept_count; i++)
        if (writer->kept[i].section.kind == SECTION_PACK_PLAN)
            return &writer->kept[i];
    return NULL;
}

static void forget(mldf_writer *writer, struct kept_section *kept) {
    size_t index = (size_t)(kept - writer->kept);
    mldf_buffer_free(&kept->bytes);
    memmove(kept, kept + 1, (writer->kept_count - index - 1) * sizeof *kept);
    writer->kept_count--;
}

static mldf_status add(mldf_writer *writer, struct kept_section **out, mldf_error *err) {
    struct kept_section *more = realloc(writer->kept, (writer->kept_count + 1) * sizeof *more);
    if (!more)
        return mldfi_fail_memory(err, (writer->kept_count + 1) * sizeof *more);
    writer->kept = more;
    *out = &more[writer->kept_count++];
    memset(*out, 0, sizeof **out);
    (*out)->section.kind = SECTION_PACK_PLAN;
    return MLDF_OK;
}

mldf_status mldfi_writer_set_plans(mldf_writer *writer, const struct packing *plans, size_t count, mldf_error *err) {
    mldf_buffer bytes = MLDF_BUFFER_INIT;
    struct kept_section *kept = find(writer);
    mldf_status status = count ? mldfi_packing_write(plans, count, &bytes, err) : MLDF_OK;
    if (status >= 0 && count && !kept)
        status = add(writer, &kept, err);
    if (status < 0 || !kept || count == 0) {
        mldf_buffer_free(&bytes);
        if (status >= 0 && kept)
            forget(writer, kept);
        return status;
    }
    mldf_buffer_free(&kept->bytes);
    kept->bytes = bytes;
    kept->section.param = count;
    return MLDF_OK;
}
