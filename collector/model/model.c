/*
 * model.c - processes and traced images by the records of the shim (tree.c: by events of the kernel).
 *
 * Both sources report the same events, each with its own delay, so every function here must cope with either order and
 * with repetition; is_known and exec_ns keep SL_PROCESS_TREE at one row per image.
 */
#include "collector/model/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/mask/mask.h"
#include "collector/model/arena.h"
#include "collector/model/ended.h"
#include "collector/model/execs.h"
#include "collector/base/plain_file.h"
#include "collector/base/proc.h"

#define SETTLE_NS 500000000ll
#define UNSURE_NS 1000000000ll
#define FORGET_NS 30000000000ll /* the records of a process that ended have been read by then */
#define GRACE_NS  100000000ll   /* rings of a process that has ended are read by then */

void model_init(struct model *m, struct db *db, struct clock_map *clock)
{
	memset(m, 0, sizeof(*m));
	m->db = db;
	m->clock = clock;
	m->live.db = db;
	m->live.report = 1;
	m->live.written.state = -1;
	m->counts.oom_kills = ended_oom_kills();
}

static void proc_free(struct proc *p)
{
	if (p->life.pidfd >= 0)
		close(p->life.pidfd);
	execs_forget(p);
	free(p->exe);
	free(p->command);
	free(p->old.exe);
	free(p->old.command);
	free(p->late.exe);
	free(p->late.command);
	free(p);
}

void model_release(struct model *m)
{
	live_release(&m->live);
	while (m->procs) {
		struct proc *p = m->procs;

		m->procs = p->links.next;
		proc_free(p);
	}
	memset(m->hash, 0, sizeof(m->hash));
	free(m->root.exe);
	free(m->root.command);
	m->root.exe = m->root.command = NULL;
}

struct proc *model_find_newest(struct model *m, uint32_t pid)
{
	struct proc *p = m->hash[pid % 1024];

	/* The newest owner of a pid stands first. */
	while (p && p->pid != pid)
		p = p->links.next_in_hash;
	return p;
}

struct proc *model_find(struct model *m, uint32_t pid)
{
	struct proc *p = model_find_newest(m, pid);

	return p && !p->flags.is_gone ? p : NULL;
}

struct proc *model_add(struct model *m, uint32_t pid, int64_t now_ns)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		abort(); /* a process record is 100 bytes: nothing useful can be done without */
	p->pid = pid;
	p->life.start_ns = now_ns;
	p->image_ns = INT64_MIN;
	p->life.pidfd = p->life.status = -1;
	p->links.next = m->procs;
	m->procs = p;
	p->links.next_in_hash = m->hash[pid % 1024];
	m->hash[pid % 1024] = p;
	return p;
}

struct proc *model_get(struct model *m, uint32_t pid, int64_t now_ns)
{
	struct proc *p = model_find(m, pid);

	if (p)
		return p;
	p = model_add(m, pid, now_ns);
	if (m->hooks.watch)
		m->hooks.watch(m->hooks.ctx, p);
	return p;
}

void model_admit(struct model *m, struct proc *p, bool is_descendant)
{
	p->flags.in_tree |= is_descendant;
	if (p->flags.is_counted || p->flags.is_gone)
		return;
	p->flags.is_counted = true;
	m->counts.alive++;
}

static bool was_it(const struct proc *p, uint32_t pid, int64_t ns, int64_t slack)
{
	return p->pid == pid && (!p->flags.is_gone || p->life.end_ns >= ns - MODEL_SLACK_NS) &&
	       p->life.start_ns <= ns + slack;
}

struct proc *model_known_at(struct model *m, uint32_t pid, int64_t ns)
{
	for (struct proc *p = m->hash[pid % 1024]; p; p = p->links.next_in_hash)
		if (was_it(p, pid, ns, MODEL_SLACK_NS))
			return p;
	/* Events of one process come from several CPUs and rings: later ones may be read first. */
	for (struct proc *p = m->hash[pid % 1024]; p; p = p->links.next_in_hash)
		if (!p->flags.has_fork && was_it(p, pid, ns, UNSURE_NS))
			return p;
	return model_find(m, pid);
}

struct proc *model_at(struct model *m, uint32_t pid, int64_t ns)
{
	struct proc *p = model_known_at(m, pid, ns);

	return p ? p : model_get(m, pid, ns);
}

static void set_home(struct proc *p, uint32_t arena_id)
{
	if (p->homes.now != arena_id)
		p->homes.old = p->homes.now;
	p->homes.now = arena_id;
}

