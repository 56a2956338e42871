/* container.c - the parts of a report file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "exporters/read/nsysrep/container.h"

#ifdef SL_HAVE_LZ4
#include <lz4.h>
#endif

static const char magic[] = "NVIDIA Tegra Profiler Report ";
static const char end_mark[] = "U3w[END]";
static const char text_mark[] = "QDTEXT";
#define MAGIC_LEN     (sizeof(magic) - 1)
#define TAIL_LEN      16u /* offset and end mark */
#define TAIL_MESSAGES 64u

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
	uint8_t *p = to;

	while (len) {
		ssize_t got = pread(fd, p, len, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		len -= (size_t)got;
		at += (uint64_t)got;
	}
	return true;
}

bool nr_is_report(int fd)
{
	char head[MAGIC_LEN];

	return read_at(fd, head, sizeof(head), 0) && memcmp(head, magic, MAGIC_LEN) == 0;
}

/* ---- what it is instead ---- */

static const char *kind_of(const uint8_t *head, size_t len)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *kind;
	} kinds[] = {
		{"\x1f\x8b", 2, "packed by gzip"},
		{"\x28\xb5\x2f\xfd", 4, "packed by zstd"},
		{"PK\x03\x04", 4, "a zip archive"},
		{"\xfd"
		 "7zXZ",
		 5, "packed by xz"},
		{"==", 2, "a log of nvprof"},
		{"version https://git-lfs", 23,
		 "the pointer that git-lfs has in place of the file"},
		{"\x89HDF", 4, "a file of HDF5"},
	};
	unsigned seen[256] = {0}, odd = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (len >= kinds[i].len && memcmp(head, kinds[i].bytes, kinds[i].len) == 0)
			return kinds[i].kind;
	for (size_t i = 0; i < len; i++)
		seen[head[i]]++;
	for (unsigned i = 0; i < 256; i++)
		odd += seen[i] > 0;
	/* Of 1024 random bytes, 251 values of 256 occur; of text and of tables far fewer do. */
	return len >= 1024 && odd > 235 ? "encrypted or packed, by the look of its bytes" : NULL;
}

const char *nr_kind(int fd)
{
	uint8_t head[1024];
	ssize_t got = pread(fd, head, sizeof(head), 0);

	return kind_of(head, got > 0 ? (size_t)got : 0);
}

void nr_say_foreign(int fd, const char *path, char *why)
{
	const char *kind = nr_kind(fd);

	snprintf(why, NR_WHY,
		 "%s is no report of Nsight Systems: %s%s; if nsys wrote it all the same, 'nsys "
		 "export "
		 "--type sqlite' makes a database of it",
		 path, kind ? "it is " : "", kind ? kind : "its first bytes are not those of one");
}

static void say_newer(const struct nr_file *f, const char *what, char *why)
{
	const char *version = *f->product ? f->product : f->container;

	snprintf(why, NR_WHY,
		 "%s has %s, which is newer than known here (written by nsys %.64s): 'nsys export "
		 "--type sqlite' of that version or a later one makes a database of it",
		 f->path, what, version);
}

/* ---- directory ---- */

static int add_part(struct nr_file *f, struct wire w, uint64_t end, char *why)
{
	struct nr_part *part = &f->part[f->part_cnt];
	struct wire_field field;
	size_t len = 0;

	*part = (struct nr_part){0};
	while (wire_next(&w, &field)) {
		if (field.number == 1 && field.is_bytes) {
			len = field.len < sizeof(part->name) ? field.len : sizeof(part->name) - 1;
			memcpy(part->name, field.data, len);
			part->name[len] = 0;
		} else if (field.number == 2) {
			part->at = field.value;
		} else if (field.number == 3) {
			part->size = field.value;
		}
	}
	if (w.bad || part->at > end || part->size > end - part->at) {
		snprintf(why, NR_WHY, "%s is damaged: its part '%.40s' lies outside of the file",
			 f->path, part->name);
		return -1;
	}
	f->part_cnt++;
	return 0;
}

