/*
 * open_dump.c - a look at all threads at one moment, without stopping them. They are looked at one after the other, and then again: a
 * thread whose count of context switches is the same has waited all the time between. All such threads waited at the moment at which
 * the second look began, and no one else can have changed the locks of those among them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/proc_numbers.h"
#include "collector/model/model.h"
#include "collector/report/db_ids.h"
#include "collector/waits/open_waits.h"
#include "collector/waits/open_waits_internal.h"
#include "collector/waits/wait_peer.h"
#include "collector/waits/wait_python.h"

#define THREADS_MOST 16384
#define PEERS_MOST   32 /* each is a search through /proc */
#define LOOKS        3  /* at threads that go on meanwhile */

struct seen {
	struct thread_call call;
	struct db_row_SL_OPEN_WAITS row;
	char peer[WAIT_PEER_MAX];
	bool waits_for_gil, has_moved, has_ended;
};

struct dump {
	struct seen *list;
	size_t cnt, room;
	unsigned peers;
	uint32_t gil_pid; /* the process that the locks are of */
	unsigned gils;
	struct pyoutside_gil gil[PYOUTSIDE_GILS];
};

/* One at a time: the callback of open_waits_list() has no room for it. */
static struct dump dump;

static void add_thread(struct collector *c, struct thread_call *call, unsigned left)
{
	(void)c;
	(void)left;
	if (grow(&dump.list, dump.cnt, &dump.room, sizeof(*dump.list)))
		dump.list[dump.cnt++] = (struct seen){.call = *call};
}

static unsigned threads_of(uint32_t pid)
{
	struct proc_numbers threads = proc_numbers_open(pid, "task");
	unsigned cnt = 0;
	uint32_t tid;

	while (proc_numbers_next(&threads, &tid))
		cnt++;
	proc_numbers_close(&threads);
	return cnt;
}

/*
 * A process with one thread, which alone has the other end of a pipe or a local socket, alone can end the wait. The waiting thread's own process may have it,
 * too, where it has no other thread; where no one else has it, the thread waits for itself.
 */
static int64_t owner_of_end(const struct seen *s, const struct wait_peer *peer)
{
	if (peer->has_self && threads_of(s->call.pid) != 1)
		return DB_NULL;
	if (peer->pid)
		return threads_of(peer->pid) == 1 ? GLOBAL_TID(peer->pid, peer->pid) : DB_NULL;
	return peer->has_self && peer->is_alone ? GLOBAL_TID(s->call.pid, s->call.tid) : DB_NULL;
}

static void look_at_peer(struct seen *s)
{
	char path[OPEN_PATH_MAX];
	struct wait_peer peer;

	if (!open_waits_path(&s->call, path) ||
	    (strncmp(path, "pipe:", 5) != 0 && strncmp(path, "socket:", 7) != 0) ||
	    dump.peers++ >= PEERS_MOST)
		return;
	wait_peer_find(&peer, s->call.pid, thread_call_descriptor(&s->call), path,
		       thread_call_reads(&s->call));
	snprintf(s->peer, sizeof(s->peer), "%s", peer.text);
	if (peer.is_local && !thread_call_has_limit(&s->call))
		s->row.ownerTid = owner_of_end(s, &peer);
}

static void look_at_gils(struct collector *c, struct seen *s)
{
	struct sample_waiting *stacks = open_waits_stacks(c);

	if (dump.gil_pid != s->call.pid)
		dump.gils = stacks ? sample_waiting_gils(stacks, s->call.pid, dump.gil) : 0;
	dump.gil_pid = s->call.pid;
	for (unsigned i = 0; i < dump.gils; i++) {
		const struct pyoutside_gil *g = &dump.gil[i];

		if (g->owner == s->call.tid)
			s->row.hasGil = 1;
		if (!open_waits_is_futex(&s->call) || s->call.args[0] < g->from ||
		    s->call.args[0] >= g->to)
			continue;
		s->waits_for_gil = true;
		s->row.object = (int64_t)g->from;
		s->row.ownerTid = g->owner ? GLOBAL_TID(s->call.pid, g->owner) : DB_NULL;
	}
}

static void look_at_rlock(struct collector *c, struct seen *s)
{
	struct sample_waiting *stacks = open_waits_stacks(c);
	const struct sl_pylayout *at = stacks ? sample_waiting_layout(stacks, s->call.pid) : NULL;
	uint64_t object = 0;
	uint32_t tid;

	if (!at || !open_waits_is_futex(&s->call) || s->row.ownerTid != DB_NULL)
		return;
	tid = wait_owner_of_rlock(&s->call, at, &object);
	if (!tid)
		return;
	s->row.object = (int64_t)object;
	s->row.ownerTid = GLOBAL_TID(s->call.pid, tid);
}

