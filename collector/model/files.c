/*
 * files.c - open files of traced images: from a serial (wire.h) to the row that describes it.
 *
 * A serial is unique in its arena, so its name belongs to the arena; but a forked child has the
 * parent's descriptors as well, so which files are open belongs to the image. Both are paged arrays: the
 * lookup is on the path of every record.
 */
#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/model/ring_reader.h"

#include <stdlib.h>
#include <string.h>

#define FD_MAX          65536
#define FILE_NAME_BYTES (64u << 20) /* of an arena */
#define FILE_LOCAL_MAX  128u

#define NAMES_BYTES sizeof(struct file_name_page)
#define FILES_BYTES (FILE_PAGE * sizeof(struct file))

/* Serials far apart take a page each. NULL: no memory, or no budget for one. */
static void *take_page(void *pages, uint32_t *cnt, uint32_t page, size_t size)
{
	void ***at = pages, *p;

	if (page < *cnt && (*at)[page])
		return (*at)[page];
	if (!budget_take(size))
		return NULL;
	p = grow_page(pages, cnt, page, size);
	if (!p)
		budget_give(size);
	return p;
}

static void free_page(void *page, size_t size)
{
	if (page)
		budget_give(size);
	free(page);
}

struct file_name *file_name_find(const struct file_names *names, uint32_t serial)
{
	struct file_name *n;

	if (serial / FILE_PAGE >= names->pages || !names->page[serial / FILE_PAGE])
		return NULL;
	n = &names->page[serial / FILE_PAGE]->at[serial % FILE_PAGE];
	return n->text ? n : NULL;
}

void file_name_set(struct file_names *names, uint32_t serial, const char *text, uint32_t len)
{
	struct file_name_page *page;
	struct file_name *n;

	if (!serial || serial >= FILE_SERIAL_MAX)
		return;
	page = take_page(&names->page, &names->pages, serial / FILE_PAGE, NAMES_BYTES);
	if (!page) {
		names->lost++;
		return;
	}
	n = &page->at[serial % FILE_PAGE];
	if (n->text)
		return;
	if (names->bytes + len > FILE_NAME_BYTES || !budget_take(len)) {
		names->lost++;
		return;
	}
	names->bytes += len;
	n->text = malloc(len + 1);
	if (!n->text)
		return;
	memcpy(n->text, text, len);
	n->text[len] = 0;
	page->cnt++;
	n->len = len;
	n->path_id = DB_NULL;
}

void file_local_set(struct file_names *names, uint32_t serial, const char *text)
{
	struct file_name *n = file_name_find(names, serial);

	/* Of the size of any address: no more memory than its name takes. */
	if (n && !n->local && strlen(text) < FILE_LOCAL_MAX)
		n->local = strdup(text);
}

void file_local(struct model *m, struct image *im, uint32_t serial, const char *text)
{
	const struct file *f = file_find(im, serial);
	const struct file_name *n;

	file_local_set(&im->arena->names, serial, text);
	n = file_name_find(&im->arena->names, serial);
	if (n && n->local && f && f->has_row)
		db_socket(m->db, f->id, n->local);
}

/* A page of files of which none has a name, unless one is open. */
static void drop_page(struct arena *a, uint32_t page)
{
	struct file_names *names = &a->names;

	for (struct image *im = a->images; im; im = im->next)
		for (uint32_t k = 0;
		     page < im->files.pages && im->files.page[page] && k < FILE_PAGE; k++)
			if (im->files.page[page][k].is_open)
				return;
	for (struct image *im = a->images; im; im = im->next)
		if (page < im->files.pages) {
			free_page(im->files.page[page], FILES_BYTES);
			im->files.page[page] = NULL;
		}
	free_page(names->page[page], NAMES_BYTES);
	names->page[page] = NULL;
}

static void drop_name(struct arena *a, uint32_t serial)
{
	struct file_name *n = file_name_find(&a->names, serial);

	if (!n)
		return;
	budget_give(n->len);
	a->names.bytes -= n->len < a->names.bytes ? n->len : a->names.bytes;
	free(n->text);
	free(n->local);
	*n = (struct file_name){0};
	if (--a->names.page[serial / FILE_PAGE]->cnt == 0)
		drop_page(a, serial / FILE_PAGE);
}

/* A process that was forked while the file was open may have it still, without a call on it so far. */
static bool may_be_inherited(const struct image *im, const struct file *f)
{
	for (const struct image *other = im->arena->images; other; other = other->next)
		if (other != im && other->parent && other->start_ns >= f->since)
			return true;
	return false;
}

/* Records of other threads may name it still: it is forgotten when many others have been closed. */
static void forget_later(struct image *im, uint32_t serial)
{
	struct file_names *names = &im->arena->names;
	uint32_t *slot;

	if (!names->closed)
		names->closed = calloc(FILE_CLOSED, sizeof(*names->closed));
	if (!names->closed)
		return;
	slot = &names->closed[names->closed_cnt++ % FILE_CLOSED];
	drop_name(im->arena, *slot);
	*slot = serial;
}

void file_close_unseen(struct model *m, struct image *im, uint32_t serial, int64_t ns)
{
	const struct file *f = file_find(im, serial);
	bool is_known = f && f->id;

	file_close(m, im, serial, ns);
	if (!is_known)
		forget_later(im, serial);
}

