/* Which of two errors comes first: for tools that find an error of their own while earlier samples are still on the writer's threads. */
#ifndef MLDF_WRITER_SETTLE_H
#define MLDF_WRITER_SETTLE_H

#include "mldf/writer.h"

/* Waits until every sample so far is encoded and written. < 0: the writer's own failure, which is that of the first bad sample. */
mldf_status mldfi_writer_settle(mldf_writer *writer, mldf_error *err);

#endif
