/* state.c - defines the variables of state.h, with their values before the process joins a session. */
#include "preload/base/state.h"

__thread struct sl_tls sl_tls = SL_NEW_THREAD;

struct sl_proc sl_proc;
struct sl_control sl_control;
const volatile uint32_t sl_no_gate = (uint32_t)SL_GATE_NONE;
struct sl_global sl_global;
