/*
 * gpu_mpi.c - rows of MPI's calls and communicators, in the tables that Nsight Systems has for them.
 *
 * The shim announces a communicator before the record of the first call on it in a window, so the name that all of its ranks share is known by
 * its handle when the call comes.
 */
#include <string.h>

#include "collector/decode/gpu/gpu_internal.h"

#define COMMS_MAX 65536u /* of a process, whose names are known: more than the shim can count */

/* A row for each, however often it is announced. */
void gpu_mpi_comm(struct arenas *as, struct gpu_process *p, const struct sl_gpu_comm *c)
{
	bool has_uid = c->flags & SL_GPU_COMM_HAS_HASH && (int64_t)c->hash != DB_NULL;
	bool has_world = c->flags & SL_GPU_COMM_HAS_WORLD;
	int64_t *uid = c->handle && p->tables.comms.cnt < COMMS_MAX
			       ? db_map_get(&p->tables.comms, (int64_t)c->handle)
			       : NULL;
	struct db_row_MPI_COMMUNICATORS row = {
		.rank = has_world ? (int32_t)c->world : DB_NULL,
		.timestamp = gpu_session_ns(as, c->made),
		.commHandle = (int64_t)c->handle,
		.parentHandle = DB_NULL,
		.localRank = DB_NULL,
		.size = DB_NULL,
		.groupRoot = DB_NULL,
		.groupRootUid = DB_NULL,
		.commUid = has_uid ? (int64_t)c->hash : DB_NULL,
		.globalPid = p->id.global_pid,
	};

	if (uid)
		*uid = has_uid ? (int64_t)c->hash : 0;
	if (c->flags & SL_GPU_COMM_HAS_RANKS) {
		row.size = (int32_t)c->ranks;
		row.localRank = (int32_t)c->rank;
	}
	db_put_MPI_COMMUNICATORS(as->db, &row);
	/* The thread that called MPI_Init is the first, mostly; others of its process have the same rank. */
	if (has_world)
		db_put_MPI_RANKS(as->db, &(struct db_row_MPI_RANKS){
						 .globalTid = p->id.global_pid |
							      (p->id.global_pid >> 24 & 0xffffff),
						 .rank = (int32_t)c->world});
}

/* What is kept of a call's arguments; DB_NULL: it has none. A call that sends and receives has each list twice. */
struct words {
	int64_t comm, root, request, seq;
	int64_t count[2], esize[2], peer[2], tag[2];
};

static void read_words(const struct gpu_hook *h, struct words *w)
{
	const struct gpu_function *f = gpu_function(h->function);
	unsigned counts = 0, sizes = 0, peers = 0, tags = 0;

	*w = (struct words){DB_NULL,
			    DB_NULL,
			    DB_NULL,
			    DB_NULL,
			    {DB_NULL, DB_NULL},
			    {DB_NULL, DB_NULL},
			    {DB_NULL, DB_NULL},
			    {DB_NULL, DB_NULL}};
	for (unsigned i = 0; i < h->words && i <= f->uses && i < SL_GPU_ARGS; i++) {
		int64_t value = (int64_t)h->word[i], number = (int32_t)h->word[i];

		if (i == f->uses) {
			w->seq = value;
			continue;
		}
		if (f->role[i] == SL_GPU_ROLE_comm && !f->is_pointer[i])
			w->comm = value;
		else if (f->role[i] == SL_GPU_ROLE_root)
			w->root = number;
		else if (f->role[i] == SL_GPU_ROLE_request)
			w->request = value;
		else if (f->role[i] == SL_GPU_ROLE_count && counts < 2)
			w->count[counts++] = number;
		else if (f->role[i] == SL_GPU_ROLE_esize && sizes < 2)
			w->esize[sizes++] = value ? value : DB_NULL;
		else if (f->role[i] == SL_GPU_ROLE_peer && peers < 2)
			w->peer[peers++] = number;
		else if (f->role[i] == SL_GPU_ROLE_tag && tags < 2)
			w->tag[tags++] = number;
	}
}

