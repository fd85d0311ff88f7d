/* Files of token ids that other trainers use, as datasets: a row is a document, in place in the mapped file where the width allows it.
 *
 *     megatron   X.idx (magic, lengths, pointers, documents) beside X.bin (bare ids)
 *     llmc       256 × i32 header (magic 20240520 u16, or 20240801 u32), then ids
 *     nanogpt    bare u16 ids; documents by their eos
 *     olmo       bare u8, u16, u32 or u64 ids in X.npy, which has no NumPy header; documents by their eos
 *     datatrove  bare u16 or u32 ids in X.ds, ends of documents in X.ds.index, a bool for each id in X.ds.loss
 *
 * The first two have a magic and open by themselves; the others need mldf_reader_options.token_file. */
#ifndef MLDF_INTEROP_TOKEN_FILES_H
#define MLDF_INTEROP_TOKEN_FILES_H

#include "interop/open_any.h"

enum { LLMC_HEADER = 1024, LLMC_MAGIC_U16 = 20240520, LLMC_MAGIC_U32 = 20240801, MEGATRON_HEADER = 34 };

/* The name of the file beside an .idx. `path` must end so; freed by the caller. NULL: no memory, or another ending. */
char *mldfi_megatron_bin(const char *path);

/* MLDF_END: not a file of tokens that says so itself, and none was asked for. */
mldf_status mldfi_foreign_open_tokens(mldf_reader *reader, const mldf_token_file *how, mldf_error *err);

#endif