static int read_directory(struct nr_file *f, char *why)
{
	uint8_t tail[TAIL_LEN];
	uint64_t at;
	struct nr_bytes bytes = {0};
	struct wire_field field;
	struct wire w;
	int rc = 0;

	if (f->size < MAGIC_LEN + TAIL_LEN ||
	    !read_at(f->fd, tail, sizeof(tail), f->size - TAIL_LEN) ||
	    memcmp(tail + 8, end_mark, 8) != 0) {
		snprintf(why, NR_WHY,
			 "%s is cut off, or still being written: the list of its parts, at its "
			 "end, is "
			 "missing, so nothing of it can be read, by nsys either (%llu bytes are "
			 "there)",
			 f->path, (unsigned long long)f->size);
		return -1;
	}
	memcpy(&at, tail, sizeof(at));
	if (at > f->size - TAIL_LEN) {
		snprintf(why, NR_WHY,
			 "%s is damaged: the list of its parts lies outside of the file", f->path);
		return -1;
	}
	if (nr_read(f, at, f->size - TAIL_LEN - at, &bytes, why) < 0)
		return -1;
	w = wire_of(bytes.data, bytes.len);
	while (rc == 0 && wire_next(&w, &field))
		if (field.number == 1 && field.is_bytes && f->part_cnt < NR_PARTS)
			rc = add_part(f, wire_in(&field), at, why);
	if (rc == 0 && w.bad) {
		snprintf(why, NR_WHY, "%s is damaged: the list of its parts breaks off", f->path);
		rc = -1;
	}
	free(bytes.data);
	return rc;
}

/* ---- version ---- */

