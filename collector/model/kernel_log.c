/* kernel_log.c - reads /dev/kmsg. */
#include "collector/model/kernel_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITIAL_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO: the kernel's own number of it */
#define RECORD_MOST       8192        /* bytes, as the kernel has it */
#define RECORDS_MOST      100000
#define READS_MOST        64 /* in the life of a collector: programs may die by the thousand */

int kernel_log_names(const char *text, uint32_t pid)
{
	static const char *const before[] = {"[", "process ", "pid=", "task ", "Killed process "};
	char number[16];
	size_t len = (size_t)snprintf(number, sizeof(number), "%u", pid);

	for (const char *at = strstr(text, number); at; at = strstr(at + 1, number)) {
		if (isdigit((unsigned char)at[len]))
			continue;
		for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
			size_t n = strlen(before[i]);

			if ((size_t)(at - text) >= n && memcmp(at - n, before[i], n) == 0 &&
			    (*before[i] != '[' || at[len] == ']'))
				return 1;
		}
	}
	return 0;
}

/* "PRIORITY,NUMBER,MICROSECONDS,FLAGS[,...];TEXT\n" and further lines, each behind a space. */
char *kernel_log_text(char *record, int64_t since)
{
	char *text = strchr(record, ';'), *end;
	unsigned long long us;

	if (!text || sscanf(record, "%*u,%*u,%llu,", &us) != 1 || us > INT64_MAX / 1000 ||
	    (int64_t)us * 1000 < since)
		return NULL;
	text++;
	end = strchr(text, '\n');
	if (end)
		*end = '\0';
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return text;
}

static int has_own_numbers(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && (uint64_t)st.st_ino == INITIAL_NAMESPACE;
}

void kernel_log_lines(uint32_t pid, int64_t since, kernel_log_line *line, void *ctx)
{
	static unsigned reads;
	char *kept[KERNEL_LOG_LINES] = {NULL}, record[RECORD_MOST + 1], *text;
	unsigned cnt = 0;
	int fd = reads++ < READS_MOST && has_own_numbers()
			 ? open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
			 : -1;

	for (int i = 0; fd >= 0 && i < RECORDS_MOST; i++) {
		ssize_t len = read(fd, record, RECORD_MOST);

		/* EPIPE: records were overwritten; the next read returns the oldest record left. */
		if (len < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (len <= 0)
			break;
		record[len] = '\0';
		text = kernel_log_text(record, since);
		if (!text || !kernel_log_names(text, pid))
			continue;
		free(kept[cnt % KERNEL_LOG_LINES]);
		kept[cnt++ % KERNEL_LOG_LINES] = strdup(text);
	}
	if (fd >= 0)
		close(fd);
	for (unsigned i = cnt > KERNEL_LOG_LINES ? cnt - KERNEL_LOG_LINES : 0; i < cnt; i++) {
		if (kept[i % KERNEL_LOG_LINES])
			line(ctx, kept[i % KERNEL_LOG_LINES]);
		free(kept[i % KERNEL_LOG_LINES]);
	}
}
