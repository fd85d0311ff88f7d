/* Pack plans in a file that is written. */
#ifndef MLDF_WRITER_PLANS_H
#define MLDF_WRITER_PLANS_H

#include "format/packing.h"
#include "mldf/writer.h"

/* The file's plans, instead of those it may have; to be called before finish. Their fields are the writer's, and they plan no more rows than the
 * file will have: the caller sees to that. 0: no plans. */
mldf_status mldfi_writer_set_plans(mldf_writer *writer, const struct packing *plans, size_t count, mldf_error *err);

#endif