/* "2024@5@1@113-245134619542v0." follows the magic, or "1." in files from before 2023.3. */
static bool read_container(struct nr_file *f)
{
	char line[sizeof(f->container)] = {0};
	ssize_t got = pread(f->fd, line, sizeof(line) - 1, MAGIC_LEN);
	char *dot = got > 0 ? memchr(line, '.', (size_t)got) : NULL;

	if (!dot)
		return false;
	*dot = 0;
	for (const char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			return false;
	memcpy(f->container, line, (size_t)(dot - line) + 1);
	return true;
}

static unsigned release_of(const char *text, char between)
{
	char *end;
	unsigned long year = strtoul(text, &end, 10), part;

	if (year < 2000 || year > 2200 || *end != between)
		return 0;
	part = strtoul(end + 1, &end, 10);
	return part < 100 ? (unsigned)(year * 100 + part) : 0;
}

static void read_product(struct nr_file *f)
{
	const struct nr_part *part = nr_find_part(f, "UI Data");
	struct nr_bytes bytes = {0};
	struct wire_field field;
	char why[NR_WHY];

	if (part && nr_read(f, part->at, part->size, &bytes, why) == 0 &&
	    wire_find(wire_of(bytes.data, bytes.len), 6, &field) && field.is_bytes &&
	    field.len < sizeof(f->product)) {
		memcpy(f->product, field.data, field.len);
		f->product[field.len] = 0;
	}
	for (char *p = f->product; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*f->product = 0;
	free(bytes.data);
	f->release = release_of(f->container, '@');
	if (!f->release)
		f->release = release_of(f->product, '.');
}

const struct nr_part *nr_find_part(const struct nr_file *f, const char *name)
{
	for (unsigned i = 0; i < f->part_cnt; i++)
		if (strcmp(f->part[i].name, name) == 0)
			return &f->part[i];
	return NULL;
}

int nr_open(struct nr_file *f, const char *path, char *why)
{
	struct stat st;

	*f = (struct nr_file){.path = path, .fd = -1};
	f->fd = plain_file_open(path, true, &st);
	if (f->fd < 0) {
		snprintf(why, NR_WHY, "%s: %s", path, strerror(errno));
		return -1;
	}
	f->size = (uint64_t)st.st_size;
	if (f->size == 0)
		snprintf(why, NR_WHY, "%s is empty", path);
	else if (!nr_is_report(f->fd))
		nr_say_foreign(f->fd, path, why);
	else if (!read_container(f))
		snprintf(why, NR_WHY, "%s is cut off or damaged: its first line does not end",
			 path);
	else if (read_directory(f, why) == 0) {
		read_product(f);
		if (nr_find_part(f, NR_CONTENTS))
			return 0;
		snprintf(why, NR_WHY, "%s has no part '%s': there are no events in it", path,
			 NR_CONTENTS);
	}
	nr_close(f);
	return -1;
}

void nr_close(struct nr_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int nr_read(const struct nr_file *f, uint64_t at, uint64_t size, struct nr_bytes *to, char *why)
{
	*to = (struct nr_bytes){0};
	if (size > NR_MESSAGE) {
		snprintf(why, NR_WHY,
			 "%s is damaged: a part of it has %llu bytes, not at most %llu", f->path,
			 (unsigned long long)size, (unsigned long long)NR_MESSAGE);
		return -1;
	}
	to->data = malloc(size ? size : 1);
	to->len = size;
	if (to->data && read_at(f->fd, to->data, size, at))
		return 0;
	if (to->data)
		snprintf(why, NR_WHY, "%s is cut off: it ends within a part", f->path);
	else
		snprintf(why, NR_WHY, "out of memory");
	free(to->data);
	*to = (struct nr_bytes){0};
	return -1;
}

/* ---- contents ---- */

/* A length in front of a message or a block. False: there is none. */
static bool read_length(const struct nr_contents *c, uint64_t *at, uint64_t *len)
{
	uint8_t bytes[10];
	uint64_t left = c->end - *at, size = left < sizeof(bytes) ? left : sizeof(bytes);
	struct wire w = wire_of(bytes, size);

	if (size == 0 || !read_at(c->file->fd, bytes, size, *at))
		return false;
	*len = wire_varint(&w);
	*at += (uint64_t)(w.p - bytes);
	return !w.bad;
}

static int read_message(struct nr_contents *c, struct nr_bytes *to, char *why)
{
	uint64_t at = c->at, len;

	if (!read_length(c, &at, &len) || len > c->end - at) {
		snprintf(why, NR_WHY, "%s is damaged: a message in it is longer than its part",
			 c->file->path);
		return -1;
	}
	if (nr_read(c->file, at, len, to, why) < 0)
		return -1;
	c->at = at + len;
	return 0;
}

static int read_header(struct nr_contents *c, char *why)
{
	struct wire w = wire_of(c->header_bytes.data, c->header_bytes.len);
	struct wire_field field;
	char codec[32] = "";

	while (wire_next(&w, &field)) {
		if (field.number == 1)
			c->header.events = field.value;
		else if (field.number == 3)
			c->header.strings = field.value;
		else if (field.number == 5)
			c->header.threads = field.value;
		else if (field.number == 9 && field.is_bytes)
			snprintf(codec, sizeof(codec), "%.*s",
				 (int)(field.len < 31 ? field.len : 31), (const char *)field.data);
	}
	if (w.bad) {
		snprintf(why, NR_WHY, "%s is damaged: its header breaks off", c->file->path);
		return -1;
	}
	if (strcmp(codec, "lz4") != 0) {
		char what[64];

		snprintf(what, sizeof(what), "events packed by '%s'", codec);
		say_newer(c->file, what, why);
		return -1;
	}
	return 0;
}

int nr_contents_begin(struct nr_contents *c, const struct nr_file *f, char *why)
{
	const struct nr_part *part = nr_find_part(f, NR_CONTENTS);
	char mark[8];

	*c = (struct nr_contents){.file = f, .at = part->at, .end = part->at + part->size};
	if (part->size < sizeof(mark) || !read_at(f->fd, mark, sizeof(mark), c->at) ||
	    memcmp(mark, text_mark, sizeof(text_mark) - 1) != 0) {
		snprintf(why, NR_WHY, "%s is damaged: its events do not begin as events do",
			 f->path);
		return -1;
	}
	if (memcmp(mark + 6, "00", 2) != 0) {
		char what[64];

		snprintf(what, sizeof(what), "events of container version '%.2s'", mark + 6);
		say_newer(f, what, why);
		return -1;
	}
	c->at += sizeof(mark);
	if (read_message(c, &c->target, why) < 0 || read_message(c, &c->header_bytes, why) < 0)
		return -1;
	return read_header(c, why);
}

uint64_t nr_mapped_from = (uint64_t)32 << 20;

static void free_room(struct nr_room *r)
{
	if (r->is_mapped)
		munmap(r->data, r->size);
	else
		free(r->data);
	*r = (struct nr_room){0};
}

/* A file whose space is taken now: a page that has none would be a signal. NULL with errno. */
static void *map_room(size_t size)
{
	const char *tmp = getenv("TMPDIR");
	void *data = MAP_FAILED;
	int fd = open(tmp && *tmp == '/' ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int err = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)size);

	if (!err) {
		data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		err = errno;
	}
	if (fd >= 0)
		close(fd);
	errno = err;
	return data == MAP_FAILED ? NULL : data;
}

/* What was in it is lost. */
static bool take_room(struct nr_room *r, uint64_t size)
{
	if (size <= r->size)
		return true;
	free_room(r);
	r->is_mapped = size >= nr_mapped_from;
	r->data = r->is_mapped ? map_room(size) : malloc(size);
	if (!r->data) {
		r->is_mapped = false;
		return false;
	}
	r->size = size;
	return true;
}

#ifdef SL_HAVE_LZ4
static int64_t unpack(struct nr_contents *c, uint64_t packed, uint64_t plain)
{
	return LZ4_decompress_safe((const char *)c->packed.data, (char *)c->block.data, (int)packed,
				   (int)plain);
}
#endif

int64_t nr_contents_block(struct nr_contents *c, char *why)
{
	uint64_t at = c->at, packed = 0, plain = 0;
	int64_t got = -1;

	/* LZ4 makes at most 255 bytes of one. */
	if (!read_length(c, &at, &packed) || !read_length(c, &at, &plain) || packed > c->end - at ||
	    packed >= NR_BLOCK || plain >= NR_BLOCK || plain > packed * 255 + 64) {
		snprintf(why, NR_WHY,
			 "%s is damaged: a block of events at byte %llu has no length that can be",
			 c->file->path, (unsigned long long)c->at);
		return -1;
	}
	if (!take_room(&c->packed, packed + 1) || !take_room(&c->block, plain + 1)) {
		snprintf(why, NR_WHY, "no room for a block of %llu bytes: %s",
			 (unsigned long long)plain, strerror(errno));
		return -1;
	}
	if (!read_at(c->file->fd, c->packed.data, packed, at)) {
		snprintf(why, NR_WHY, "%s is cut off: it ends within a block", c->file->path);
		return -1;
	}
#ifdef SL_HAVE_LZ4
	got = unpack(c, packed, plain);
#else
	snprintf(why, NR_WHY,
		 "%s: this sightline was built without LZ4 (liblz4-dev), so it cannot "
		 "read it; 'nsys export --type sqlite' makes a database of it",
		 c->file->path);
	return -1;
#endif
	if (got < 0 || (uint64_t)got != plain) {
		snprintf(why, NR_WHY, "%s is damaged: the block at byte %llu cannot be unpacked",
			 c->file->path, (unsigned long long)c->at);
		return -1;
	}
	c->at = at + packed;
	return got;
}

bool nr_contents_is_tail(const struct nr_contents *c)
{
	uint64_t at = c->at, len;

	for (unsigned cnt = 0; at < c->end; cnt++) {
		if (cnt == TAIL_MESSAGES || !read_length(c, &at, &len) || len > c->end - at)
			return false;
		at += len;
	}
	return true;
}

int nr_contents_message(struct nr_contents *c, struct nr_bytes *to, char *why)
{
	*to = (struct nr_bytes){0};
	if (c->at >= c->end)
		return 0;
	return read_message(c, to, why) < 0 ? -1 : 1;
}

void nr_contents_end(struct nr_contents *c)
{
	free(c->target.data);
	free(c->header_bytes.data);
	free_room(&c->packed);
	free_room(&c->block);
	*c = (struct nr_contents){0};
}
