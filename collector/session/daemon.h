/* daemon.h - starts a collector as a daemon (`sightline collect`): no terminal, no parent that waits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/session/command.h"

/*
 * @ask: "launch" or "start" and the options; it becomes the answer. @root: the pid
 * of the program, 0: none yet. The answer's status with the session's directory or a sentence in ask->word[1],
 * or -errno.
 */
int daemon_start(struct command *ask, uint32_t root);
