/*
 * recover_state.c - reads the notes of positions.c again. They come from a file that may be damaged:
 * lengths are checked, unknown things left out.
 */
#include "collector/collect/recover_state.h"
#include "collector/base/proc.h"
#include "collector/collect/record_families.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_FOR 10000u /* arenas */

/* A value of known size. */
static int fixed(struct db *db, const char *key, void *value, size_t size)
{
	void *blob;
	size_t len;
	int err = db_state_get(db, key, &blob, &len);

	if (err)
		return err;
	if (len == size)
		memcpy(value, blob, size);
	else
		err = -EPROTO;
	free(blob);
	return err;
}

int state_setup(struct db *db, struct saved_setup *s)
{
	int err = fixed(db, "session", s, sizeof(*s));

	if (!err && s->version != SAVED_VERSION)
		err = -EPROTO;
	if (!err &&
	    (!memchr(s->dir, 0, sizeof(s->dir)) || !memchr(s->boot_id, 0, sizeof(s->boot_id))))
		err = -EPROTO;
	return err;
}

bool state_is_recorded(struct db *db, int64_t *length)
{
	return fixed(db, DB_STATE_RECORDED, length, sizeof(*length)) == 0;
}

int state_counters(struct arenas *as)
{
	struct saved_session s;
	int err = fixed(as->db, "position", &s, sizeof(s));

	if (err)
		return err;
	as->model->file_ids = s.file_ids;
	as->last_id = s.last_id;
	as->ever.uses = s.uses;
	return clock_map_add(as->clock, s.ticks, s.ns + as->clock->zero);
}

/* Processes named by the state that have the ring mapped are still there: they and their children are waited for. */
static void load_images(struct arenas *as, struct arena *a, const struct saved_arena *head)
{
	const struct saved_image *s = (const struct saved_image *)(head + 1);

	for (uint32_t i = 0; i < head->images; i++, s++) {
		struct proc *p = model_at(as->model, s->pid, s->start_ns);
		struct image *im =
			model_image_new(as->model, a, s->number, p, s->ns_pid, s->start_ns);

		if (proc_has_mapped(s->pid, a->mem.device, a->mem.inode) > 0)
			model_admit(as->model, p, true);
		im->is_named = s->is_named;
		im->proc->flags.is_known = true;
	}
}

static struct image *image_of(struct arena *a, uint32_t number)
{
	for (struct image *im = a->images; im; im = im->next)
		if (im->number == number)
			return im;
	return NULL;
}

static void load_files(struct arenas *as, struct arena *a, const char *at, size_t len)
{
	struct saved_file s;

	while (len >= sizeof(s)) {
		struct image *im;
		struct file *f;

		memcpy(&s, at, sizeof(s));
		at += sizeof(s);
		len -= sizeof(s);
		if (s.len > len)
			return;
		im = image_of(a, s.number);
		if (im) {
			file_restore(as->model, im, s.serial, s.id, s.has_row, at, s.len);
			f = file_find(im, s.serial);
			if (f && s.len)
				f->path_id = db_string(as->db, at, s.len);
		}
		at += s.len;
		len -= s.len;
	}
}

/* Does the note of an arena have a thread whose ring was not read to the end? */
static bool has_unread(const struct saved_arena *head, size_t len)
{
	const struct saved_thread *s;

	if (len < sizeof(*head) || len != sizeof(*head) +
						   head->images * sizeof(struct saved_image) +
						   head->threads * sizeof(*s))
		return false;
	s = (const struct saved_thread *)((const struct saved_image *)(head + 1) + head->images);
	for (uint32_t i = 0; i < head->threads; i++)
		if (!s[i].is_over)
			return true;
	return false;
}

uint32_t state_missing(const struct arenas *as)
{
	uint32_t cnt = 0;

	for (uint32_t id = 1; id <= as->last_id && id <= LOOKED_FOR; id++) {
		const struct arena *a = as->first;
		char key[32];
		void *blob;
		size_t len;

		while (a && a->id != id)
			a = a->next;
		snprintf(key, sizeof(key), "arena.%u", id);
		if (a || db_state_get(as->db, key, &blob, &len) != 0)
			continue;
		cnt += has_unread(blob, len);
		free(blob);
	}
	return cnt;
}

void state_arena(struct arenas *as, struct arena *a)
{
	char key[32];
	void *blob;
	size_t len, want = sizeof(struct saved_arena);
	const struct saved_arena *head;

	snprintf(key, sizeof(key), "arena.%u", a->id);
	if (db_state_get(as->db, key, &blob, &len) != 0)
		return;
	head = blob;
	if (len >= want)
		want += head->images * sizeof(struct saved_image) +
			head->threads * sizeof(struct saved_thread);
	if (len != want) {
		free(blob);
		return;
	}
	a->counts.unslotted_written = head->unslotted_written;
	a->flags.is_foreign = head->is_foreign;
	load_images(as, a, head);
	a->saved.state = blob;
	a->saved.len = len;
	families_restore(as, a);
	snprintf(key, sizeof(key), "files.%u", a->id);
	if (db_state_get(as->db, key, &blob, &len) == 0) {
		load_files(as, a, blob, len);
		free(blob);
	}
}
