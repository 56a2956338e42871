/* capture_request.h - requests to the collector to begin or to end a capture. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/*
 * Sends SL_HELLO_OPEN or SL_HELLO_CLOSE for @range (0: cudaProfilerStart and Stop). Returns when the collector has switched
 * the gate, or after a timeout. False: the request was not sent. Leaves errno unchanged.
 */
bool sl_capture_request(enum sl_hello_kind kind, uint32_t range);

#pragma GCC visibility pop
