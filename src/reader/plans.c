/* The pack plans of a file: section 11 as struct packing (format/packing.h). Opening checked their sizes; using them checks the section's CRC, once a
 * call. */
#include "reader/plans.h"

#include <string.h>

#include "reader/reader.h"
#include "util/buffer.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "util/options.h"

mldf_status mldfi_reader_plans(const mldf_reader *reader, mldf_buffer *scratch, struct packing *out, size_t *count,
                               mldf_error *err) {
    const struct section *s = mldfi_reader_find_section(reader, SECTION_PACK_PLAN);
    const uint8_t *bytes;
    *count = 0;
    if (!s || reader->unusable >> SECTION_PACK_PLAN & 1)
        return MLDF_OK;
    scratch->size = 0;
    TRY(mldfi_reader_view(reader, s->ptr, s->size, scratch, &bytes, err));
    if (mldfi_crc32c(0, bytes, (size_t)s->size) != s->crc)
        return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, s->ptr, "the pack plans are damaged");
    mldf_status status = mldfi_packing_read(bytes, s->size, s->param, reader->header.num_fields,
                                            reader->header.num_samples, out, count, err);
    if (status < 0 && err)
        err->offset += s->ptr;
    return status;
}

const char *mldfi_packing_name(uint8_t algorithm) {
    static const char *const names[] = {"unknown", "best-fit", "next-fit", "concat"};
    return names[algorithm <= PACKING_CONCAT ? algorithm : 0];
}

const char *mldfi_packing_long_name(uint8_t rule) {
    static const char *const names[] = {"cut", "truncate", "drop", "unknown"};
    return names[rule <= PACKING_DROP ? rule : 3];
}

void mldfi_packing_describe(const mldf_schema *schema, const struct packing *p, mldf_token_plan *out) {
    *out = (mldf_token_plan){.field = p->field < schema->field_count ? schema->fields[p->field].name : "",
                             .algorithm = mldfi_packing_name(p->rule.algorithm),
                             .long_documents = mldfi_packing_long_name(p->rule.long_documents),
                             .length = p->rule.length,
                             .align = p->rule.align,
                             .max_pieces = p->rule.max_pieces,
                             .most_pieces = p->most_pieces,
                             .bos = (int64_t)p->rule.bos - 1,
                             .eos = (int64_t)p->rule.eos - 1,
                             .rows = p->rows,
                             .bins = p->bins,
                             .pieces = p->pieces,
                             .tokens = p->placed,
                             .left_out = p->left_out,
                             .cut_documents = p->cut,
                             .seed = p->rule.seed};
}

mldf_status mldf_reader_token_plan(const mldf_reader *reader, size_t index, mldf_token_plan *out, mldf_error *err) {
    struct packing plans[PACKING_PLANS];
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    size_t count;
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_reader_token_plan: %s is NULL", reader ? "out" : "reader");
    mldf_status status = mldfi_check_result("mldf_token_plan", out, err);
    if (status == MLDF_OK)
        status = mldfi_reader_plans(reader, &scratch, plans, &count, err);
    if (status >= 0 && index < count) {
        mldf_token_plan plan;
        mldfi_packing_describe(reader->schema, &plans[index], &plan);
        mldfi_give_result(out, &plan, sizeof plan);
    }
    mldf_buffer_free(&scratch);
    return status < 0 ? status : index < count ? MLDF_OK : MLDF_END;
}
