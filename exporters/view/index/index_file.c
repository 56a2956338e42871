/* index_file.c - the file, its extents and the cache of them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/plain_file.h"
#include "exporters/view/index/index_file.h"

#define FILE_MAGIC   "SLVIEW01"
#define EXTENT_MAGIC 0x54584C53u /* "SLXT" */
#define SUPER_BYTES  4096
#define DIR_MAX      (UINT32_MAX / 4)
#define SLOTS        4096

const uint32_t view_class_bytes[VIEW_CLASSES] = {1024, 4096, 16384, 65536};

struct super {
	char magic[8];
	uint32_t version, crc; /* of the whole struct, with 0 here */
	struct view_identity id;
	uint64_t dir_at, dir_len, file_len;
	uint32_t dir_crc, unused;
};
#define VERSION 6 /* 6: times are of the report's clock */

struct view_side {
	int fd;
	uint64_t end;
	char *path; /* NULL: without a name */
	/* the cache */
	pthread_mutex_t lock;
	struct view_page *slots[SLOTS];
	struct view_page *newest, *oldest;
	uint64_t bytes;
	/* the writer's: extents that may be used again */
	view_ref *free[VIEW_CLASSES];
	size_t free_cnt[VIEW_CLASSES], free_room[VIEW_CLASSES];
};

/* ---- checksum: CRC-32C, eight bytes at a time ---- */

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82F63B78u : c >> 1;
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			crc_table[k][i] =
				crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 255];
}

#ifdef __x86_64__
/* With the processor's instruction for it. */
__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const uint8_t *p,
							   size_t len)
{
	uint64_t c = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
	}
	for (; len > 0; p++, len--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p);
	return ~(uint32_t)c;
}
#endif

uint32_t view_crc(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc_fast(crc, p, len);
#endif
	return view_crc_plain(crc, data, len);
}

uint32_t view_crc_plain(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	pthread_once(&crc_once, crc_make);
	crc = ~crc;
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		v ^= crc;
		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= crc_table[7 - k][v >> (8 * k) & 255];
	}
	for (; len > 0; p++, len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 255];
	return ~crc;
}

/* ---- the file ---- */