struct image *model_image_new(struct model *m, struct arena *arena, uint32_t number, struct proc *p,
			      uint32_t ns_pid, int64_t ns)
{
	struct image *im = calloc(1, sizeof(*im));

	if (!im)
		abort();
	p->flags.is_traced = true;
	if (ns > p->image_ns)
		p->image_ns = ns;
	im->arena = arena;
	im->proc = p;
	im->number = number;
	im->inside.pid = ns_pid;
	im->start_ns = im->end_ns = ns;
	im->next = arena->images;
	arena->images = im;
	p->images++;
	arena->flags.has_had_images = true;
	m->counts.traced_images++;
	/* Of two images, the younger is the present one; the other is from before an exec. */
	if (p->image && p->image->start_ns > ns)
		return im;
	if (p->image)
		model_image_end(m, p->image, ns);
	p->image = im;
	set_home(p, arena->id);
	return im;
}

void model_image_free(struct model *m, struct image *im)
{
	live_calls_end(&m->live, &im->live);
	if (im->proc->image == im)
		im->proc->image = NULL;
	im->proc->images--;
	file_release(im);
	free(im);
}

void model_image_end(struct model *m, struct image *im, int64_t ns)
{
	(void)m;
	/* The image's files are closed once its last records have been read (drain.c). */
	im->end_ns = ns;
	if (im->proc->image == im)
		im->proc->image = NULL;
}

void model_exit(struct model *m, struct proc *p, int64_t ns, int status)
{
	bool is_news = status >= 0 && p->life.status < 0;

	if (status >= 0)
		p->life.status = status;
	if (is_news)
		ended_note(m->db, p, ns, status, &m->counts.oom_kills);
	if (is_news && m->hooks.ended)
		m->hooks.ended(m->hooks.ctx, p);
	if (p->flags.is_gone) {
		if (is_news && p->flags.is_guest && ns < p->life.end_ns)
			p->life.end_ns = ns;
		if (status >= 0 && !p->flags.is_forked)
			db_process_ended(m->db, GLOBAL_PID(p->pid), p->life.end_ns, status);
		return;
	}
	/* The image stays attached: its last records may not have been read. arena_finish() ends it. */
	p->flags.is_gone = true;
	p->life.end_ns = ns;
	if (p->flags.is_counted)
		m->counts.alive--;
	if (p->life.pidfd >= 0) {
		close(p->life.pidfd);
		p->life.pidfd = -1;
	}
	if (!p->flags.is_forked)
		db_process_ended(m->db, GLOBAL_PID(p->pid), ns, status);
}

