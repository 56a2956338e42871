/*
 * positions.c - how far each ring was read, in the same transaction as the rows of its records.
 *
 * Keys in SL_STATE: "session" (counters), "arena.N" (struct saved_arena, images, threads),
 * "files.N" (open files with their names), "strings.N" (texts by id, strings.c). After a crash,
 * recover compares them with the shared memory: it gives back records that are in the report, and
 * reads the others.
 */
#include "collector/collect/arenas.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/collect/positions.h"
#include "collector/collect/record_families.h"

#define DATA_BYTES ((uint32_t)sizeof(((struct sl_chunk *)0)->data))
#define PAGE       4096u

/* A growing buffer; without memory the state is not saved, and the commit is made without it. */
struct buffer {
	char *at;
	size_t len, cap;
	bool failed;
};

static void put(struct buffer *b, const void *data, size_t len)
{
	if (b->len + len > b->cap) {
		size_t cap = (b->len + len) * 2 + 256;
		char *more = realloc(b->at, cap);

		if (!more) {
			b->failed = true;
			return;
		}
		b->at = more;
		b->cap = cap;
	}
	if (len)
		memcpy(b->at + b->len, data, len);
	b->len += len;
}

static bool has_moved(const struct arena *a)
{
	for (uint32_t i = 0; i < a->threads.cnt; i++)
		if (a->threads.at[i] && a->threads.at[i]->flags.has_moved)
			return true;
	return false;
}

bool positions_changed(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		if (a->flags.files_changed || a->flags.is_over || has_moved(a))
			return true;
	return false;
}

static void put_images(struct buffer *b, const struct arena *a, struct saved_arena *head)
{
	for (const struct image *im = a->images; im; im = im->next) {
		struct saved_image s = {.number = im->number,
					.pid = im->proc->pid,
					.ns_pid = im->inside.pid,
					.is_named = im->is_named,
					.start_ns = im->start_ns};

		put(b, &s, sizeof(s));
		head->images++;
	}
}

static void put_threads(struct buffer *b, const struct arena *a, struct saved_arena *head)
{
	for (uint32_t i = 0; i < a->threads.cnt; i++) {
		const struct thread *t = a->threads.at[i];
		struct saved_thread s;

		if (!t)
			continue;
		s = (struct saved_thread){.slot = i,
					  .instance = t->id.instance,
					  .seq = t->at.seq,
					  .pos = t->at.pos,
					  .is_over = t->flags.is_over,
					  .tid = t->id.tid,
					  .use = t->id.use,
					  .lost_written = t->written.lost,
					  .nested_written = t->written.nested};
		memcpy(s.lost_of_written, t->written.lost_of, sizeof(s.lost_of_written));
		put(b, &s, sizeof(s));
		head->threads++;
	}
}

static int save_arena(struct arenas *as, struct arena *a)
{
	struct buffer b = {0};
	struct saved_arena head = {.id = a->id,
				   .peer_pid = a->peer.pid,
				   .is_foreign = a->flags.is_foreign,
				   .unslotted_written = a->counts.unslotted_written};
	char key[32];
	int err = 0;

	put(&b, &head, sizeof(head));
	put_images(&b, a, &head);
	put_threads(&b, a, &head);
	snprintf(key, sizeof(key), "arena.%u", a->id);
	if (!b.failed) {
		memcpy(b.at, &head, sizeof(head));
		err = db_state_set(as->db, key, b.at, b.len);
	}
	free(b.at);
	return err;
}

static void put_file(struct buffer *b, const struct arena *a, const struct image *im,
		     uint32_t serial)
{
	const struct file *f = file_find(im, serial);
	const struct file_name *n = file_name_find(&a->names, serial);
	struct saved_file s;

	if (!f || !f->is_open)
		return;
	s = (struct saved_file){.number = im->number,
				.serial = serial,
				.id = f->id,
				.has_row = f->has_row,
				.len = n ? n->len : 0};
	put(b, &s, sizeof(s));
	if (n)
		put(b, n->text, n->len);
}

static int save_files(struct arenas *as, struct arena *a)
{
	struct buffer b = {0};
	char key[32];
	int err = 0;

	for (const struct image *im = a->images; im; im = im->next)
		for (uint32_t p = 0; p < im->files.pages; p++)
			for (uint32_t k = 0; im->files.page[p] && k < FILE_PAGE; k++)
				put_file(&b, a, im, p * FILE_PAGE + k);
	snprintf(key, sizeof(key), "files.%u", a->id);
	if (!b.failed)
		err = db_state_set(as->db, key, b.at ? b.at : "", b.len);
	free(b.at);
	a->flags.files_changed = false;
	return err;
}

int positions_save(struct arenas *as)
{
	struct saved_session s = {.file_ids = as->model->file_ids,
				  .last_id = as->last_id,
				  .uses = as->ever.uses,
				  .ticks = as->clock->newest,
				  .ns = clock_map_ns(as->clock, as->clock->newest)};
	int err = db_state_set(as->db, "position", &s, sizeof(s));

	for (struct arena *a = as->first; a; a = a->next) {
		if (!err && has_moved(a))
			err = save_arena(as, a);
		if (!err && a->flags.files_changed)
			err = save_files(as, a);
		if (!err)
			err = families_save(as, a);
	}
	return err;
}

