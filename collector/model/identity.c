/* identity.c - matches the claims of rings with the kernel's evidence: hellos, its events, /proc. */
#include "collector/model/identity.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "preload/wire/clock.h"

#define PID_MAX     (1u << 22)
#define PROCESS_MAX (1u << 22)
#define NOTES_MAX   SL_SLOT_CNT
#define GUESTS_MAX  100000u /* a program may invent as many as it likes */
#define STEPS_MAX   256

/* A process of the model, not one that has its pid since. */
static bool is_still_there(const struct proc *p)
{
	struct pollfd fd = {.fd = p->life.pidfd, .events = POLLIN};

	return p->life.pidfd < 0 || poll(&fd, 1, 0) == 0;
}

void identity_root(struct model *m, uint32_t pid, int64_t now_ns)
{
	struct proc_origin o;

	m->root.pid = pid;
	m->root.started = proc_origin(pid, &o) ? o.start : 0;
	model_admit(m, model_get(m, pid, now_ns), true);
}

bool identity_descends(struct model *m, uint32_t pid)
{
	struct proc_origin o, above;

	if (!pid || pid > PID_MAX || !proc_origin(pid, &o))
		return false;
	for (int steps = 0; steps < STEPS_MAX; steps++) {
		const struct proc *p = model_find(m, pid);

		if (p && p->flags.in_tree && is_still_there(p))
			return true;
		pid = o.parent;
		/* A parent younger than its child has its number from another. */
		if (!pid || !proc_origin(pid, &above) || above.start > o.start)
			return false;
		o = above;
	}
	return false;
}

/* Without a pidfd (old kernels, no descriptors left) the number may be another's by now. */
static bool is_the_same(struct model *m, const struct proc *p)
{
	struct proc_origin o;

	if (!proc_origin(p->pid, &o))
		return false;
	if (p->pid == m->root.pid)
		return o.start == m->root.started;
	return p->parent_pid && o.parent == p->parent_pid && identity_descends(m, o.parent);
}

void identity_signal(struct model *m, const struct proc *p, int sig)
{
	if (p->flags.is_gone || !p->flags.in_tree)
		return;
	if (p->life.pidfd >= 0)
		syscall(SYS_pidfd_send_signal, p->life.pidfd, sig, NULL, 0);
	else if (is_the_same(m, p))
		kill((pid_t)p->pid, sig);
}

static struct image *find(const struct arena *a, uint32_t number)
{
	struct image *im = a->images;

	while (im && im->number != number)
		im = im->next;
	return im;
}

/* ---- processes of the collector's PID namespace ---- */

static int64_t now_ns(const struct arenas *as)
{
	return clock_map_ns(as->clock, as->clock->newest);
}

/* A process that none vouches for, and that is not there: its rows end here. */
static struct proc *guest(struct arenas *as, uint32_t pid, int64_t ns)
{
	struct model *m = as->model;
	struct proc *p;
	int64_t end = now_ns(as) > ns ? now_ns(as) : ns, now;

	if (m->counts.guests >= GUESTS_MAX)
		return NULL;
	m->counts.guests++;
	p = model_add(m, pid, ns);
	/* Events of the kernel that are not read yet, of its exec and exit, may lie behind its first record: they are its own. */
	now = (int64_t)sl_mono_ns() - as->clock->zero;
	if (m->wants.has_kernel_events && now > end)
		end = now;
	model_exit(m, p, end, -1);
	p->flags.is_guest = true;
	return p;
}

/*
 * A daemon's parents are gone, so no way leads from it to the root. But it has the ring mapped, by
 * fork; as has an older process that took it from a program, like a display server.
 */
static bool has_ring(const struct model *m, const struct arena *a, uint32_t pid)
{
	struct proc_origin o;
	int has;

	if (pid == (uint32_t)getpid() || !m->root.started || !proc_origin(pid, &o) ||
	    o.start < m->root.started)
		return false;
	has = proc_has_mapped(pid, a->mem.device, a->mem.inode);
	return has > 0 || has == -EACCES;
}

