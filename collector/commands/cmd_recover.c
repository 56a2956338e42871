/*
 * cmd_recover.c - sightline recover: finishes a report whose collector was killed.
 *
 * Three places may have the records that the collector had not read: the running programs, whose rings the keeper
 * holds; the keeper alone; or files that the keeper wrote next to the report. While programs run, recover replaces
 * the collector until they end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/figure.h"
#include "collector/base/limits.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/proc.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/collect/recover_state.h"
#include "collector/mask/mask.h"
#include "collector/options/output_name.h"
#include "collector/report/db_stacks.h"
#include "collector/run/collect.h"
#include "collector/run/launch.h"
#include "collector/session/ring_file.h"
#include "collector/session/ring_keeper.h"
#include "collector/session/saved_rings.h"

#define KEEPER_ANSWER_S 20

struct recovery {
	struct collector c;
	struct profile_options options;
	struct saved_setup setup;
	bool is_now; /* --now: do not wait for programs that still run */
	int old_keeper;
	int listen_fd, keeper_fd; /* sockets of the session, from the keeper */
	unsigned arenas;
	uint32_t missing;   /* program images whose rings are gone */
	uint32_t unclaimed; /* spooled chunks of those */
	uint64_t ended;     /* struct keeper_refused */
	struct saved_rings saved;
};