void arena_wake_waiters(const struct arena *a)
{
	struct sl_arena *m = a->map;

	__atomic_add_fetch(&m->freed_seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&m->waiter_cnt, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &m->freed_seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void push(struct sl_arena *m, sl_ref ref)
{
	sl_stack_push(&m->free_chunks, m->chunk_link, ref);
}

void arena_give_back(const struct arena *a, uint32_t slot, sl_ref chunk, sl_ref next)
{
	__atomic_store_n(&a->map->slot[slot].first_chunk, next, __ATOMIC_RELEASE);
	/* All but a thread's first were counted as backlog when they were taken. */
	__atomic_sub_fetch(&a->map->used_chunks, 1, __ATOMIC_RELAXED);
	push(a->map, chunk);
}

/*
 * Each field is taken out of the slot before the chunk goes back: dying in between leaks one chunk,
 * the other order would let two owners write into it.
 */
static void free_slot(struct arena *a, uint32_t idx, struct thread *t)
{
	struct sl_arena *m = a->map;
	struct sl_slot *slot = &m->slot[idx];
	sl_ref agg = slot->agg_chunk, files = slot->file_chunk, first = t->at.chunk;

	slot->agg_chunk = 0;
	if (arena_has_chunk(a, agg))
		push(m, agg);
	slot->file_chunk = 0;
	if (arena_has_chunk(a, files))
		push(m, files);
	slot->first_chunk = 0;
	if (arena_has_chunk(a, first))
		push(m, first);
	t->image->threads--;
	arena_thread_free(t);
	a->threads.at[idx] = NULL;
	__atomic_store_n(&slot->state, SL_SLOT_FREE, __ATOMIC_RELEASE);
	sl_stack_push(&m->free_slots, m->slot_link, idx + 1);
}

static void release_arena(struct arena *a)
{
	bool freed = a->spent.cnt;

	for (size_t i = 0; i < a->spent.cnt; i++) {
		const struct spent *s = &a->spent.list[i];

		if (spool_is_ref(s->chunk))
			spool_give(a->mem.spool, s->chunk);
		else
			arena_give_back(a, s->slot, s->chunk, s->next);
	}
	a->spent.cnt = 0;
	for (uint32_t i = 0; i < a->threads.cnt; i++) {
		struct thread *t = a->threads.at[i];

		if (!t)
			continue;
		t->txn.rows = 0;
		t->flags.has_spent = false;
		if (t->flags.has_moved && t->at.chunk) {
			t->at.saved = t->at.pos;
			__atomic_store_n(&arena_chunk(a, t->at.chunk)->consumed, t->at.pos,
					 __ATOMIC_RELEASE);
		}
		t->flags.has_moved = false;
		if (t->flags.is_over && !a->flags.is_bad) {
			free_slot(a, i, t);
			freed = true;
		} else if (t->flags.is_over) {
			t->image->threads--;
			arena_thread_free(t);
			a->threads.at[i] = NULL;
		}
	}
	if (freed)
		arena_wake_waiters(a);
}

void positions_release(struct arenas *as)
{
	struct arena *next;

	for (struct arena *a = as->first; a; a = next) {
		next = a->next;
		release_arena(a);
		families_committed(a);
		if (a->flags.is_over)
			arena_detach(as, a);
	}
}

void positions_lost(struct arenas *as)
{
	for (struct arena *a = as->first; a; a = a->next) {
		for (uint32_t i = 0; i < a->threads.cnt; i++) {
			struct thread *t = a->threads.at[i];

			if (!t || !t->txn.rows)
				continue;
			if (!t->txn.dead_rows)
				t->txn.dead_first_ns = t->txn.first_ns;
			t->txn.dead_last_ns = t->txn.last_ns;
			t->txn.dead_rows += t->txn.rows;
			/* The thread's end is written again, with the loss. */
			t->flags.is_over = false;
			t->written.agg_sum = 0;
		}
		a->flags.files_changed = true;
		families_lost(as, a);
	}
}

const struct saved_thread *positions_find(const struct arena *a, uint32_t slot, uint32_t instance)
{
	const struct saved_arena *head = a->saved.state;
	const struct saved_thread *s;

	if (!head)
		return NULL;
	s = (const struct saved_thread *)((const struct saved_image *)(head + 1) + head->images);
	for (uint32_t i = 0; i < head->threads; i++)
		if (s[i].slot == slot && s[i].instance == instance)
			return &s[i];
	return NULL;
}

void positions_resume(struct arena *a, uint32_t slot, struct thread *t,
		      const struct saved_thread *s)
{
	t->id.use = s->use;
	t->written.lost = s->lost_written;
	t->written.nested = s->nested_written;
	memcpy(t->written.lost_of, s->lost_of_written, sizeof(t->written.lost_of));
	t->flags.is_over = s->is_over;
	/* Chunks that are in the report and did not come back before the crash. */
	while (t->at.chunk && t->at.seq < s->seq) {
		struct sl_chunk *c = arena_chunk(a, t->at.chunk);
		sl_ref next = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);

		if (!arena_leads(a, t->at.chunk, next) ||
		    !arena_add_spent(a, slot, t->at.chunk, next))
			break;
		t->flags.has_spent |= !spool_is_ref(t->at.chunk);
		t->at.seq = spool_is_ref(t->at.chunk) ? arena_chunk(a, next)->seq : t->at.seq + 1;
		t->at.chunk = next;
		t->at.pos = t->at.saved = 0;
	}
	if (t->at.seq == s->seq && s->pos > t->at.pos && s->pos <= DATA_BYTES && s->pos % 8 == 0)
		t->at.pos = t->at.saved = s->pos;
}