/* @pid: the claim of the ring; the kernel's events may be on their way. NULL: too many guests. */
static struct proc *claimed(struct arenas *as, struct arena *a, uint32_t pid, int64_t ns)
{
	struct model *m = as->model;
	struct proc *p = model_known_at(m, pid, ns);

	if (p && (p->flags.in_tree || p->flags.is_counted))
		return p;
	if (identity_descends(m, pid)) {
		p = model_at(m, pid, ns);
		model_admit(m, p, true);
		return p;
	}
	if (p)
		return p;
	/* Without /proc its pidfd shows whether it lives. */
	if (has_ring(m, a, pid) || !proc_is_here())
		return model_at(m, pid, ns);
	return guest(as, pid, ns);
}

/* ---- processes of others ---- */

void identity_note(struct arenas *as, struct arena *a, const struct forked *f)
{
	struct forked *list = a->peer.forked, *new;

	if (find(a, f->number))
		return;
	if (a->peer.forked_cnt == NOTES_MAX)
		memmove(list, list + 1, --a->peer.forked_cnt * sizeof(*list));
	if (!grow(&a->peer.forked, a->peer.forked_cnt, &a->peer.forked_cap, sizeof(*list)))
		return;
	new = &a->peer.forked[a->peer.forked_cnt++];
	*new = *f;
	new->parent_pid = proc_parent(f->pid);
	new->is_descendant = identity_descends(as->model, f->pid);
}

static struct forked *find_note(const struct arena *a, const struct claim *claim)
{
	for (uint32_t i = 0; i < a->peer.forked_cnt; i++) {
		struct forked *f = &a->peer.forked[i];

		if (f->number == claim->number && f->ns_pid == claim->pid)
			return f;
	}
	return NULL;
}

static bool take_note(struct arena *a, const struct claim *claim, struct forked *note)
{
	struct forked *f = find_note(a, claim);

	if (!f)
		return false;
	*note = *f;
	*f = a->peer.forked[--a->peer.forked_cnt];
	return true;
}

/* A hello is sent before its process takes a slot: when the connections have been read once more, it is here. */
static bool may_come(const struct arenas *as, struct arena *a, uint32_t number)
{
	struct early *e = &a->peer.early[number % EARLY_CNT];

	/* Another number's entry is kept for one more reading: each gets its turn. */
	if (!e->number || (e->number != number && e->accepts != as->ever.accepts))
		*e = (struct early){number, as->ever.accepts};
	return e->number != number || e->accepts == as->ever.accepts;
}

/*
 * The fork and the execs of a process are older than its first record, but the kernel's events are handed over a moment later
 * than rings are read (SCHED_SETTLE_NS). A time that is still to come is none.
 */
static bool is_ahead(const struct arenas *as, int64_t ns)
{
	uint64_t mono = (uint64_t)(ns + as->clock->zero);

	return as->model->told_mono && mono > as->model->told_mono && mono <= sl_mono_ns();
}

/* Without a hello (no way to the socket, a filter of system calls), while it lives. */
static uint32_t search(const struct arena *a, uint32_t ns_pid)
{
	uint32_t pid = 0;

	while ((pid = pidns_next(pid, ns_pid)))
		if (proc_has_mapped(pid, a->mem.device, a->mem.inode) > 0)
			return pid;
	return 0;
}

/* @note: the known data of the process. */
static struct proc *namespaced(struct arenas *as, struct arena *a, const struct claim *claim,
			       int64_t ns, struct forked *note)
{
	struct model *m = as->model;
	struct proc *p;

	if (take_note(a, claim, note)) {
		p = model_at(m, note->pid, ns);
		model_admit(m, p, note->is_descendant);
		return p;
	}
	note->pid = search(a, claim->pid);
	if (!note->pid)
		return guest(as, IDENTITY_UNKNOWN + m->counts.guests, ns);
	p = model_at(m, note->pid, ns);
	note->parent_pid = proc_parent(note->pid);
	if (identity_descends(m, note->pid))
		model_admit(m, p, true);
	return p;
}

