/* intake.h - connections of traced programs to the session's socket. */
#pragma once

#include <stdint.h>

#include "collector/collect/collector.h"

/* Watches the session's socket; accepts from then on. */
void intake_open(struct collector *c);
/* Accepts every connection that waits. */
void intake_accept(struct collector *c);
/* Attaches the arena in @fd, a memfd that stays the caller's: of a hello, or from the keeper. NULL: refused. */
struct arena *intake_arena(struct collector *c, int fd, const struct arena_origin *from);
/* After a commit: the keeper need not hold arenas that are over. */
void intake_release(struct collector *c);
/* Lets the processes leave that were entered while they ran. */
void intake_let_attendants_go(struct collector *c);
/* Lets exiting root processes go on, whose records are committed. */
void intake_answer_exits(struct collector *c);