void file_names_release(struct file_names *names)
{
	free(names->closed);
	names->closed = NULL;
	for (uint32_t i = 0; i < names->pages; i++) {
		if (!names->page[i])
			continue;
		for (uint32_t k = 0; k < FILE_PAGE; k++) {
			free(names->page[i]->at[k].text);
			free(names->page[i]->at[k].local);
		}
		free_page(names->page[i], NAMES_BYTES);
	}
	free(names->page);
	names->page = NULL;
	names->pages = 0;
	budget_give(names->bytes);
	names->bytes = 0;
}

/* A newer serial on the same descriptor means that the older one was closed, seen or not. */
static void take_descriptor(struct model *m, struct image *im, int64_t fd, uint32_t serial,
			    int64_t ns)
{
	uint32_t old;

	if (fd < 0 || fd >= FD_MAX)
		return;
	if (!grow_to(&im->files.fd_serial, (uint32_t)fd, &im->files.fd_cnt,
		     sizeof(*im->files.fd_serial)))
		return;
	old = im->files.fd_serial[fd];
	if (old >= serial)
		return; /* a record of another thread came first */
	im->files.fd_serial[fd] = serial;
	if (old)
		file_close(m, im, old, ns);
}

/* The row may wait until the name is known. */
static void describe(struct model *m, struct image *im, struct file *f, uint32_t serial, int64_t ns)
{
	struct file_name *n = file_name_find(&im->arena->names, serial);

	if (!n || f->has_row)
		return;
	if (n->path_id == DB_NULL)
		n->path_id = db_string(m->db, n->text, n->len);
	f->path_id = n->path_id;
	f->has_row = 1;
	db_file_opened(m->db, f->id, im->proc->pid, ns, n->text, n->len);
	if (n->local)
		db_socket(m->db, f->id, n->local);
}

static struct file *make(struct model *m, struct image *im, uint32_t serial, int64_t fd, int64_t ns)
{
	struct file *page, *f;

	if (!serial || serial >= FILE_SERIAL_MAX)
		return NULL;
	page = take_page(&im->files.page, &im->files.pages, serial / FILE_PAGE, FILES_BYTES);
	if (!page) {
		im->arena->names.lost++;
		return NULL;
	}
	f = &page[serial % FILE_PAGE];
	if (!f->id) {
		f->id = ++m->file_ids;
		f->is_open = 1;
		f->path_id = DB_NULL;
		f->since = ns;
		take_descriptor(m, im, fd, serial, ns);
		im->arena->flags.files_changed = true;
	}
	return f;
}

struct file *file_get(struct model *m, struct image *im, uint32_t serial, int64_t fd, int64_t ns)
{
	struct file *f = make(m, im, serial, fd, ns);

	if (!f || f->has_row)
		return f;
	/* The record of its open may still be in another thread's ring. */
	if (!file_name_find(&im->arena->names, serial))
		ring_prescan(im->arena);
	describe(m, im, f, serial, 0);
	return f;
}

struct file *file_open(struct model *m, struct image *im, uint32_t serial, int64_t fd,
		       const char *text, uint32_t len, int64_t ns)
{
	struct file *f = make(m, im, serial, fd, ns);

	if (!f)
		return NULL;
	file_name_set(&im->arena->names, serial, text, len);
	describe(m, im, f, serial, ns);
	return f;
}

void file_restore(struct model *m, struct image *im, uint32_t serial, uint32_t id, bool has_row,
		  const char *text, uint32_t len)
{
	struct file *f = make(m, im, serial, DB_NULL, 0);

	if (!f)
		return;
	f->id = id;
	f->has_row = has_row;
	if (len)
		file_name_set(&im->arena->names, serial, text, len);
}

void file_close(struct model *m, struct image *im, uint32_t serial, int64_t ns)
{
	struct file *f = file_find(im, serial);

	if (!f || !f->is_open)
		return;
	f->is_open = 0;
	im->arena->flags.files_changed = true;
	if (f->has_row)
		db_file_closed(m->db, f->id, ns);
	if (!may_be_inherited(im, f))
		forget_later(im, serial);
}

void file_close_all(struct model *m, struct image *im, int64_t ns)
{
	for (uint32_t i = 0; i < im->files.pages; i++)
		for (uint32_t k = 0; im->files.page[i] && k < FILE_PAGE; k++)
			if (im->files.page[i][k].is_open)
				file_close(m, im, i * FILE_PAGE + k, ns);
}

void file_forget_all(struct arena *a)
{
	for (struct image *im = a->images; im; im = im->next) {
		for (uint32_t i = 0; i < im->files.pages; i++)
			if (im->files.page[i])
				memset(im->files.page[i], 0,
				       FILE_PAGE * sizeof(*im->files.page[i]));
		if (im->files.fd_serial)
			memset(im->files.fd_serial, 0,
			       im->files.fd_cnt * sizeof(*im->files.fd_serial));
	}
	a->flags.files_changed = true;
}

void file_release(struct image *im)
{
	for (uint32_t i = 0; i < im->files.pages; i++)
		free_page(im->files.page[i], FILES_BYTES);
	free(im->files.page);
	free(im->files.fd_serial);
	im->files.page = NULL;
	im->files.fd_serial = NULL;
	im->files.pages = im->files.fd_cnt = 0;
}
