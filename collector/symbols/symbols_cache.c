/* symbols_cache.c - the file of names: read as a stranger's, written aside and renamed. */
#include "collector/symbols/symbols_cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/cache_folder.h"
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/map.h"
#include "collector/base/plain_file.h"

#define FILE_NAME    "symbols"
#define BYTES_MOST   (2u << 20) /* of the file */
#define MODULE_MOST  (1u << 20) /* bytes of one module */
#define MODULES_MOST 256u
#define FRAMES_MOST  128u /* at one address */
#define MAGIC        "slsyms1"

/* A file as it was: another one, or a changed one, differs in some of it. */
struct seen {
	uint64_t device, inode, size, modified, changed;
};

struct head {
	char magic[8];
	struct seen tool; /* that wrote it: another version may name functions otherwise */
	uint32_t bytes, modules;
};

/* The module's answers, frames and texts follow. Offsets of texts are counted from 1; 0: none. */
struct cached_module {
	uint32_t bytes, build_id_len;
	uint8_t build_id[64];
	struct seen image, debug;
	uint32_t path, debug_path;
	uint32_t answers, frames, text_bytes, reserved;
};

struct cached_answer { /* of addresses that all have it; in order, none of them twice */
	uint64_t from;
	uint32_t bytes, cnt, first, reserved;
};

struct cached_frame {
	uint32_t function, file;
	int32_t line;
	uint32_t is_inlined : 1, is_interpreter : 1;
};

struct symbols_cache {
	struct cache_folder folder;
	struct seen tool;
	uint64_t
		opened; /* CLOCK_REALTIME: a file that has changed since may not be the one that was read */
	char *data; /* NULL: none */
	const struct cached_module *module[MODULES_MOST];
	uint32_t cnt;
	/* Being written. */
	struct writing {
		struct cached_module head;
		const struct cached_module *before;
		struct cached_answer *answer;
		struct cached_frame *frame;
		char *text;
		uint32_t answer_cap, frame_cap, text_cap;
		struct map place; /* of a text, by its hash */
		bool is_full;
	} * writing;
	uint32_t writing_cnt, writing_cap;
};

/* ---- the form ---- */

static const struct cached_answer *answers_of(const struct cached_module *m)
{
	return (const void *)(m + 1);
}

static const struct cached_frame *frames_of(const struct cached_module *m)
{
	return (const void *)(answers_of(m) + m->answers);
}

static const char *texts_of(const struct cached_module *m)
{
	return (const char *)(frames_of(m) + m->frames);
}

static const char *text_of(const struct cached_module *m, uint32_t place)
{
	return place ? texts_of(m) + place - 1 : NULL;
}

static bool is_text(const struct cached_module *m, uint32_t place)
{
	return place <= m->text_bytes;
}

/* Everything that is followed later leads to where it should. */
static bool is_sound(const struct cached_module *m)
{
	const struct cached_answer *a = answers_of(m);
	const struct cached_frame *f = frames_of(m);
	uint64_t need = sizeof(*m) + (uint64_t)m->answers * sizeof(*a) +
			(uint64_t)m->frames * sizeof(*f) + m->text_bytes;

	if (need > m->bytes || m->build_id_len > sizeof(m->build_id) || !m->text_bytes ||
	    texts_of(m)[m->text_bytes - 1] || !m->path || !is_text(m, m->path) || !m->debug_path ||
	    !is_text(m, m->debug_path))
		return false;
	for (uint32_t i = 0; i < m->answers; i++)
		if (a[i].cnt > FRAMES_MOST || a[i].first > m->frames ||
		    a[i].cnt > m->frames - a[i].first || !a[i].bytes ||
		    a[i].bytes > UINT64_MAX - a[i].from ||
		    (i && a[i].from < a[i - 1].from + a[i - 1].bytes))
			return false;
	for (uint32_t i = 0; i < m->frames; i++)
		if (!is_text(m, f[i].function) || !is_text(m, f[i].file))
			return false;
	return true;
}

