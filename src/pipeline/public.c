/* The list of operations that programs see: sorted by name, whatever family they come from. */
#include <string.h>

#include "pipeline/pipeline.h"

/* The index-th by name. A few dozen names: no table is kept. */
static const struct op_type *sorted_at(size_t index) {
    for (size_t i = 0; mldfi_op_at(i); i++) {
        const struct op_type *type = mldfi_op_at(i);
        size_t before = 0;
        for (size_t k = 0; mldfi_op_at(k); k++)
            before += strcmp(mldfi_op_at(k)->name, type->name) < 0;
        if (before == index)
            return type;
    }
    return NULL;
}

mldf_status mldf_operation_at(size_t index, mldf_operation_info *out) {
    const struct op_type *type = sorted_at(index);
    if (!out)
        return MLDF_E_ARGUMENT;
    if (!type)
        return MLDF_END;
    size_t count = 0;
    while (type->params && type->params[count].name)
        count++;
    *out = (mldf_operation_info){type->name,
                                 type->help,
                                 count,
                                 (type->flags & OP_RANDOM) != 0,
                                 (type->flags & OP_PAIR) != 0,
                                 (type->flags & OP_GROUP) != 0};
    return MLDF_OK;
}

mldf_status mldf_operation_parameter(size_t operation, size_t index, mldf_parameter_info *out) {
    static const char *const kinds[] = {
        [PARAM_INT] = "int",   [PARAM_FLOAT] = "float", [PARAM_BOOL] = "bool",     [PARAM_CHOICE] = "choice",
        [PARAM_TEXT] = "text", [PARAM_INTS] = "ints",   [PARAM_FLOATS] = "floats", [PARAM_DTYPE] = "dtype"};
    const struct op_type *type = sorted_at(operation);
    if (!out)
        return MLDF_E_ARGUMENT;
    for (size_t i = 0; type && type->params && type->params[i].name; i++)
        if (i == index) {
            const struct op_param *p = &type->params[i];
            *out = (mldf_parameter_info){p->name, kinds[p->kind], p->fallback, p->help, p->choices};
            return MLDF_OK;
        }
    return MLDF_END;
}
