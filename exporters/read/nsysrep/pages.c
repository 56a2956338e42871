/* pages.c - tables of a database written as pages of its file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "exporters/read/nsysrep/pages.h"

#define PAGE       4096u
#define LOCK_PAGE  (0x40000000u / PAGE + 1) /* never used: SQLite locks its bytes */
#define BUFFER     (64 * PAGE)
#define LEAF_HEAD  8u
#define INNER_HEAD 12u
/* Children of a page in the tree: their cells fit whatever the keys are. */
#define TABLE_CHILDREN 250u
#define INDEX_CHILDREN 100u
#define LOCAL_MAX      (PAGE - 35)
#define LOCAL_MIN      ((PAGE - 12) * 32 / 255 - 23)
#define RECORD_HEAD    (9 + PAGES_COLUMNS * 9)
#define RECORD_NUMBERS (PAGES_COLUMNS * 8)

enum {
	INDEX_INNER = 2,
	TABLE_INNER = 5,
	INDEX_LEAF = 10,
	TABLE_LEAF = 13,
};

struct page_child {
	uint32_t page;
	int64_t key[3]; /* of a table: the last rowid; of an index: the entry behind the page */
};

static void put2(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put4(uint8_t *p, uint32_t v)
{
	put2(p, v >> 16);
	put2(p + 2, v & 0xffff);
}

/* SQLite's numbers of one to nine bytes. Returns their end. */
static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	uint8_t bytes[10];
	unsigned cnt = 0;

	if (v < 0x80) {
		*p = (uint8_t)v;
		return p + 1;
	}
	if (v >> 56) {
		p[8] = (uint8_t)v;
		v >>= 8;
		for (int i = 7; i >= 0; i--, v >>= 7)
			p[i] = (uint8_t)(v & 0x7f) | 0x80;
		return p + 9;
	}
	for (; v; v >>= 7)
		bytes[cnt++] = (uint8_t)(v & 0x7f) | 0x80;
	bytes[0] &= 0x7f;
	while (cnt)
		*p++ = bytes[--cnt];
	return p;
}

/* ---- pages ---- */

static void flush_pages(struct pages *p)
{
	size_t done = 0;

	while (done < p->used && !p->error) {
		ssize_t n = pwrite(p->fd, p->buffer + done, p->used - done, (off_t)(p->at + done));

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			p->error = n == 0 ? ENOSPC : errno;
	}
	p->at += p->used;
	p->used = 0;
}

/* A page of zeros to be filled, at the end of the file; its number. NULL: no memory. */
static uint8_t *add_page(struct pages *p, uint32_t *number)
{
	if (p->cnt == 0) {
		p->cnt = 1;
		p->at = PAGE;
	}
	if (!p->buffer)
		p->buffer = malloc(BUFFER);
	if (!p->buffer) {
		p->error = ENOMEM;
		return NULL;
	}
	if (p->used == BUFFER)
		flush_pages(p);
	memset(p->buffer + p->used, 0, PAGE);
	p->used += PAGE;
	*number = ++p->cnt;
	return p->cnt == LOCK_PAGE ? add_page(p, number) : p->buffer + p->used - PAGE;
}

static uint32_t put_page(struct pages *p, const uint8_t *page)
{
	uint32_t number = 0;
	uint8_t *to = add_page(p, &number);

	if (to)
		memcpy(to, page, PAGE);
	return number;
}

static void page_head(uint8_t *page, unsigned type, unsigned cells, unsigned content)
{
	page[0] = (uint8_t)type;
	put2(page + 3, cells);
	put2(page + 5, content);
}

static void put_child(struct pages *p, struct page_tree *t, uint32_t page, const int64_t *key)
{
	if (!grow(&t->child, t->cnt, &t->room, sizeof(*t->child))) {
		p->error = ENOMEM;
		return;
	}
	t->child[t->cnt].page = page;
	memcpy(t->child[t->cnt++].key, key, sizeof(t->child->key));
}

static bool has_leaf(struct pages *p, uint8_t **page)
{
	if (!*page)
		*page = calloc(1, PAGE);
	if (!*page)
		p->error = ENOMEM;
	return *page != NULL;
}