static bool same_boot(const struct saved_setup *s)
{
	char id[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return false;
	if (fgets(id, sizeof(id), f))
		id[strcspn(id, "\n")] = 0;
	fclose(f);
	return strcmp(id, s->boot_id) == 0;
}

/* Is the collector that wrote this still at work? */
static bool is_at_work(uint32_t pid)
{
	char *theirs, *ours;
	bool same;

	if (!pid || pid == (uint32_t)getpid() || proc_state(pid) == 0 || proc_state(pid) == 'Z')
		return false;
	theirs = proc_exe(pid);
	ours = proc_exe((uint32_t)getpid());
	same = theirs && ours && strcmp(theirs, ours) == 0;
	free(theirs);
	free(ours);
	return same;
}

/* A process of this user; it answers, or is given up. */
static bool is_keeper(int sock)
{
	struct timeval limit = {.tv_sec = KEEPER_ANSWER_S};
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid() &&
	       setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	       setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
}

/* -errno: no process has the session's socket any more, so the keeper is dead. A keeper that lives answers, if late. */
static int connect_keeper(const char *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.96s/keeper", dir);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		err = -errno;
	else if (is_keeper(fd))
		return fd;
	else
		err = -EPERM;
	close(fd);
	return err;
}

static void resume_arena(struct recovery *r, uint32_t id)
{
	struct arena *a;

	for (a = r->c.arenas.first; a && a->id != id; a = a->next)
		;
	if (!a)
		return;
	state_arena(&r->c.arenas, a);
	r->arenas++;
}

struct taken {
	struct keeper_message m;
	int fd;
};

static void note_refused(struct recovery *r, const struct keeper_refused *refused)
{
	figure_count(&r->c.arenas.lost.unsound, refused->strangers);
	figure_count(&r->ended, refused->ended);
}

static bool take_once(struct recovery *r, struct taken **list, size_t *cnt)
{
	size_t cap = 0;

	*list = NULL;
	*cnt = 0;
	r->old_keeper = connect_keeper(r->setup.dir);
	if (r->old_keeper < 0)
		return false;
	for (;;) {
		struct taken t;

		if (keeper_receive(r->old_keeper, &t.m, &t.fd) <= 0)
			return false;
		if (t.m.kind == KEEPER_DONE) {
			note_refused(r, &t.m.refused);
			return true;
		}
		if (t.m.kind == KEEPER_LISTEN || t.m.kind == KEEPER_RECOVER) {
			int *at = t.m.kind == KEEPER_LISTEN ? &r->listen_fd : &r->keeper_fd;

			if (*at >= 0)
				close(*at);
			*at = t.fd;
			continue;
		}
		if (*cnt == cap) {
			struct taken *more;

			cap = cap ? cap * 2 : 16;
			more = realloc(*list, cap * sizeof(*more));
			if (!more)
				return false;
			*list = more;
		}
		(*list)[(*cnt)++] = t;
	}
}

/*
 * Takes over all that the keeper holds. True: it waits for KEEPER_TAKEN. One that another recover has just released hangs up:
 * the keeper after it accepts in its place.
 */
static bool take_from_keeper(struct recovery *r, struct taken **list, size_t *cnt)
{
	for (int i = 0; i < 40; i++) {
		if (take_once(r, list, cnt))
			return true;
		if (r->old_keeper < 0)
			return false;
		for (size_t k = 0; k < *cnt; k++)
			if ((*list)[k].fd >= 0)
				close((*list)[k].fd);
		free(*list);
		*list = NULL;
		*cnt = 0;
		close(r->old_keeper);
		r->old_keeper = -1;
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	return false;
}

static void find_rings(struct recovery *r)
{
	saved_rings_find(&r->saved, r->c.report.path, r->setup.dir);
}

static void read_clock(struct recovery *r, int folder)
{
	struct keeper_end e;
	int fd = folder < 0 ? -1 : saved_rings_open(folder, KEEPER_CLOCK);

	if (fd < 0)
		return;
	if (read(fd, &e, sizeof(e)) == sizeof(e)) {
		clock_map_add(&r->c.clocks.map, e.clock.ticks, e.clock.mono);
		note_refused(r, &e.refused);
	}
	close(fd);
}

static void read_saved(void *ctx, int folder, const char *name)
{
	struct recovery *r = ctx;
	struct ring_name n;
	uint32_t index;
	int fd;

	if (saved_rings_is_segment(name, &index)) {
		fd = r->c.arenas.spool ? saved_rings_open(folder, name) : -1;
		if (fd >= 0)
			spool_adopt(r->c.arenas.spool, index, fd);
	} else if (ring_name_parse(name, &n)) {
		fd = saved_rings_open(folder, name);
		if (fd < 0)
			return;
		arena_attach_file(&r->c.arenas, fd, n.id, n.peer_pid, n.claimed_pid);
		resume_arena(r, n.id);
		close(fd);
	}
}

/* 0 or -errno. */
static int set_up(struct recovery *r, struct db *db)
{
	struct collector *c = &r->c;
	int err = collect_prepare(c, &r->options);

	if (err)
		return err;
	mask_set(r->setup.mask == MASK_ALL || r->setup.mask == MASK_NONE ? r->setup.mask
									 : MASK_SECRETS);
	c->report.db = db;
	clock_map_init(&c->clocks.map, r->setup.clock_mode, r->setup.zero_mono);
	model_init(&c->model, db, &c->clocks.map);
	c->model.wants.file_access = r->setup.file_access;
	c->model.wants.no_osrt = r->setup.no_osrt;
	c->model.root.pid = c->root.pid = r->setup.root_pid;
	c->root.is_gone = true; /* its exit status cannot be known */
	c->arenas = (struct arenas){.model = &c->model, .db = db, .clock = &c->clocks.map};
	return 0;
}

static bool collector_is_at_work(struct recovery *r)
{
	struct session *s = &r->c.session;

	if (!same_boot(&r->setup) || session_adopt(s, r->setup.dir) != 0)
		return false;
	if (!is_at_work(s->control->collector_pid))
		return false;
	sl_warn("%s: still being written by process %u; nothing to recover", r->c.report.path,
		s->control->collector_pid);
	return true;
}

static uint32_t unclaimed_chunks(const struct arenas *as)
{
	uint32_t cnt = as->spool ? as->spool->used : 0;

	for (const struct arena *a = as->first; a && as->spool; a = a->next)
		cnt -= spool_count(as->spool, a->id);
	return cnt;
}

/* Segments that are files are in the folder of rings, which another collector may have made. */
static void adopt_spool(struct recovery *r, const struct taken *list, size_t cnt)
{
	if (!r->c.arenas.spool)
		return;
	find_rings(r);
	if (r->saved.folder[SAVED_BESIDE].fd >= 0)
		r->c.arenas.spool->folder =
			fcntl(r->saved.folder[SAVED_BESIDE].fd, F_DUPFD_CLOEXEC, 0);
	for (size_t i = 0; i < cnt; i++)
		if (list[i].m.kind == KEEPER_SPOOL)
			spool_adopt(r->c.arenas.spool, list[i].m.id, list[i].fd);
}

/* Whenever this process is killed, one of the two keepers has all, and one alone takes over. */
static void start_keeper(struct recovery *r)
{
	struct keeper_message m = {.kind = KEEPER_BEFORE};

	r->c.intake.keeper = keeper_start();
	if (r->c.intake.keeper >= 0)
		keeper_send(r->c.intake.keeper, &m, r->old_keeper);
}

static void all_is_taken(struct recovery *r)
{
	struct keeper_message m = {.kind = KEEPER_TAKEN};

	keeper_send(r->c.intake.keeper >= 0 ? r->c.intake.keeper : r->old_keeper, &m, -1);
}

/* All rings there are, attached. */
static void collect_rings(struct recovery *r)
{
	struct taken *list = NULL;
	size_t cnt = 0;
	bool alive = r->c.session.control && take_from_keeper(r, &list, &cnt);

	if (alive)
		start_keeper(r);
	collect_resume(&r->c, alive ? r->listen_fd : -1, alive ? r->keeper_fd : -1);
	state_counters(&r->c.arenas);
	if (alive) {
		adopt_spool(r, list, cnt);
		for (size_t i = 0; i < cnt; i++) {
			if (list[i].m.kind != KEEPER_ARENA)
				continue;
			intake_arena(&r->c, list[i].fd,
				     &(struct arena_origin){.id = list[i].m.id,
							    .peer_pid = list[i].m.peer_pid,
							    .claimed_pid = list[i].m.claimed_pid});
			resume_arena(r, list[i].m.id);
			close(list[i].fd);
		}
		all_is_taken(r);
	} else {
		find_rings(r);
		r->c.clocks.is_past = true;
		for (int i = 0; i < SAVED_FOLDERS; i++)
			read_clock(r, r->saved.folder[i].fd);
		saved_rings_each(&r->saved, read_saved, r);
	}
	r->missing = state_missing(&r->c.arenas);
	r->unclaimed = unclaimed_chunks(&r->c.arenas);
	if (r->old_keeper >= 0)
		close(r->old_keeper);
	free(list);
}

/* Names the kernel's events that end with the collector; calls go on until the programs end. */
static void say_what_ends(struct recovery *r)
{
#define EVENTS(events, name) name,
	static const char *const names[] = {FROM_KERNEL(EVENTS)};
#undef EVENTS
#define EVENTS(events, name) name ", "
	char list[sizeof(FROM_KERNEL(EVENTS))] = "";
#undef EVENTS

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (r->setup.from_kernel >> i & 1) {
			strcat(list, list[0] ? ", " : "");
			strcat(list, names[i]);
		}
	if (list[0])
		notes_say(&r->c, 2, "%s end where the collector was killed", list);
}

/* How many rings there are none of any more, at least. */
static uint32_t rings_gone(const struct recovery *r)
{
	return r->missing || r->arenas ? r->missing : 1;
}

/* Reports rings that are gone, as collector and keeper were killed. */
static void say_what_is_gone(struct recovery *r)
{
	int64_t ns = clock_map_ns(&r->c.clocks.map, r->c.clocks.map.newest);
	uint32_t cnt = rings_gone(r);

	if (!cnt)
		return;
	r->c.model.counts.traced_images += cnt;
	db_lost(r->c.report.db, ns, ns, DB_NULL,
		"rings: gone with collector and keeper, how many records they held is not known",
		cnt);
	notes_say(&r->c, 2,
		  "the rings of %u program image%s are gone: what the collector had not read when "
		  "it died is missing",
		  cnt, cnt > 1 ? "s" : "");
}

/* Programs that ended while a keeper had connections of others to look at. */
static void say_what_has_ended(struct recovery *r)
{
	int64_t ns = clock_map_ns(&r->c.clocks.map, r->c.clocks.map.newest);

	if (!r->ended)
		return;
	db_lost(r->c.report.db, ns, ns, DB_NULL,
		"rings: of processes that had ended before anything showed whose they were",
		(int64_t)r->ended);
	notes_say(
		&r->c, 2,
		"%llu rings were refused: their processes had ended before anything showed whether "
		"they were of the traced ones",
		(unsigned long long)r->ended);
}

/* Copies of chunks that a disk did not keep, or whose rings are gone. */
static void say_what_is_damaged(struct recovery *r)
{
	const struct spool *s = r->c.arenas.spool;
	uint64_t chunks = (s ? s->damaged + r->unclaimed : 0) + r->c.arenas.lost.chunks;
	int64_t ns = clock_map_ns(&r->c.clocks.map, r->c.clocks.map.newest);

	if (!chunks)
		return;
	db_lost(r->c.report.db, ns, ns, DB_NULL,
		"spooled records: damaged, cut off, or without their rings, in parts of 32 KiB",
		(int64_t)chunks);
	notes_say(
		&r->c, 2,
		"%llu parts (of up to 32 KiB) of the records that waited in the spool are damaged, "
		"cut off, or without their rings: they are missing",
		(unsigned long long)chunks);
}

static int finish(struct recovery *r)
{
	uint64_t rows, lost;
	char but[96] = "";
	unsigned running;
	int err;

	collect_tick(&r->c);
	running = r->c.clocks.is_past ? 0 : r->c.model.counts.alive;
	say_what_ends(r);
	if (running && !r->is_now) {
		sl_warn("%u of the traced processes still run; recording them until they end "
			"(Ctrl-C or --now: finish the report without)",
			running);
		collect_run(&r->c);
	}
	pump_drain(&r->c);
	rows = r->c.arenas.ever.rows;
	say_what_is_gone(r);
	say_what_has_ended(r);
	say_what_is_damaged(r);
	if (isatty(STDERR_FILENO))
		db_stacks_progress(sl_say_names);
	err = collect_finish(&r->c);
	capture_release(&r->c);
	if (err) {
		sl_warn("%s: cannot be finished: %s", r->c.report.path, strerror(-err));
		return SL_EXIT_FAIL;
	}
	saved_rings_remove(&r->saved);
	if (r->setup.dir[0])
		session_unlink(r->setup.dir);
	lost = r->c.arenas.lost.unsound + r->c.arenas.lost.no_room + rings_gone(r) + r->ended;
	if (lost)
		snprintf(but, sizeof(but),
			 "finished, but for rings that are missing: %llu (see SL_LOST_EVENTS)",
			 (unsigned long long)lost);
	sl_warn("%s: recovered %llu records from %u program images; the report is %s",
		r->c.report.path, (unsigned long long)rows, r->arenas, lost ? but : "complete");
	return 0;
}

/* Drops rings that programs still hold or have left: their records are later than the recording. */
static void drop_rings(struct recovery *r)
{
	struct taken *list = NULL;
	size_t cnt = 0;
	struct keeper_message word = {.kind = KEEPER_TAKEN};

	if (r->c.session.control && take_from_keeper(r, &list, &cnt))
		keeper_send(r->old_keeper, &word, -1);
	for (size_t i = 0; i < cnt; i++)
		if (list[i].fd >= 0)
			close(list[i].fd);
	free(list);
	find_rings(r);
	saved_rings_remove(&r->saved);
	if (r->setup.dir[0])
		session_unlink(r->setup.dir);
}

/* The collector had read all rings, but had no room to symbolize, or was killed at it. */
static int finish_names(struct recovery *r, struct db *db, int64_t length)
{
	int err;

	drop_rings(r);
	if (isatty(STDERR_FILENO))
		db_stacks_progress(sl_say_names);
	err = db_finish(db, length);
	if (err) {
		sl_warn("%s: cannot be finished: %s", r->c.report.path, strerror(-err));
		return SL_EXIT_FAIL;
	}
	sl_warn("%s: all was recorded, and the stacks have their names now; the report is complete",
		r->c.report.path);
	return 0;
}

/* Records that found no room would be gone: they stay where they are. */
static bool lacks_room(struct recovery *r)
{
	unsigned lack;

	find_rings(r);
	lack = saved_rings_lack(&r->saved, r->c.report.path);
	if (lack)
		sl_warn("%s: not recovered, nothing is changed: no room on the disk, %u MiB more "
			"are "
			"needed",
			r->c.report.path, lack);
	return lack != 0;
}

static int recover(const char *report, bool is_now)
{
	struct db_open how = {.path = report, .resume = true};
	struct recovery *r = calloc(1, sizeof(*r));
	char why[1024] = "";
	struct db *db;
	int64_t length;
	int err;

	if (!r)
		return SL_EXIT_FAIL;
	r->is_now = is_now;
	r->old_keeper = r->listen_fd = r->keeper_fd = -1;
	saved_rings_init(&r->saved);
	r->c.report.path = report;
	profile_options_init(&r->options);
	db = db_open(&how, why, sizeof(why));
	if (!db) {
		bool complete = strstr(why, "is complete already");

		sl_warn("%s; %s", why, complete ? "nothing to do" : "nothing is changed");
		/* Killed right after it was complete: all that a keeper wrote is in it. */
		if (complete) {
			saved_rings_find(&r->saved, report, "");
			saved_rings_remove(&r->saved);
		}
		free(r);
		return complete ? 0 : SL_EXIT_FAIL;
	}
	err = state_setup(db, &r->setup);
	if (err == 0 && (collector_is_at_work(r) || lacks_room(r))) {
		db_abandon(db);
		free(r);
		return SL_EXIT_FAIL;
	}
	limits_raise_descriptors();
	if (state_is_recorded(db, &length)) {
		err = finish_names(r, db, length);
		free(r);
		return err;
	}
	if (set_up(r, db)) {
		db_abandon(db);
		free(r);
		return SL_EXIT_FAIL;
	}
	if (err == 0) {
		collect_take_signals(&r->c, launch_signals());
		collect_rings(r);
	} else {
		r->c.clocks.is_past = true;
	}
	err = finish(r);
	free(r);
	return err;
}

int cmd_recover(int argc, char **argv)
{
	bool is_now = false;
	const struct opt options[] = {
		{.kind = OPT_ABOUT,
		 .values = "sightline recover [options] REPORT.sqlite",
		 .help = "Finishes a report whose collector was killed: reads what the traced "
			 "programs still\n"
			 "hold, or what was saved beside the report, without losing or doubling a "
			 "row.\n"
			 "Example:\n"
			 "  sightline recover report1.sqlite"},
		{0, "now", OPT_FLAG, NULL, NULL,
		 "finish the report at once, even if traced programs still run", &is_now, NULL},
		{0},
	};
	int first = opt_parse(options, argc, argv, "recover"), status;
	char *report;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (first != argc - 1) {
		sl_warn("recover: name one report (sightline recover [--now] REPORT.sqlite)");
		return SL_EXIT_USAGE;
	}
	report = absolute_path(argv[first]);
	if (!report)
		return SL_EXIT_FAIL;
	status = recover(report, is_now);
	free(report);
	return status;
}
