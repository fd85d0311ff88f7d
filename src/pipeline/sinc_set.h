/* The resamplers of decode_audio(rate=): one for each rate that occurs, made when a recording of it is first seen and kept until the plan ends. */
#ifndef MLDF_PIPELINE_SINC_SET_H
#define MLDF_PIPELINE_SINC_SET_H

#include "kernel/sinc.h"

struct sinc_set;
/* to: the rate that comes out. */
mldf_status mldfi_sinc_set_new(uint32_t to, struct sinc_set **out, mldf_error *err);
void mldfi_sinc_set_free(struct sinc_set *set);
/* From any thread. *out NULL: the rate stays. */
mldf_status mldfi_sinc_set_get(struct sinc_set *set, uint32_t from, const struct sinc **out, mldf_error *err);

#endif