/* ---- records ---- */

/* The serial type of a number and its bytes, behind @to. */
static unsigned put_number(uint8_t **to, int64_t v)
{
	static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8};
	uint64_t magnitude = (uint64_t)(v < 0 ? ~v : v);
	unsigned type;

	if (v == 0 || v == 1)
		return v ? 9 : 8;
	type = magnitude < 0x80              ? 1
	       : magnitude < 0x8000          ? 2
	       : magnitude < 0x800000        ? 3
	       : magnitude < 0x80000000      ? 4
	       : magnitude < 0x800000000000u ? 5
					     : 6;
	for (unsigned i = sizes[type]; i > 0; i--)
		*(*to)++ = (uint8_t)((uint64_t)v >> 8 * (i - 1));
	return type;
}

/* A record of one text at most can be written in two pieces around it. */
struct record {
	uint8_t head[RECORD_HEAD],
		*types; /* the length of the head is put in front of the types at last */
	uint8_t body[RECORD_NUMBERS], *end;
	struct {
		size_t at; /* in the body: where its bytes belong */
		const void *data;
		size_t len;
	} text[PAGES_COLUMNS];
	unsigned texts;
	size_t size, head_len;
};

static void record_begin(struct record *r)
{
	r->types = r->head + 9;
	r->end = r->body;
	r->texts = 0;
	r->size = 0;
}

static void record_number(struct record *r, int64_t v)
{
	*r->types = (uint8_t)put_number(&r->end, v);
	r->types++;
}

static void record_value(struct record *r, const struct page_value *v)
{
	if (v->type == PAGE_INTEGER) {
		record_number(r, v->number);
	} else if (v->type == PAGE_NULL) {
		*r->types++ = 0;
	} else {
		r->types = put_varint(r->types, 13 + 2 * (uint64_t)v->len);
		r->text[r->texts].at = (size_t)(r->end - r->body);
		r->text[r->texts].data = v->text;
		r->text[r->texts++].len = v->len;
		r->size += v->len;
	}
}

/* The head begins with its own length, of one or two bytes. */
static uint8_t *record_end(struct record *r)
{
	size_t types = (size_t)(r->types - (r->head + 9));
	unsigned own = types + 1 < 0x80 ? 1 : 2;
	uint8_t *begin = r->head + 9 - own;

	put_varint(begin, types + own);
	r->head_len = types + own;
	r->size += r->head_len + (size_t)(r->end - r->body);
	return begin;
}

/* The bytes of a record from @from on, as many as fit. */
static void record_copy(const struct record *r, const uint8_t *head, size_t from, uint8_t *to,
			size_t len)
{
	size_t at = 0, body = 0;

#define PIECE(data, size)                                                      \
	do {                                                                   \
		size_t piece = (size), skip = from > at ? from - at : 0;       \
		if (skip < piece && len > 0) {                                 \
			size_t part = piece - skip < len ? piece - skip : len; \
			memcpy(to, (const uint8_t *)(data) + skip, part);      \
			to += part, len -= part, from += part;                 \
		}                                                              \
		at += piece;                                                   \
	} while (0)
	PIECE(head, r->head_len);
	for (unsigned i = 0; i < r->texts; i++) {
		PIECE(r->body + body, r->text[i].at - body);
		body = r->text[i].at;
		if (r->text[i].len)
			PIECE(r->text[i].data, r->text[i].len);
	}
	PIECE(r->body + body, (size_t)(r->end - r->body) - body);
#undef PIECE
}

/* ---- tables ---- */

static void end_leaf(struct pages *p, struct page_tree *t)
{
	const int64_t key[3] = {t->last};

	page_head(t->leaf, TABLE_LEAF, t->cells, t->content);
	put_child(p, t, put_page(p, t->leaf), key);
	memset(t->leaf, 0, PAGE);
	t->cells = 0;
	t->content = PAGE;
}

/* Room for a cell of @size bytes. */
static uint8_t *add_cell(struct page_tree *t, size_t size)
{
	t->content -= (unsigned)size;
	put2(t->leaf + LEAF_HEAD + 2 * t->cells++, t->content);
	return t->leaf + t->content;
}

