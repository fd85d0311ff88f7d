/* Threads with all signals blocked, so that signals reach the program's own threads. Mutexes and conditions are pthread's. */
#ifndef MLDF_OS_THREAD_H
#define MLDF_OS_THREAD_H

#include <pthread.h>

#include "mldf/base.h"

mldf_status mldfi_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, mldf_error *err);
/* pthread_cond_timedwait on the monotonic clock; the condition must come from mldfi_cond_init. False on time-out. */
void mldfi_cond_init(pthread_cond_t *cond);
bool mldfi_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *mutex, unsigned milliseconds);

#endif