/* ---- reading ---- */

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static struct seen seen_of(const struct stat *st)
{
	return (struct seen){.device = st->st_dev,
			     .inode = st->st_ino,
			     .size = (uint64_t)st->st_size,
			     .modified = nanoseconds(&st->st_mtim),
			     .changed = nanoseconds(&st->st_ctim)};
}

static bool see(const char *path, struct seen *seen)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);

	if (fd < 0)
		return false;
	close(fd);
	*seen = seen_of(&st);
	return true;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void take_modules(struct symbols_cache *c, size_t bytes)
{
	const struct head *h = (const void *)c->data;
	size_t at = sizeof(*h);

	if (memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0 || !is_same(&h->tool, &c->tool) ||
	    h->bytes != bytes || h->modules > MODULES_MOST)
		return;
	for (uint32_t i = 0; i < h->modules; i++) {
		const struct cached_module *m = (const void *)(c->data + at);

		if (bytes - at < sizeof(*m) || m->bytes > bytes - at || m->bytes % 8 ||
		    m->bytes < sizeof(*m) || !is_sound(m))
			return;
		c->module[c->cnt++] = m;
		at += m->bytes;
	}
}

static void read_file(struct symbols_cache *c)
{
	size_t bytes;

	c->data = cache_folder_read(&c->folder, FILE_NAME, sizeof(struct head), BYTES_MOST, &bytes);
	if (c->data)
		take_modules(c, bytes);
}

struct symbols_cache *symbols_cache_open(void)
{
	struct symbols_cache *c = calloc(1, sizeof(*c));
	struct timespec now;

	if (c && cache_folder_find(&c->folder) && see("/proc/self/exe", &c->tool)) {
		clock_gettime(CLOCK_REALTIME, &now);
		c->opened = nanoseconds(&now);
		read_file(c);
		return c;
	}
	free(c);
	return NULL;
}

static void writing_free(struct writing *w)
{
	free(w->answer);
	free(w->frame);
	free(w->text);
	map_free(&w->place);
}

void symbols_cache_close(struct symbols_cache *c)
{
	if (!c)
		return;
	symbols_cache_begin(c);
	free(c->writing);
	free(c->data);
	free(c);
}

static bool is_of(const struct cached_module *m, const struct cached_key *key)
{
	return m->build_id_len == key->build_id_len &&
	       memcmp(m->build_id, key->build_id, key->build_id_len) == 0 &&
	       strcmp(text_of(m, m->path), key->path) == 0;
}

const struct cached_module *symbols_cache_module(const struct symbols_cache *c,
						 const struct cached_key *key)
{
	struct seen now;

	for (uint32_t i = 0; i < c->cnt; i++) {
		const struct cached_module *m = c->module[i];

		if (is_of(m, key))
			return see(key->path, &now) && is_same(&now, &m->image) &&
					       see(text_of(m, m->debug_path), &now) &&
					       is_same(&now, &m->debug)
				       ? m
				       : NULL;
	}
	return NULL;
}

static int by_address(const void *address, const void *answer)
{
	uint64_t at = *(const uint64_t *)address;
	const struct cached_answer *a = answer;

	return at < a->from ? -1 : at - a->from >= a->bytes;
}

/* All of @a's; there is room. */
static void fill_frames(const struct cached_module *m, const struct cached_answer *a,
			struct symbols_frame *frame)
{
	for (uint32_t i = 0; i < a->cnt; i++) {
		const struct cached_frame *f = &frames_of(m)[a->first + i];

		frame[i] = (struct symbols_frame){.function = text_of(m, f->function),
						  .file = text_of(m, f->file),
						  .line = f->line,
						  .is_inlined = f->is_inlined,
						  .is_interpreter = f->is_interpreter};
	}
}

bool symbols_cache_find(const struct cached_module *m, uint64_t address,
			struct symbols_frame *frame, size_t room, size_t *cnt)
{
	const struct cached_answer *a =
		bsearch(&address, answers_of(m), m->answers, sizeof(*a), by_address);

	if (!a || a->cnt > room)
		return false;
	fill_frames(m, a, frame);
	*cnt = a->cnt;
	return true;
}

/* ---- writing ---- */

