/* hook_info.c - name, failure and direction of each hook, from the hook tables; linked into both sides. */
#include "preload/wire/hooks.h"

#pragma GCC visibility push(hidden)
const struct sl_hook_info sl_hook_info[SL_HOOK_CNT] = {
#define SL_HOOK_ONE(fail_, io_, name_) [SL_H_##name_] = {#name_, SL_FAIL_##fail_, SL_IO_##io_},
#include "preload/wire/tables.h"
#undef SL_HOOK_ONE
};
#pragma GCC visibility pop