static int read_at(int fd, void *to, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(fd, (char *)to + done, len - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int write_at(int fd, const void *from, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t put = pwrite(fd, (const char *)from + done, len - done, (off_t)(at + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		done += (size_t)put;
	}
	return 0;
}

static struct view_side *side_of(int fd, char *path)
{
	struct view_side *s = calloc(1, sizeof(*s));

	if (!s) {
		close(fd);
		free(path);
		return NULL;
	}
	s->fd = fd;
	s->path = path;
	s->end = SUPER_BYTES;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

char *view_beside(const char *report, const char *ending, int place)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *full, *path = NULL;
	uint64_t hash;

	if (place == 0)
		return asprintf(&path, "%s%s", report, ending) < 0 ? NULL : path;
	full = realpath(report, NULL);
	hash = hash_text(full ? full : "");
	free(full);
	if (cache && *cache == '/')
		return asprintf(&path, "%s/sightline/%016llx%s", cache, (unsigned long long)hash,
				ending) < 0
			       ? NULL
			       : path;
	if (!home || *home != '/')
		return NULL;
	return asprintf(&path, "%s/.cache/sightline/%016llx%s", home, (unsigned long long)hash,
			ending) < 0
		       ? NULL
		       : path;
}

void view_beside_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
}

struct view_side *view_side_create(const char *report, bool *is_kept)
{
	const char *tmp = getenv("TMPDIR");
	char name[PATH_MAX];
	int fd;

	for (int place = *is_kept ? 0 : 2; place < 2; place++) {
		char *path = view_beside(report, ".view", place);

		if (path && place == 1)
			view_beside_folders(path);
		/* Another process may have the old file open, and keeps it. */
		if (path)
			snprintf(name, sizeof(name), "%s.%d.new", path, (int)getpid());
		fd = path ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
			  : -1;
		if (fd >= 0)
			return side_of(fd, path);
		free(path);
	}
	*is_kept = false;
	snprintf(name, sizeof(name), "%s/sightline-view-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	unlink(name);
	return side_of(fd, NULL);
}

static struct view_side *open_one(char *path, const struct view_identity *id, uint8_t **dir,
				  size_t *len)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	struct super super;
	struct stat st;
	uint32_t crc;

	*dir = NULL;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    read_at(fd, &super, sizeof(super), 0) < 0)
		goto no;
	crc = super.crc;
	super.crc = 0;
	if (memcmp(super.magic, FILE_MAGIC, 8) != 0 || super.version != VERSION ||
	    crc != view_crc(0, &super, sizeof(super)) || memcmp(&super.id, id, sizeof(*id)) != 0 ||
	    super.file_len != (uint64_t)st.st_size || super.dir_len > DIR_MAX ||
	    super.dir_at > super.file_len || super.dir_len > super.file_len - super.dir_at)
		goto no;
	*len = super.dir_len;
	*dir = malloc(super.dir_len + 1);
	if (*dir && read_at(fd, *dir, *len, super.dir_at) == 0 &&
	    view_crc(0, *dir, *len) == super.dir_crc) {
		struct view_side *s = side_of(fd, path);

		if (s)
			s->end = super.file_len;
		return s;
	}
no:
	free(*dir);
	*dir = NULL;
	if (fd >= 0)
		close(fd);
	free(path);
	return NULL;
}

struct view_side *view_side_open(const char *report, const struct view_identity *id, uint8_t **dir,
				 size_t *len)
{
	struct view_side *s = NULL;

	for (int place = 0; place < 2 && !s; place++)
		s = open_one(view_beside(report, ".view", place), id, dir, len);
	return s;
}

int view_side_finish(struct view_side *s, const struct view_identity *id, const uint8_t *dir,
		     size_t len)
{
	struct super super;
	char name[PATH_MAX];

	memset(&super, 0, sizeof(super));
	memcpy(super.magic, FILE_MAGIC, 8);
	super.version = VERSION;
	super.id = *id;
	super.dir_at = s->end;
	super.dir_len = len;
	super.dir_crc = view_crc(0, dir, len);
	super.file_len = s->end + len;
	super.crc = view_crc(0, &super, sizeof(super));
	if (!s->path)
		return 0;
	snprintf(name, sizeof(name), "%s.%d.new", s->path, (int)getpid());
	if (write_at(s->fd, dir, len, s->end) < 0 || fdatasync(s->fd) < 0 ||
	    write_at(s->fd, &super, sizeof(super), 0) < 0 || rename(name, s->path) < 0) {
		unlink(name);
		return -1;
	}
	return 0;
}

void view_side_close(struct view_side *s)
{
	char name[PATH_MAX];

	if (!s)
		return;
	if (s->path) { /* one that was not finished */
		snprintf(name, sizeof(name), "%s.%d.new", s->path, (int)getpid());
		unlink(name);
	}
	for (struct view_page *p = s->newest, *older; p; p = older) {
		older = p->older;
		free(p);
	}
	close(s->fd);
	for (int i = 0; i < VIEW_CLASSES; i++)
		free(s->free[i]);
	pthread_mutex_destroy(&s->lock);
	free(s->path);
	free(s);
}

uint64_t view_side_bytes(const struct view_side *s)
{
	return s->end;
}

/* ---- extents ---- */

view_ref view_side_room(struct view_side *s, unsigned class)
{
	view_ref ref = s->end | class;

	if (s->free_cnt[class] > 0)
		return s->free[class][--s->free_cnt[class]];
	s->end += view_class_bytes[class];
	return ref;
}

int view_side_write(struct view_side *s, view_ref ref, uint8_t *data, uint32_t used, uint32_t lane,
		    uint32_t level)
{
	struct view_extent_head h = {
		.magic = EXTENT_MAGIC, .used = used, .lane = lane, .level = level, .self = ref};
	uint64_t at = VIEW_REF_OFFSET(ref);
	uint32_t len = view_class_bytes[VIEW_REF_CLASS(ref)];

	memcpy(data, &h, sizeof(h));
	h.crc = view_crc(0, data + 8, used - 8);
	memcpy(data, &h, sizeof(h));
	/* The last extent of the file is written to its full length. */
	return write_at(s->fd, data, at + len >= s->end ? len : used, at);
}

static size_t slot_of(view_ref ref)
{
	return hash_u64(ref >> 2) % SLOTS;
}

static void unchain(struct view_side *s, struct view_page *page)
{
	struct view_page **at = &s->slots[slot_of(page->ref)];

	while (*at != page)
		at = &(*at)->next;
	*at = page->next;
}

static void unlist(struct view_side *s, struct view_page *p)
{
	*(p->newer ? &p->newer->older : &s->newest) = p->older;
	*(p->older ? &p->older->newer : &s->oldest) = p->newer;
}

static void list_newest(struct view_side *s, struct view_page *p)
{
	p->newer = NULL;
	p->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = p;
	s->newest = p;
}

static size_t page_bytes(view_ref ref)
{
	return sizeof(struct view_page) + view_class_bytes[VIEW_REF_CLASS(ref)] + 16;
}

static void drop(struct view_side *s, struct view_page *p)
{
	if (!p->is_stale)
		unchain(s, p);
	unlist(s, p);
	s->bytes -= page_bytes(p->ref);
	free(p);
}

static void make_room(struct view_side *s)
{
	for (struct view_page *p = s->oldest, *newer; p && s->bytes > VIEW_CACHE_MAX; p = newer) {
		newer = p->newer;
		if (p->pins == 0)
			drop(s, p);
	}
}

void view_side_forget(struct view_side *s, view_ref ref, bool is_free)
{
	unsigned class = VIEW_REF_CLASS(ref);
	struct view_page *p;

	pthread_mutex_lock(&s->lock);
	/* Two threads that read the extent at once have left two pages. */
	do {
		for (p = s->slots[slot_of(ref)]; p && p->ref != ref; p = p->next)
			;
		if (p && p->pins == 0)
			drop(s, p);
		else if (p) {
			unchain(s, p);
			p->is_stale = true;
		}
	} while (p);
	pthread_mutex_unlock(&s->lock);
	if (is_free &&
	    grow(&s->free[class], s->free_cnt[class], &s->free_room[class], sizeof(view_ref)))
		s->free[class][s->free_cnt[class]++] = ref;
}

static struct view_page *load(struct view_side *s, view_ref ref, uint32_t lane, uint32_t level)
{
	uint32_t room = view_class_bytes[VIEW_REF_CLASS(ref)];
	struct view_page *p = malloc(page_bytes(ref));
	uint8_t *data = (uint8_t *)(p + 1);
	struct view_extent_head h;

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	memset(data + room, 0, 16);
	if (read_at(s->fd, data, VIEW_EXTENT_HEAD, VIEW_REF_OFFSET(ref)) < 0)
		goto no;
	memcpy(&h, data, sizeof(h));
	if (h.magic != EXTENT_MAGIC || h.used < VIEW_EXTENT_HEAD || h.used > room ||
	    h.self != ref || h.lane != lane || h.level != level)
		goto no;
	if (read_at(s->fd, data + VIEW_EXTENT_HEAD, h.used - VIEW_EXTENT_HEAD,
		    VIEW_REF_OFFSET(ref) + VIEW_EXTENT_HEAD) < 0 ||
	    view_crc(0, data + 8, h.used - 8) != h.crc)
		goto no;
	memset(data + h.used, 0, room - h.used);
	p->data = data;
	p->used = h.used;
	p->ref = ref;
	return p;
no:
	free(p);
	return NULL;
}

struct view_page *view_page_get(struct view_side *s, view_ref ref, uint32_t used, uint32_t lane,
				uint32_t level)
{
	struct view_page *p, *made;

	pthread_mutex_lock(&s->lock);
	for (p = s->slots[slot_of(ref)]; p && p->ref != ref; p = p->next)
		;
	if (p && p->used < used) { /* it has grown since it was read */
		unchain(s, p);
		p->is_stale = true;
		p = NULL;
	}
	if (p) {
		p->pins++;
		if (p != s->newest) {
			unlist(s, p);
			list_newest(s, p);
		}
		pthread_mutex_unlock(&s->lock);
		return p;
	}
	pthread_mutex_unlock(&s->lock);
	made = load(s, ref, lane, level);
	if (!made || made->used < used) {
		free(made);
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	made->pins = 1;
	/* Another thread may have read the extent, too: the later page is found first. */
	made->next = s->slots[slot_of(ref)];
	s->slots[slot_of(ref)] = made;
	list_newest(s, made);
	s->bytes += page_bytes(ref);
	make_room(s);
	pthread_mutex_unlock(&s->lock);
	return made;
}

void view_page_put(struct view_side *s, struct view_page *page)
{
	if (!page)
		return;
	pthread_mutex_lock(&s->lock);
	page->pins--;
	if (page->is_stale && page->pins == 0)
		drop(s, page);
	pthread_mutex_unlock(&s->lock);
}

int view_identity_of(const char *path, struct view_identity *id)
{
	uint8_t head[4096] = {0};
	char log[PATH_MAX];
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	ssize_t got = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;

	memset(id, 0, sizeof(*id));
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return -1;
	id->size = (uint64_t)st.st_size;
	id->head_crc = view_crc(0, head, (size_t)got);
	snprintf(log, sizeof(log), "%s-wal", path);
	if (stat(log, &st) == 0)
		id->log_size = (uint64_t)st.st_size;
	return 0;
}