void symbols_cache_begin(struct symbols_cache *c)
{
	for (uint32_t i = 0; i < c->writing_cnt; i++)
		writing_free(&c->writing[i]);
	c->writing_cnt = 0;
}

static uint32_t bytes_of(const struct writing *w)
{
	uint64_t bytes = sizeof(w->head) + w->head.answers * sizeof(*w->answer) +
			 w->head.frames * sizeof(*w->frame) + w->head.text_bytes;

	return (uint32_t)((bytes + 7) & ~(uint64_t)7);
}

static uint32_t put_text(struct writing *w, const char *text)
{
	uint64_t *known = text ? map_at(&w->place, hash_text(text), true) : NULL;
	uint32_t len, at = w->head.text_bytes;

	if (!text || !known)
		return 0;
	if (*known && strcmp(w->text + *known - 1, text) == 0)
		return (uint32_t)*known;
	len = (uint32_t)strlen(text) + 1;
	if (len > MODULE_MOST) {
		w->is_full = true;
		return 0;
	}
	while (w->text_cap - at < len)
		if (!grow(&w->text, w->text_cap, &w->text_cap, 1)) {
			w->is_full = true;
			return 0;
		}
	memcpy(w->text + at, text, len);
	w->head.text_bytes += len;
	*known = at + 1;
	return at + 1;
}

/* Whether the path leads to the file that was read: another root or mount may have another file there. */
static bool is_held(const struct cached_key *key, const struct seen *image)
{
	struct stat st;
	struct seen held;

	if (key->held < 0)
		return true;
	if (fstat(key->held, &st) < 0)
		return false;
	held = seen_of(&st);
	return is_same(&held, image);
}

bool symbols_cache_add(struct symbols_cache *c, const struct cached_key *key, const char *debug,
		       const struct cached_module *before)
{
	struct writing w = {.before = before};

	if (c->writing_cnt == MODULES_MOST || key->build_id_len > sizeof(w.head.build_id) ||
	    !see(key->path, &w.head.image) || !is_held(key, &w.head.image) ||
	    !see(debug, &w.head.debug) || w.head.image.changed >= c->opened ||
	    w.head.debug.changed >= c->opened ||
	    !grow(&c->writing, c->writing_cnt, &c->writing_cap, sizeof(*c->writing)))
		return false;
	memcpy(w.head.build_id, key->build_id, key->build_id_len);
	w.head.build_id_len = (uint32_t)key->build_id_len;
	w.head.path = put_text(&w, key->path);
	w.head.debug_path = put_text(&w, debug);
	c->writing[c->writing_cnt++] = w;
	return true;
}

static void put_answer(struct writing *w, const struct cached_span *of,
		       const struct symbols_frame *frame, size_t cnt)
{
	struct cached_answer a = {.from = of->from,
				  .bytes = of->bytes,
				  .cnt = (uint32_t)cnt,
				  .first = w->head.frames};

	if (w->is_full || cnt > FRAMES_MOST || bytes_of(w) > MODULE_MOST ||
	    !grow(&w->answer, w->head.answers, &w->answer_cap, sizeof(*w->answer)))
		return;
	for (size_t i = 0; i < cnt; i++) {
		struct cached_frame f = {.function = put_text(w, frame[i].function),
					 .file = put_text(w, frame[i].file),
					 .line = frame[i].line,
					 .is_inlined = frame[i].is_inlined,
					 .is_interpreter = frame[i].is_interpreter};

		/* An answer is kept as a whole. */
		if (w->is_full ||
		    !grow(&w->frame, w->head.frames, &w->frame_cap, sizeof(*w->frame))) {
			w->head.frames = a.first;
			return;
		}
		w->frame[w->head.frames++] = f;
	}
	w->answer[w->head.answers++] = a;
}

void symbols_cache_answer(struct symbols_cache *c, const struct cached_span *of,
			  const struct symbols_frame *frame, size_t cnt)
{
	put_answer(&c->writing[c->writing_cnt - 1], of, frame, cnt);
}

static int by_place(const void *a, const void *b)
{
	const struct cached_answer *one = a, *other = b;

	return one->from < other->from ? -1 : one->from > other->from;
}

