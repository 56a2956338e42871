/*
 * sigbus_guard.h - safe reading of mapped files that may be truncated meanwhile: the kernel sends SIGBUS for pages beyond
 * the new end. One handler for the process, and for all threads; a signal of other reasons goes on to the previous
 * handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs @work, which is left where it reads a lost part of a file: then false. Resources that @work
 * had taken by then (memory, locks) stay taken. Not within another one of the same thread.
 */
bool bus_error_try(void (*work)(void *of), void *of);

/* From now on pages that are missing in @data are zeros. False: no memory. One thread at a time may cover memory. */
bool bus_error_cover(const void *data, size_t size);
/* Before that memory is unmapped. */
void bus_error_uncover_all(void);
