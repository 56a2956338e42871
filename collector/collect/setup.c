/*
 * setup.c - the data of a collection for recover and the ring keeper: its session, its report, its
 * clocks.
 */
#include "collector/collect/setup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/collect/event_sources.h"
#include "collector/collect/notes.h"
#include "collector/collect/positions.h"
#include "collector/collect/pump.h"
#include "collector/health/host_cgroup_room.h"
#include "collector/mask/mask.h"
#include "collector/session/ring_file.h"
#include "collector/session/ring_keeper.h"

#define KEEPERS_MAX  3u /* after the first */
#define BUFFER_PART  8u /* of the memory that the cgroup leaves: rings of a process, and spool */
#define BUFFER_LEAST (UINT64_C(4) << 20)

static void read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");

	text[0] = 0;
	if (!f)
		return;
	if (fgets(text, (int)size, f))
		text[strcspn(text, "\n")] = 0;
	fclose(f);
}

/* Saves the session's setup for recover. */
static void save_setup(struct collector *c)
{
	struct saved_setup s = {.version = SAVED_VERSION,
				.root_pid = c->root.pid,
				.zero_mono = c->clocks.map.zero,
				.zero_real = c->report.zero_real,
				.clock_mode = c->clocks.map.mode,
				.file_access = c->model.wants.file_access,
				.no_osrt = c->model.wants.no_osrt,
				.from_kernel = sources_kinds(&c->recording),
				.mask = mask_now()};

	read_line("/proc/sys/kernel/random/boot_id", s.boot_id, sizeof(s.boot_id));
	memcpy(s.dir, c->session.dir, sizeof(c->session.dir));
	db_state_set(c->report.db, "session", &s, sizeof(s));
	db_state_set(c->report.db, "windows", c->report.windows.list,
		     c->report.windows.cnt * sizeof(struct window));
}

void setup_keeper(struct collector *c)
{
	struct keeper_message m = {
		.kind = KEEPER_SETUP, .peer_pid = c->root.pid, .claimed_pid = c->root.is_attached};
	int folder = -1;

	if (c->intake.keeper < 0)
		return;
	memcpy(m.dir, c->session.dir, sizeof(c->session.dir));
	if (!c->report.is_session && strlen(c->report.path) < sizeof(m.report)) {
		memcpy(m.report, c->report.path, strlen(c->report.path) + 1);
		folder = db_folder(c->report.db);
	}
	session_note_report(&c->session, m.report);
	keeper_send(c->intake.keeper, &m, folder);
	if (folder >= 0)
		close(folder);
}

void setup_keeper_sockets(struct collector *c)
{
	struct keeper_message hellos = {.kind = KEEPER_LISTEN}, recover = {.kind = KEEPER_RECOVER};

	if (c->intake.keeper < 0)
		return;
	keeper_send(c->intake.keeper, &hellos, c->session.listen_fd);
	keeper_send(c->intake.keeper, &recover, c->session.keeper_fd);
}

/* The memfd of a mapping can be opened again by root (CAP_CHECKPOINT_RESTORE) only. How many could not. */
static unsigned hand_over(struct collector *c)
{
	unsigned failed = 0;

	for (const struct arena *a = c->arenas.first; a; a = a->next) {
		struct keeper_message m = {.kind = KEEPER_ARENA,
					   .id = a->id,
					   .peer_pid = a->peer.pid,
					   .claimed_pid = a->flags.is_foreign ? 0 : a->peer.pid};
		uintptr_t at = (uintptr_t)a->map;
		char path[80];
		int fd;

		snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, at,
			 at + (uintptr_t)a->mem.bytes);
		fd = open(path, O_RDWR | O_CLOEXEC);
		failed += fd < 0 || keeper_send(c->intake.keeper, &m, fd) < 0;
		if (fd >= 0)
			close(fd);
	}
	return failed;
}

static void hand_over_spool(struct collector *c)
{
	for (uint32_t i = 0; i < SPOOL_SEGMENTS && c->arenas.spool; i++) {
		struct keeper_message m = {.kind = KEEPER_SPOOL, .id = i};

		if (c->arenas.spool->segment[i].map)
			keeper_send(c->intake.keeper, &m, c->arenas.spool->segment[i].fd);
	}
}

/* The keeper sends nothing: an event means its end. */
static void on_keeper(void *ctx, int fd)
{
	struct collector *c = ctx;
	unsigned failed;

	loop_remove(&c->loop, fd);
	close(fd);
	c->intake.keeper = c->intake.keepers++ < KEEPERS_MAX ? keeper_start() : -1;
	if (c->intake.keeper < 0) {
		notes_say(
			c, 2,
			"the keeper of the rings was killed: if the collector is killed, too, what "
			"it has not read is lost");
		return;
	}
	setup_keeper(c);
	setup_keeper_sockets(c);
	failed = hand_over(c);
	hand_over_spool(c);
	setup_watch_keeper(c);
	notes_say(
		c, failed ? 2 : 1, "the keeper of the rings was killed, and another one started%s",
		failed ? ": if the collector is killed, too, what it has not read of programs that "
			 "run already is lost"
		       : "");
}

void setup_watch_keeper(struct collector *c)
{
	if (c->intake.keeper >= 0)
		loop_add(&c->loop, c->intake.keeper, on_keeper, c);
}

void setup_changed(struct collector *c)
{
	setup_keeper(c);
	save_setup(c);
	pump_clocks(c);
	/* At once: without it recover finds no rings, and a program may be there before the next commit. */
	pump_commit(c);
}

/* ---- the spool ---- */

static void on_segment(void *ctx, uint32_t index, int fd)
{
	const struct collector *c = ctx;
	struct keeper_message m = {.kind = KEEPER_SPOOL, .id = index};

	if (c->intake.keeper >= 0)
		keeper_send(c->intake.keeper, &m, fd);
}

/* That of the report that is being written. */
static void open_folder(void *ctx, struct spool *s)
{
	const struct collector *c = ctx;
	const char *slash = strrchr(c->report.path, '/');

	if (!c->report.db || c->report.is_session)
		return;
	if (snprintf(s->name, sizeof(s->name), "%s" KEEPER_RINGS,
		     slash ? slash + 1 : c->report.path) >= (int)sizeof(s->name))
		return;
	s->beside = db_folder(c->report.db);
	if (s->beside < 0)
		return;
	s->folder = ring_folder_open(s->beside, s->name, true);
	if (s->folder >= 0)
		return;
	close(s->beside);
	s->folder = s->beside = -1;
}

uint64_t setup_buffer(uint64_t bytes)
{
	/* As the collection began: for rings and spool alike. */
	static uint64_t part;

	if (!part) {
		part = host_cgroup_room("", getpid()) / BUFFER_PART;
		part = part > BUFFER_LEAST ? part : BUFFER_LEAST;
	}
	return part < bytes ? part : bytes;
}

void setup_spool(struct collector *c)
{
	struct spool *s = malloc(sizeof(*s));

	if (!s)
		return;
	spool_init(s);
	s->in_memory =
		(uint32_t)setup_buffer(SPOOL_IN_MEMORY * SPOOL_SEGMENT_BYTES) / SPOOL_SEGMENT_BYTES;
	s->on_segment = on_segment;
	s->open_folder = open_folder;
	s->ctx = c;
	c->arenas.spool = s;
}

void setup_spool_end(struct collector *c)
{
	if (!c->arenas.spool)
		return;
	spool_release(c->arenas.spool);
	free(c->arenas.spool);
	c->arenas.spool = NULL;
}
