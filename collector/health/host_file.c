/* host_file.c - files of /proc and /sys: opened once, read whole, taken apart into lines and words. */
#include "collector/health/host_internal.h"
#include "collector/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_FIRST 16384u
#define TEXT_MOST  (4u << 20) /* /proc/stat of a machine with thousands of interrupts has less */

static int open_path(const struct host *h, const char *format, va_list args)
{
	char path[PATH_MAX];
	struct stat st;
	int len = snprintf(path, sizeof(path), "%s", h->root), more, fd, err;

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	more = vsnprintf(path + len, sizeof(path) - (size_t)len, format, args);
	if (more < 0 || (size_t)len + (size_t)more >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		return fd;
	close(fd);
	return err;
}

bool host_file_open(const struct host *h, struct host_file *file, const char *format, ...)
{
	va_list args;
	int fd;

	va_start(args, format);
	fd = open_path(h, format, args);
	va_end(args);
	*file = (struct host_file){.fd = fd < 0 ? -1 : fd, .err = fd < 0 ? -fd : 0};
	return fd >= 0;
}

void host_file_close(struct host_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static bool more_room(struct host *h)
{
	size_t cap = h->text.cap ? h->text.cap * 4 : TEXT_FIRST;
	char *bytes = cap > TEXT_MOST ? NULL : realloc(h->text.bytes, cap);

	if (!bytes)
		return false;
	h->text.bytes = bytes;
	h->text.cap = cap;
	return true;
}

/* Half a number would be a wrong one. */
static void cut_last_line(char *text)
{
	char *end = strrchr(text, '\n');

	*(end ? end : text) = '\0';
}

/* Files of the kernel give less than was asked for only at their end. A longer one than there is room for is cut. */
char *host_file_read(struct host *h, struct host_file *file)
{
	uint64_t before = (uint64_t)mono_ns();
	ssize_t len;

	if (file->fd < 0 || (!h->text.cap && !more_room(h)))
		return NULL;
	do
		len = pread(file->fd, h->text.bytes, h->text.cap - 1, 0);
	while (len == (ssize_t)h->text.cap - 1 && more_room(h));
	h->at = before + ((uint64_t)mono_ns() - before) / 2;
	if (len <= 0) {
		file->err = len < 0 ? errno : ENODATA;
		return NULL;
	}
	file->err = 0;
	h->text.bytes[len] = '\0';
	for (char *at = h->text.bytes; (at = memchr(at, 0, (size_t)(h->text.bytes + len - at)));)
		*at = '?';
	if (len == (ssize_t)h->text.cap - 1)
		cut_last_line(h->text.bytes);
	return h->text.bytes;
}

bool host_file_word(const struct host *h, char *word, size_t len, const char *format, ...)
{
	va_list args;
	ssize_t got;
	int fd;

	va_start(args, format);
	fd = open_path(h, format, args);
	va_end(args);
	if (fd < 0)
		return false;
	got = pread(fd, word, len - 1, 0);
	close(fd);
	if (got <= 0)
		return false;
	word[got] = '\0';
	memmove(word, word + strspn(word, " "), strlen(word + strspn(word, " ")) + 1);
	word[strcspn(word, " \t\n")] = '\0';
	return *word != 0;
}

bool host_is_there(const struct host *h, const char *format, ...)
{
	char path[PATH_MAX], below[PATH_MAX];
	va_list args;
	int len;

	va_start(args, format);
	vsnprintf(below, sizeof(below), format, args);
	va_end(args);
	len = snprintf(path, sizeof(path), "%s%s", h->root, below);
	return len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

char *host_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

char *host_word(char **line)
{
	char *word = *line + strspn(*line, " \t"), *end = word + strcspn(word, " \t");

	if (!*word)
		return NULL;
	*line = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

bool host_is_number(const char *word, uint64_t *n)
{
	uint64_t sum = 0;
	const char *p = word;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
			sum = UINT64_MAX;
	*n = (uint64_t)figure(sum);
	return p > word && !*p;
}

bool host_number(char **line, uint64_t *n)
{
	const char *word = host_word(line);

	return word && host_is_number(word, n);
}
