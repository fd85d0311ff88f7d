/* FFmpeg's decoders and files through the modules of av_module.h. */
#ifndef MLDF_CODEC_AV_H
#define MLDF_CODEC_AV_H

#include "codec/av_module.h"
#include "mldf/base.h"

/* MLDF_E_UNSUPPORTED, in one line, when there is none, or FFmpeg has another version. */
mldf_status mldfi_av_decode_module(const struct av_decode_module **out, mldf_error *err);
mldf_status mldfi_av_file_module(const struct av_file_module **out, mldf_error *err);

#endif
