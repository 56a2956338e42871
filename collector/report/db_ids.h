/* db_ids.h - ids of the report that are made of other numbers: globalPid and globalTid as nsys has them, ids of stacks. */
#pragma once

#include <stdint.h>

#define GLOBAL_PID(pid)      (INT64_C(1) << 48 | (int64_t)(pid) << 24)
#define GLOBAL_TID(pid, tid) (GLOBAL_PID(pid) | (int64_t)(tid))

/* A stack of an arena is the arena's id << 32 | its id there: recover needs no table of them. Samples are arena 0. */
#define STACK_ID(arena, id) ((int64_t)(arena) << 32 | (int64_t)(id))
/* An address space, which modules and stacks refer to: its number in the arena. */
#define SPACE_ID(arena, number) STACK_ID(arena, number)