int model_priority(uint32_t tid)
{
	return 20 + getpriority(PRIO_PROCESS, tid);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * The path by which the program was started, which names it better where it is a link (redis-server to redis-check-rdb,
 * python3 to python3.11). The first argument may be anything, so it counts only where it leads to the same file.
 */
static const char *started_as(const struct proc *p, const char *exe, const char *command,
			      char name[NAME_MAX + 1])
{
	const char *own = base_name(exe), *last;
	size_t len = command ? strcspn(command, " ") : 0;
	char first[PATH_MAX], path[2 * PATH_MAX];

	if (!len || len >= sizeof(first) || *exe != '/')
		return own;
	memcpy(first, command, len);
	first[len] = 0;
	last = base_name(first);
	if (!*last || strlen(last) > NAME_MAX || !strcmp(last, own))
		return own;
	/* A program in a folder of $PATH is often a link to another file of the folder. */
	if (*first == '/')
		snprintf(path, sizeof(path), "%s", first);
	else if (last == first)
		snprintf(path, sizeof(path), "%.*s%s", (int)(own - exe), exe, first);
	else
		snprintf(path, sizeof(path), "%s/%u/cwd/%s", proc_root(), p->pid, first);
	/* Over already: most work where they were started. */
	if (!plain_file_is_same(path, exe) && !plain_file_is_same(first, exe))
		return own;
	/* Not snprintf(): gcc 12 does not see at -O1 that it fits. */
	memcpy(name, last, strlen(last) + 1);
	return name;
}

/* For the children that are forked from it. */
static void remember(struct proc *p, int64_t ns, const char *exe, const char *command)
{
	char *new_exe = exe ? strdup(exe) : NULL, *new_command = command ? strdup(command) : NULL;

	free(p->old.exe);
	free(p->old.command);
	p->old.exe = p->exe;
	p->old.command = p->command;
	p->exe = new_exe;
	p->command = new_command;
	p->old.exe_ns = ns;
}

static void tell_image(struct model *m, struct proc *p, int64_t ns, int kind, bool traced,
		       const char *exe, const char *command)
{
	struct db_image image = {
		.global_pid = GLOBAL_PID(p->pid),
		.parent_global_pid = p->parent_pid ? GLOBAL_PID(p->parent_pid) : 0,
		.start_ns = ns,
		.kind = kind,
		.traced = traced,
		.exe = exe,
		.command_line = command,
	};
	char name[NAME_MAX + 1];

	db_image(m->db, &image);
	p->flags.is_known = true;
	/* The exit of a process may be read before its last image. */
	if (p->flags.is_gone)
		db_process_ended(m->db, image.global_pid, p->life.end_ns, p->life.status);
	if (exe)
		db_process(m->db, image.global_pid, p->pid, started_as(p, exe, command, name));
	remember(p, ns, exe, command);
}

/* A forked process has the executable of its parent at that moment. */
static void tell_fork(struct model *m, struct proc *p)
{
	const struct proc *parent = p->parent_pid ? model_find_newest(m, p->parent_pid) : NULL;
	const char *exe = NULL, *command = NULL;

	if (parent) {
		bool was_before = parent->old.exe_ns <= p->life.start_ns;

		exe = was_before ? parent->exe : parent->old.exe;
		command = was_before ? parent->command : parent->old.command;
		p->flags.is_traced = p->flags.is_traced || (parent->flags.is_traced && was_before);
		/* The child has the parent's memory, and may write its first record any time. */
		if (!p->homes.now)
			p->homes.now = was_before ? parent->homes.now : parent->homes.old;
	}
	p->flags.is_forked = false;
	tell_image(m, p, p->life.start_ns, 1, p->flags.is_traced, exe, command);
}

/* Returns the arguments of "exe\0arg0\0arg1\0" in one line, masked; malloc'd, NULL none. @text holds @len bytes and a NUL. */
static char *command_of(const char *text, uint32_t len)
{
	size_t exe = strlen(text) + 1;

	return exe < len ? mask_line(text + exe, len - exe) : NULL;
}

/* The oldest exec of @p began an image that the shim is not in. */
static void tell_untraced(struct model *m, struct proc *p)
{
	struct exec *e = execs_take(p);

	if (p->image && p->image->start_ns < e->ns)
		model_image_end(m, p->image, e->ns);
	/* A traced one may have followed it. */
	if (p->image_ns < e->ns) {
		p->flags.is_traced = false;
		set_home(p, 0);
	}
	tell_image(m, p, e->ns, p->flags.is_known ? 2 : 0, false, e->exe, e->command);
	exec_free(e);
}

/* The row of an image that began with exec, or with the trace. */
static void tell_start(struct model *m, struct proc *p, int64_t ns, const char *exe,
		       const char *command)
{
	bool is_first;
	struct exec *e;

	if (p->flags.is_forked)
		tell_fork(m, p);
	/* The image's own exec is the last one before it: images are read in the order of their times. */
	while (execs_are_before(p, ns, 2))
		tell_untraced(m, p);
	is_first = p->pid == m->root.pid && !p->flags.is_known;
	e = execs_are_before(p, ns, 1) ? execs_take(p) : NULL;
	tell_image(m, p, e ? e->ns : ns, is_first ? 0 : 2, true, exe, command);
	exec_free(e);
}

static void late(struct proc *p, int64_t ns, const char *exe, const char *command)
{
	free(p->late.exe);
	free(p->late.command);
	p->late.ns = ns;
	p->late.exe = *exe ? strdup(exe) : NULL;
	p->late.command = command ? strdup(command) : NULL;
}

static void tell_late(struct model *m, struct proc *p)
{
	char *exe = p->late.exe, *command = p->late.command;
	int64_t ns = p->late.ns;

	p->late.ns = 0;
	p->late.exe = p->late.command = NULL;
	tell_start(m, p, ns, exe, command);
	free(exe);
	free(command);
}

void model_on_image(struct model *m, struct image *im, const struct meta *meta, int64_t ns)
{
	struct proc *p = im->proc;
	char *text = malloc(meta->len + 1u);
	char *command;

	if (!text || im->is_named) {
		free(text);
		return;
	}
	if (p->late.ns)
		tell_late(m, p);
	memcpy(text, meta->bytes, meta->len);
	text[meta->len] = 0;
	command = command_of(text, meta->len);
	im->is_named = true;
	if (!p->parent_pid)
		p->parent_pid = (uint32_t)meta->ppid;
	if (meta->image == SL_IMAGE_FORK) {
		if (!p->flags.is_known)
			tell_fork(m, p);
	} else if (m->wants.has_kernel_events && !p->flags.has_fork && !p->flags.is_known &&
		   p->pid != m->root.pid) {
		/* The rows are in the order of events, and the event of the fork was not read yet. */
		late(p, ns, text, command);
	} else {
		tell_start(m, p, ns, *text ? text : NULL, command);
	}
	im->start_ns = ns;
	free(command);
	free(text);
}

void model_on_rank(struct model *m, const struct image *im, const char *text, size_t len)
{
	const char *end = text + len;
	char name[64], value[256];

	for (; text < end; text += strnlen(text, (size_t)(end - text)) + 1) {
		size_t entry = strnlen(text, (size_t)(end - text));
		size_t at = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		/* The shim's names only: a ring may hold anything. */
		if (!at || at >= entry || text[at] != '=' || at >= sizeof(name) ||
		    entry - at > sizeof(value))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)at, text);
		snprintf(value, sizeof(value), "%.*s", (int)(entry - at - 1), text + at + 1);
		db_rank_variable(m->db, GLOBAL_PID(im->proc->pid), name, value);
	}
}

