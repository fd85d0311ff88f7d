/* mldf/mldf.h: all of libmldf's public interface. Read base.h for the conventions, then schema.h, writer.h and reader.h,
 * then tool.h for operations on whole files, tbl.h for TBL files; image.h has the images, audio.h the recordings, video.h the videos,
 * tokens.h the tokens, tokenizer.h text into tokens, multimodal.h samples of several parts. */
#ifndef MLDF_MLDF_H
#define MLDF_MLDF_H

#include "audio.h"
#include "base.h"
#include "image.h"
#include "loader.h"
#include "multimodal.h"
#include "order.h"
#include "pipeline.h"
#include "reader.h"
#include "schema.h"
#include "tbl.h"
#include "tokenizer.h"
#include "tokens.h"
#include "tool.h"
#include "video.h"
#include "view.h"
#include "writer.h"

#endif