/* With the answers that the old file has; in order, no address twice: both answers are right. */
static void complete(struct writing *w)
{
	const struct cached_module *old = w->before;
	struct symbols_frame frame[FRAMES_MOST];
	uint32_t kept = 0;
	uint64_t end = 0;

	for (uint32_t i = 0; old && i < old->answers; i++) {
		const struct cached_answer *a = &answers_of(old)[i];
		const struct cached_span of = {a->from, a->bytes};

		fill_frames(old, a, frame); /* at most FRAMES_MOST: is_sound() */
		put_answer(w, &of, frame, a->cnt);
	}
	qsort(w->answer, w->head.answers, sizeof(*w->answer), by_place);
	for (uint32_t i = 0; i < w->head.answers; i++) {
		struct cached_answer a = w->answer[i];
		uint64_t passed = a.from < end ? end - a.from : 0;

		if (passed >= a.bytes)
			continue;
		a.from += passed;
		a.bytes -= (uint32_t)passed;
		end = a.from + a.bytes;
		w->answer[kept++] = a;
	}
	w->head.answers = kept;
	w->head.bytes = bytes_of(w);
}

/* An earlier build of a program that has its debug information in itself: the path leads to another file by now. */
static bool is_earlier_build(const struct cached_module *m, const char *path)
{
	return strcmp(text_of(m, m->path), path) == 0 &&
	       strcmp(text_of(m, m->debug_path), path) == 0;
}

static bool is_written_anew(const struct symbols_cache *c, const struct cached_module *m)
{
	for (uint32_t i = 0; i < c->writing_cnt; i++) {
		const struct writing *w = &c->writing[i];
		const struct cached_key key = {w->head.build_id, w->head.build_id_len,
					       w->text + w->head.path - 1, -1};

		if (is_of(m, &key) || is_earlier_build(m, key.path))
			return true;
	}
	return false;
}

static bool write_module(FILE *f, const struct writing *w)
{
	static const char zeros[8];
	uint64_t bytes = sizeof(w->head) + w->head.answers * sizeof(*w->answer) +
			 w->head.frames * sizeof(*w->frame) + w->head.text_bytes;

	return fwrite(&w->head, sizeof(w->head), 1, f) == 1 &&
	       fwrite(w->answer, sizeof(*w->answer), w->head.answers, f) == w->head.answers &&
	       fwrite(w->frame, sizeof(*w->frame), w->head.frames, f) == w->head.frames &&
	       fwrite(w->text, 1, w->head.text_bytes, f) == w->head.text_bytes &&
	       fwrite(zeros, 1, w->head.bytes - bytes, f) == w->head.bytes - bytes;
}

/* New modules first: old ones are left out where there is no room. */
static bool write_all(FILE *f, const void *cache)
{
	const struct symbols_cache *c = cache;
	struct head h = {.magic = MAGIC, .tool = c->tool, .bytes = sizeof(h)};
	bool is_good = fwrite(&h, sizeof(h), 1, f) == 1;

	for (uint32_t i = 0; i < c->writing_cnt && is_good; i++)
		if (h.bytes + c->writing[i].head.bytes <= BYTES_MOST) {
			is_good = write_module(f, &c->writing[i]);
			h.bytes += c->writing[i].head.bytes;
			h.modules++;
		}
	for (uint32_t i = 0; i < c->cnt && is_good && h.modules < MODULES_MOST; i++)
		if (h.bytes + c->module[i]->bytes <= BYTES_MOST &&
		    !is_written_anew(c, c->module[i])) {
			is_good = fwrite(c->module[i], c->module[i]->bytes, 1, f) == 1;
			h.bytes += c->module[i]->bytes;
			h.modules++;
		}
	return is_good && fseek(f, 0, SEEK_SET) == 0 && fwrite(&h, sizeof(h), 1, f) == 1;
}

bool symbols_cache_end(struct symbols_cache *c)
{
	if (!c->writing_cnt)
		return true;
	for (uint32_t i = 0; i < c->writing_cnt; i++)
		complete(&c->writing[i]);
	return cache_folder_write(&c->folder, FILE_NAME, write_all, c);
}
