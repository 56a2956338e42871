/* capture_request.h - asking the collector to begin or to end a capture. */
#ifndef SL_CAPTURE_REQUEST_H
#define SL_CAPTURE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/*
 * SL_HELLO_OPEN or SL_HELLO_CLOSE, for @range (0: cudaProfilerStart and Stop). Returns when the gate stands as it should,
 * after two seconds otherwise. False: nobody was asked. errno stays what it was.
 */
bool sl_capture_request(enum sl_hello_kind kind, uint32_t range);

#pragma GCC visibility pop
#endif
