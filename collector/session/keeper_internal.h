/* keeper_internal.h - shared by the parts of the keeper (ring_keeper.c, keeper_save.c), and private to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/model/spool.h"
#include "collector/session/hello.h"
#include "collector/session/ring_keeper.h"

#define STRANGERS 64 /* processes that are remembered as such */

struct kept {
	uint32_t id, peer_pid, claimed_pid;
	int fd;
};

struct stranger {
	uint32_t pid;
	uint64_t start; /* of the process: numbers come again */
	size_t cnt;     /* of arenas, then */
};

struct keeper {
	int control, listen_fd, recover_fd;
	int before; /* socket to the keeper before: this one holds nothing alone yet; -1 */
	int folder; /* of the report; -1: nothing is recorded */
	char dir[96], report[3900];
	struct kept *kept;
	size_t cnt, cap;
	uint32_t last_id;
	struct {
		uint32_t pid;
		int pidfd;        /* -1: there is none */
		bool is_attached; /* no arena will come of it */
	} root;
	struct {
		struct hello_silent silent;
		int reserve_fd; /* closed for a moment to accept and close where no descriptor is free */
		struct keeper_refused refused;
		struct stranger stranger[STRANGERS];
	} intake;
	int spool[SPOOL_SEGMENTS]; /* descriptors of segments, -1 none */
};

/* Writes all rings beside the report; where that fails, in the session's folder, which stays then. True: it may go. */
bool keeper_save(const struct keeper *k);