static void look_at(struct collector *c, struct seen *s)
{
	s->row = db_none_SL_OPEN_WAITS();
	s->peer[0] = '\0';
	s->waits_for_gil = s->has_moved = false;
	s->has_ended = !thread_call_read(&s->call);
	if (s->has_ended)
		return;
	if (s->call.number >= 0) {
		s->row.ownerTid = open_waits_owner(c, &s->call, &s->row.object);
		look_at_peer(s);
	}
	look_at_gils(c, s);
	look_at_rlock(c, s);
	s->row.stackId = open_waits_stack(c, &s->call);
}

/* A thread that waits for Python's lock looks around 200 times a second, and waits on. */
static bool has_moved(const struct seen *s)
{
	struct thread_call now = {.pid = s->call.pid, .tid = s->call.tid};

	if (s->call.number == CALL_RUNS)
		return false;
	return !thread_call_read(&now) || !thread_call_is_same(&s->call, &now) ||
	       (!s->waits_for_gil && now.switches != s->call.switches);
}

static bool look_again(void)
{
	bool any = false;

	for (size_t i = 0; i < dump.cnt; i++) {
		dump.list[i].has_moved = !dump.list[i].has_ended && has_moved(&dump.list[i]);
		any |= dump.list[i].has_moved;
	}
	return any;
}

/* ---- rows ---- */

static void name_thread(struct collector *c, const struct thread_call *call)
{
	char name[64];

	if (!thread_read(name, sizeof(name), "comm", call->pid, call->tid))
		return;
	name[strcspn(name, "\n")] = '\0';
	db_thread_name(c->report.db, GLOBAL_TID(call->pid, call->tid), name,
		       model_priority(call->tid));
}

/* A process that is none of the recording has a lock: its name. */
static void name_owner(struct collector *c, int64_t owner)
{
	uint32_t pid = owner == DB_NULL ? 0 : (uint32_t)(owner >> 24 & 0xffffff);
	char name[64];

	if (!pid || model_find(&c->model, pid) ||
	    !thread_read(name, sizeof(name), "comm", pid, pid))
		return;
	name[strcspn(name, "\n")] = '\0';
	db_process(c->report.db, GLOBAL_PID(pid), pid, name);
}

static void write_row(struct collector *c, struct seen *s)
{
	static const char gil[] = "[GIL]";
	char state[2] = {s->call.state, '\0'};

	if (s->has_ended)
		return;
	if (s->waits_for_gil)
		s->row.pathId = db_string(c->report.db, gil, sizeof(gil) - 1);
	if (s->has_moved) {
		s->row.ownerTid = s->row.object = DB_NULL;
		s->peer[0] = '\0';
	}
	s->row.state = state;
	s->row.peer = s->peer[0] ? s->peer : NULL;
	name_thread(c, &s->call);
	name_owner(c, s->row.ownerTid);
	open_waits_put(c, &s->call, &s->row);
}

/* Parents before their children, as far as numbers show it. */
static int by_number(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->call.pid != y->call.pid)
		return x->call.pid < y->call.pid ? -1 : 1;
	return (x->call.tid > y->call.tid) - (x->call.tid < y->call.tid);
}

/* An owner that has begun since the threads were listed is none that has ended: it gets a row, too. */
static void add_owners(struct collector *c)
{
	size_t cnt = dump.cnt;

	for (size_t i = 0; i < cnt; i++) {
		int64_t owner = dump.list[i].row.ownerTid;
		struct seen s = {.call = {.pid = (uint32_t)(owner >> 24 & 0xffffff),
					  .tid = (uint32_t)(owner & 0xffffff)}};

		if (owner == DB_NULL || s.call.pid != dump.list[i].call.pid ||
		    bsearch(&s, dump.list, cnt, sizeof(s), by_number) ||
		    !grow(&dump.list, dump.cnt, &dump.room, sizeof(s)))
			continue;
		look_at(c, &s);
		s.has_moved = true;
		dump.list[dump.cnt++] = s;
	}
}

void open_waits_dump(struct collector *c)
{
	if (!open_waits_begin(c))
		return;
	dump = (struct dump){.cnt = 0};
	open_waits_list(c, THREADS_MOST, add_thread);
	if (dump.cnt)
		qsort(dump.list, dump.cnt, sizeof(*dump.list), by_number);
	for (size_t i = 0; i < dump.cnt; i++)
		look_at(c, &dump.list[i]);
	for (int i = 1; look_again() && i < LOOKS; i++) {
		dump.gil_pid = 0;
		for (size_t k = 0; k < dump.cnt; k++)
			if (dump.list[k].has_moved)
				look_at(c, &dump.list[k]);
	}
	add_owners(c);
	for (size_t i = 0; i < dump.cnt; i++)
		write_row(c, &dump.list[i]);
	free(dump.list);
	dump = (struct dump){.cnt = 0};
	open_tasks_write(c);
}