static bool fits(const struct page_tree *t, size_t size)
{
	return LEAF_HEAD + 2 * (t->cells + 1) + size <= t->content;
}

/* The rest of a record that is too long for a page, from @from on. The number of its first page. */
static uint32_t put_overflow(struct pages *p, const struct record *r, const uint8_t *head,
			     size_t from)
{
	uint32_t first = 0, number = 0;

	for (; from < r->size && !p->error; from += PAGE - 4) {
		size_t left = r->size - from;
		uint8_t *page = add_page(p, &number);

		if (!page)
			break;
		first = first ? first : number;
		record_copy(r, head, from, page + 4, left < PAGE - 4 ? left : PAGE - 4);
		/* The next one is the next in the file, but for the page that is never used. */
		if (left > PAGE - 4)
			put4(page, number + 1 == LOCK_PAGE ? number + 2 : number + 1);
	}
	return first;
}

void page_row(struct pages *p, struct page_tree *t, int64_t rowid, const struct page_value *values,
	      unsigned cnt)
{
	struct record r;
	uint8_t start[20], *end, *cell, *head;
	size_t local, size;
	uint32_t rest = 0;

	if (p->error || !has_leaf(p, &t->leaf))
		return;
	t->content = t->content ? t->content : PAGE;
	record_begin(&r);
	for (unsigned i = 0; i < cnt; i++)
		record_value(&r, &values[i]);
	head = record_end(&r);
	end = put_varint(put_varint(start, r.size), (uint64_t)rowid);
	local = r.size;
	if (local > LOCAL_MAX) {
		local = LOCAL_MIN + (r.size - LOCAL_MIN) % (PAGE - 4);
		local = local > LOCAL_MAX ? LOCAL_MIN : local;
	}
	size = (size_t)(end - start) + local + (local < r.size ? 4 : 0);
	if (!fits(t, size))
		end_leaf(p, t);
	if (local < r.size)
		rest = put_overflow(p, &r, head, local);
	cell = add_cell(t, size);
	memcpy(cell, start, (size_t)(end - start));
	record_copy(&r, head, 0, cell + (end - start), local);
	if (local < r.size)
		put4(cell + size - 4, rest);
	t->last = rowid;
}

/* ---- indexes ---- */

static size_t put_entry(uint8_t *to, const int64_t *entry)
{
	struct record r;
	uint8_t *head;

	record_begin(&r);
	for (unsigned i = 0; i < 3; i++)
		record_number(&r, entry[i]);
	head = record_end(&r);
	*to = (uint8_t)r.size;
	record_copy(&r, head, 0, to + 1, r.size);
	return 1 + r.size;
}

static void end_held(struct pages *p, struct page_tree *t, const int64_t *behind)
{
	page_head(t->held, INDEX_LEAF, t->held_cells, t->held_content);
	put_child(p, t, put_page(p, t->held), behind);
	t->held_cells = 0;
}

void page_entry(struct pages *p, struct page_tree *t, int64_t a, int64_t b, int64_t rowid)
{
	const int64_t entry[3] = {a, b, rowid};
	uint8_t cell[64], *page;
	size_t size;

	if (p->error || !has_leaf(p, &t->leaf) || !has_leaf(p, &t->held))
		return;
	t->content = t->content ? t->content : PAGE;
	size = put_entry(cell, entry);
	if (t->cells == 0 && t->held_cells) {
		end_held(p, t, t->entry);
	} else if (!fits(t, size)) {
		/* This entry stands between the full page and the next. */
		page = t->held;
		t->held = t->leaf;
		t->held_cells = t->cells;
		t->held_content = t->content;
		t->leaf = page;
		memset(page, 0, PAGE);
		t->cells = 0;
		t->content = PAGE;
		memcpy(t->before, t->entry, sizeof(entry));
		memcpy(t->entry, entry, sizeof(entry));
		return;
	}
	memcpy(add_cell(t, size), cell, size);
	memcpy(t->entry, entry, sizeof(entry));
}