void model_on_exec(struct model *m, struct image *im, const struct meta *meta, int64_t ns)
{
	struct proc *p = im->proc;

	/* The kernel's event of the exec decides, if there is one: the exec may fail, or be a vfork child's. */
	if (m->wants.has_kernel_events || model_image_is_over(im))
		return;
	execs_forget(p);
	execs_add(p, ns, strndup(meta->bytes, meta->len), NULL);
}

void model_on_exec_failed(struct image *im)
{
	if (!model_image_is_over(im))
		execs_forget(im->proc);
}

static void tell_forks(struct model *m, struct proc *youngest)
{
	struct proc *list = NULL;

	if (!m->counts.forks)
		return;
	m->counts.forks = 0;
	for (struct proc *p = youngest; p; p = p->links.next) {
		if (!p->flags.is_forked)
			continue;
		p->links.next_forked = list;
		list = p;
	}
	for (; list; list = list->links.next_forked) {
		tell_fork(m, list);
		if (list->late.ns)
			tell_late(m, list);
	}
}

bool model_has_guests(const struct model *m, uint32_t arena_id)
{
	for (const struct proc *p = m->procs; p; p = p->links.next)
		if (!p->flags.is_gone && p->homes.now == arena_id)
			return true;
	return false;
}

void model_settle(struct model *m, int64_t now_ns, bool all)
{
	/* The list has the youngest first: parents are written before their children. */
	tell_forks(m, m->procs);
	for (struct proc *p = m->procs; p; p = p->links.next) {
		if (p->late.ns && (all || now_ns - p->late.ns > GRACE_NS))
			tell_late(m, p);
		while (p->execs && (all || now_ns - p->execs->ns > SETTLE_NS ||
				    (p->flags.is_gone && now_ns - p->life.end_ns > GRACE_NS)))
			tell_untraced(m, p);
	}
}

static bool is_statusless(const struct proc *p)
{
	return p->flags.in_tree && p->flags.is_known && p->flags.is_gone && p->life.status < 0;
}

uint64_t model_statusless(const struct model *m)
{
	uint64_t cnt = m->counts.statusless;

	for (const struct proc *p = m->procs; p; p = p->links.next)
		cnt += is_statusless(p);
	return cnt;
}

static bool is_complete(const struct model *m, const struct proc *p, int64_t now_ns)
{
	return p->flags.is_gone && now_ns - p->life.end_ns > FORGET_NS && !p->images && !p->execs &&
	       !p->late.ns && !p->flags.is_forked && p->pid != m->root.pid;
}

static void unhash(struct model *m, const struct proc *p)
{
	struct proc **at = &m->hash[p->pid % 1024];

	while (*at != p)
		at = &(*at)->links.next_in_hash;
	*at = p->links.next_in_hash;
}

void model_forget(struct model *m, int64_t now_ns)
{
	struct proc **at = &m->procs;

	while (*at) {
		struct proc *p = *at;

		if (!is_complete(m, p, now_ns)) {
			at = &p->links.next;
			continue;
		}
		m->counts.statusless += is_statusless(p);
		*at = p->links.next;
		unhash(m, p);
		proc_free(p);
	}
}

void model_shift(struct model *m, int64_t shift)
{
	for (struct proc *p = m->procs; p; p = p->links.next) {
		int64_t *const times[] = {&p->life.start_ns, &p->life.end_ns, &p->old.exe_ns};

		for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
			*times[i] -= shift;
		for (struct exec *e = p->execs; e; e = e->next)
			e->ns -= shift;
		if (p->late.ns)
			p->late.ns -= shift;
		if (p->image_ns != INT64_MIN)
			p->image_ns -= shift;
	}
}