static int64_t bytes_of(const struct words *w, unsigned i)
{
	return w->count[i] == DB_NULL || w->esize[i] == DB_NULL ? DB_NULL
								: w->count[i] * w->esize[i];
}

static int64_t uid_of(const struct gpu_process *p, int64_t comm)
{
	int64_t uid = p->tables.comms.cnt ? *db_map_peek(&p->tables.comms, comm) : 0;

	return uid ? uid : DB_NULL;
}

static void p2p_row(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h,
		    const struct words *w, unsigned i, int64_t global_tid, int64_t name)
{
	int64_t *row = db_row(as->db, DB_MPI_P2P_EVENTS);

	row[P2P_START] = h->start;
	row[P2P_END] = h->end;
	row[P2P_GLOBAL_TID] = global_tid;
	row[P2P_TEXT_ID] = name;
	row[P2P_COMM_HANDLE] = w->comm;
	row[P2P_COMM_UID] = uid_of(p, w->comm);
	row[P2P_TAG] = w->tag[i];
	row[P2P_REMOTE_RANK] = w->peer[i];
	row[P2P_SIZE] = bytes_of(w, i);
	row[P2P_REQUEST_HANDLE] = w->request;
	row[P2P_SEQ] = i ? DB_NULL : w->seq;
}

static void collective_row(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h,
			   const struct words *w, int64_t global_tid, int64_t name)
{
	int64_t *row = db_row(as->db, DB_MPI_COLLECTIVES_EVENTS);

	row[COLL_START] = h->start;
	row[COLL_END] = h->end;
	row[COLL_GLOBAL_TID] = global_tid;
	row[COLL_TEXT_ID] = name;
	row[COLL_COMM_HANDLE] = w->comm;
	row[COLL_COMM_UID] = uid_of(p, w->comm);
	row[COLL_ROOT_RANK] = w->root;
	row[COLL_SIZE] = bytes_of(w, 0);
	row[COLL_RECV_SIZE] = DB_NULL;
	row[COLL_REQUEST_HANDLE] = w->request;
	row[COLL_SEQ] = w->seq;
}

/* Functions that start or end requests. */
static bool is_of_requests(const char *name)
{
	return strncmp(name, "MPI_Wait", 8) == 0 || strncmp(name, "MPI_Test", 8) == 0 ||
	       strncmp(name, "MPI_Start", 9) == 0;
}

static void other_row(struct arenas *as, const struct gpu_hook *h, bool is_of_request,
		      int64_t global_tid, int64_t name)
{
	int64_t *row;

	if (is_of_request) {
		row = db_row(as->db, DB_MPI_START_WAIT_EVENTS);
		row[REQ_START] = h->start;
		row[REQ_END] = h->end;
		row[REQ_GLOBAL_TID] = global_tid;
		row[REQ_TEXT_ID] = name;
		row[REQ_REQUEST_HANDLE] = DB_NULL;
		return;
	}
	row = db_row(as->db, DB_MPI_OTHER_EVENTS);
	row[OTHER_START] = h->start;
	row[OTHER_END] = h->end;
	row[OTHER_GLOBAL_TID] = global_tid;
	row[OTHER_TEXT_ID] = name;
}

void gpu_mpi_call(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h,
		  int64_t global_tid)
{
	const struct gpu_function *f = gpu_function(h->function);
	const char *name =
		f->name + (*f->name == 'P'); /* PMPI_Send is MPI_Send by its other name */
	int64_t id = db_string(as->db, name, strlen(name));
	bool makes_comm = false;
	struct words w;

	read_words(h, &w);
	for (unsigned i = 0; i < f->uses; i++)
		makes_comm |= f->role[i] == SL_GPU_ROLE_comm && f->is_pointer[i];
	/* After an error, communicator and peer may be anything. */
	if (h->result || makes_comm || w.comm == DB_NULL) {
		other_row(as, h, is_of_requests(name), global_tid, id);
		return;
	}
	if (w.peer[0] == DB_NULL)
		collective_row(as, p, h, &w, global_tid, id);
	for (unsigned i = 0; i < 2 && w.peer[i] != DB_NULL; i++)
		p2p_row(as, p, h, &w, i, global_tid, id);
}