/* The last entry has no page behind it: it gets one, and the entry before it stands in between. */
static void split_held(struct pages *p, struct page_tree *t)
{
	uint8_t cell[64];
	size_t size = put_entry(cell, t->before);

	t->held_cells--;
	memset(t->held + LEAF_HEAD + 2 * t->held_cells, 0, 2);
	memset(t->held + t->held_content, 0, size);
	t->held_content += (unsigned)size;
	end_held(p, t, t->before);
	size = put_entry(cell, t->entry);
	memcpy(add_cell(t, size), cell, size);
}

/* ---- what is above the leaves ---- */

static uint32_t put_inner(struct pages *p, const struct page_child *child, uint32_t cnt,
			  bool is_index)
{
	uint8_t page[PAGE] = {0}, cell[64], *end;
	unsigned content = PAGE;

	for (uint32_t i = 0; i + 1 < cnt; i++) {
		size_t size;

		put4(cell, child[i].page);
		end = is_index ? cell + 4 + put_entry(cell + 4, child[i].key)
			       : put_varint(cell + 4, (uint64_t)child[i].key[0]);
		size = (size_t)(end - cell);
		content -= (unsigned)size;
		memcpy(page + content, cell, size);
		put2(page + INNER_HEAD + 2 * i, content);
	}
	page_head(page, is_index ? INDEX_INNER : TABLE_INNER, cnt - 1, content);
	put4(page + 8, child[cnt - 1].page);
	return put_page(p, page);
}

/* Children spread evenly over as few pages as hold them: each has two or more. */
static void put_level(struct pages *p, struct page_tree *t, bool is_index)
{
	uint64_t most = is_index ? INDEX_CHILDREN : TABLE_CHILDREN, cnt = t->cnt;
	uint64_t pages = (cnt + most - 1) / most;

	for (uint64_t i = 0; i < pages; i++) {
		uint64_t from = cnt * i / pages, to = cnt * (i + 1) / pages;
		struct page_child above = t->child[to - 1];

		above.page = put_inner(p, t->child + from, (uint32_t)(to - from), is_index);
		t->child[i] = above;
	}
	t->cnt = (uint32_t)pages;
}

uint32_t page_tree_end(struct pages *p, struct page_tree *t, bool is_index)
{
	uint32_t root = 0;

	if (!p->error && has_leaf(p, &t->leaf)) {
		t->content = t->content ? t->content : PAGE;
		if (is_index && t->held_cells && t->cells == 0)
			split_held(p, t);
		if (t->cells || t->cnt == 0) {
			page_head(t->leaf, is_index ? INDEX_LEAF : TABLE_LEAF, t->cells,
				  t->content);
			put_child(p, t, put_page(p, t->leaf), (const int64_t[3]){t->last});
		}
	}
	while (!p->error && t->cnt > 1)
		put_level(p, t, is_index);
	if (!p->error)
		root = t->child[0].page;
	page_tree_drop(t);
	return root;
}

void page_tree_drop(struct page_tree *t)
{
	free(t->child);
	free(t->leaf);
	free(t->held);
	*t = (struct page_tree){0};
}

int pages_end(struct pages *p)
{
	static const uint8_t head[28] =
		"SQLite format 3\0\x10\x00\x01\x01\x00\x40\x20\x20\x00\x00\x00\x01";
	uint8_t page[PAGE] = {0};

	p->cnt = p->cnt ? p->cnt : 1;
	flush_pages(p);
	memcpy(page, head, sizeof(head));
	put4(page + 28, p->cnt);
	put4(page + 44, 4);       /* the format of the schema: numbers 0 and 1 take no bytes */
	put4(page + 56, 1);       /* UTF-8 */
	put4(page + 92, 1);       /* the file's size is right as of change 1 */
	put4(page + 96, 3040001); /* the version of SQLite that this is the format of */
	page_head(page + 100, TABLE_LEAF, 0, PAGE);
	p->at = 0;
	if (!p->error) {
		ssize_t n = pwrite(p->fd, page, PAGE, 0);

		p->error = n == PAGE ? 0 : n < 0 ? errno : ENOSPC;
	}
	free(p->buffer);
	p->buffer = NULL;
	return -p->error;
}