/* ---- images ---- */

/* The creator of the arena: the kernel named the sender of its hello. */
static struct proc *creator(struct arenas *as, struct arena *a, int64_t ns)
{
	struct model *m = as->model;
	struct proc *p = model_at(m, a->peer.pid, ns);

	if (!p->flags.in_tree)
		model_admit(m, p, identity_descends(m, p->pid));
	return p;
}

struct image *identity_image(struct arenas *as, struct arena *a, const struct claim *claim,
			     bool *is_early)
{
	struct image *im = find(a, claim->number);
	int64_t ns = clock_map_ns(as->clock, claim->born);
	struct forked note = {.pid_ns = a->peer.pid_ns, .parent_pid = a->peer.parent_pid};
	bool is_namespaced = a->flags.is_foreign || claim->is_namespaced;
	struct proc *p;

	*is_early = false;
	if (im || !claim->number || claim->number > PROCESS_MAX || !claim->pid ||
	    claim->pid > PID_MAX)
		return im;
	*is_early = is_ahead(as, ns);
	if (*is_early)
		return NULL;
	if (claim->number > 1 && is_namespaced) {
		note.parent_pid = 0;
		*is_early = !find_note(a, claim) && may_come(as, a, claim->number);
		p = *is_early ? NULL : namespaced(as, a, claim, ns, &note);
	} else if (claim->number > 1) {
		p = claimed(as, a, claim->pid, ns);
	} else {
		p = creator(as, a, ns);
	}
	if (!p)
		return NULL;
	im = model_image_new(as->model, a, claim->number, p, claim->pid, ns);
	im->parent = claim->parent;
	im->inside.is_namespaced = is_namespaced;
	im->inside.pid_ns = note.pid_ns;
	im->inside.parent_pid = note.parent_pid;
	return im;
}

uint32_t identity_thread(const struct image *im, uint32_t ns_tid)
{
	uint32_t tid = ns_tid;

	if (im->inside.is_namespaced && ns_tid == im->inside.pid)
		tid = im->proc->pid;
	else if (im->inside.is_namespaced && !im->proc->flags.is_gone)
		tid = pidns_thread(im->proc->pid, ns_tid);
	/* Above 24 bits it would be another process's. */
	return (tid ? tid : ns_tid) & 0xffffff;
}

/* The youngest that has this pid in the namespace of @im. */
static const struct image *find_inside(const struct arenas *as, const struct image *im,
				       uint32_t ns_pid)
{
	const struct image *found = NULL;

	for (const struct arena *a = as->first; a; a = a->next)
		for (const struct image *o = a->images; o; o = o->next)
			if (o != im && o->inside.is_namespaced && o->inside.pid == ns_pid &&
			    o->inside.pid_ns == im->inside.pid_ns && o->start_ns <= im->start_ns &&
			    (!found || o->start_ns > found->start_ns))
				found = o;
	return found;
}

uint32_t identity_parent(const struct arenas *as, const struct image *im, uint32_t ns_ppid)
{
	const struct image *parent;

	if (!im->inside.is_namespaced)
		return ns_ppid <= PID_MAX ? ns_ppid : 0;
	parent = ns_ppid ? find_inside(as, im, ns_ppid) : NULL;
	if (parent)
		return parent->proc->pid;
	if (im->inside.parent_pid)
		return im->inside.parent_pid;
	parent = find(im->arena, im->parent);
	if (parent)
		return parent->proc->pid;
	for (uint32_t i = 0; i < im->arena->peer.forked_cnt; i++)
		if (im->arena->peer.forked[i].number == im->parent)
			return im->arena->peer.forked[i].pid;
	return 0;
}
