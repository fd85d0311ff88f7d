/* Parameters of decoding steps from outside the pipeline's text: "decode(channels=3) | decode_audio(mono=true)", an option of the loader. They
 * stand in for the defaults of a step; what its text gives is kept. */

#include "pipeline/pipeline.h"
#include "pipeline/plan.h"
#include "util/buffer.h"
#include "util/error.h"

static bool all_decode(const mldf_pipeline *pipeline) {
    bool decode = pipeline->statement_count == 1 && pipeline->statements[0].step_count > 0;
    for (size_t i = 0; decode && i < pipeline->statements[0].step_count; i++)
        decode = pipeline->statements[0].steps[i].type->decodes != FAMILY_NONE;
    return decode;
}

mldf_status mldfi_decode_options_parse(const mldf_context *context, const char *text, mldf_pipeline **out,
                                       mldf_error *err) {
    mldf_buffer statement = MLDF_BUFFER_INIT;
    *out = NULL;
    if (!text)
        return MLDF_OK;
    mldf_status status = mldfi_buffer_printf(&statement, err, "values: %s", text);
    if (status >= 0)
        status = mldf_pipeline_parse(context, (const char *)statement.data, statement.size, out, err);
    mldf_buffer_free(&statement);
    if (status >= 0 && !all_decode(*out))
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "takes decoding steps joined by |, such as decode(channels=3)");
    if (status < 0) {
        mldf_pipeline_free(*out);
        *out = NULL;
        mldfi_error_prefix(err, "option decode, \"%.120s\"", text);
    }
    return status;
}

mldf_status mldfi_decode_options_apply(const mldf_pipeline *from, struct op *op, mldf_error *err) {
    if (!from || op->type->decodes == FAMILY_NONE)
        return MLDF_OK;
    for (size_t i = 0; i < from->statements[0].step_count; i++) {
        const struct step *step = &from->statements[0].steps[i];
        struct op said;
        if (step->type != op->type)
            continue;
        mldf_status status = mldfi_bind_parameters(from, step, &said, err);
        if (status < 0) {
            mldfi_error_prefix(err, "option decode");
            return status;
        }
        for (size_t k = 0; k < OP_MAX_PARAMS; k++) {
            if (!said.args[k].given || op->args[k].given)
                continue;
            struct arg fallback = op->args[k];
            op->args[k] = said.args[k];
            op->args[k].given = false; /* a default still */
            said.args[k] = fallback;
        }
        mldfi_free_parameters(&said);
    }
    return MLDF_OK;
}
