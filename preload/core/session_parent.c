/*
 * session_parent.c - finds the session of the nearest traced ancestor, for a process without SIGHTLINE_SESSION.
 *
 * Programs that read their environment off the initial stack (Go), and exec by system calls, hand on the one that they were started
 * with. That of a bare preload's root process has no session. But /proc/PID/maps of a traced process has the session's control page,
 * which it maps read-only, as the collector does not. A pid may be another process's at any time, an open folder of /proc may not.
 */
#include "preload/core/session_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/base/state.h"
#include "preload/wire/session.h"
#include "preload/wire/sys.h"

#define ANCESTORS_MAX 256

static char room[8192]; /* for lines of maps */
static char variable[sizeof(sl_global.session_env)];

/* "PID (NAME) STATE PARENT ...": the name may hold anything. */
static unsigned parent_of(long process)
{
	char text[512];
	long fd = sl_sys4(SYS_openat, process, "stat", O_RDONLY | O_CLOEXEC, 0), n;
	const char *c;
	unsigned pid = 0;

	if (fd < 0)
		return 0;
	n = sl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	sl_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	c = strrchr(text, ')');
	if (!c || strlen(c) < 5)
		return 0;
	for (c += 4; *c >= '0' && *c <= '9'; c++)
		pid = pid * 10 + (unsigned)(*c - '0');
	return pid;
}

static long open_process(unsigned pid)
{
	char path[24] = "/proc/";

	sl_put_number(path + strlen(path), pid);
	return sl_sys4(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

static char *put_hex(char *to, uint64_t v)
{
	int shift = 60;

	while (shift > 0 && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[v >> shift & 15];
	return to;
}

/* Makes the variable of the session in the folder @dir; "" where the folder has gone. */
static void make_variable(const char *dir, size_t len)
{
	struct stat st = {0};
	char *to = variable + len;

	variable[0] = 0;
	if (len + 2 * 17 + 1 > sizeof(variable))
		return;
	memcpy(variable, dir, len);
	*to = 0;
	if (sl_sys4(SYS_newfstatat, AT_FDCWD, variable, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		variable[0] = 0;
		return;
	}
	*to++ = ':';
	to = put_hex(to, st.st_dev);
	*to++ = ':';
	*put_hex(to, st.st_ino) = 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* What a line of maps shows of its process. */
enum shown {
	SHOWN_NOTHING,
	SHOWN_LOADED, /* it has this library */
	SHOWN_SESSION /* it has a session, which is in @variable */
};

static enum shown look_at(const char *line)
{
	static const char control[] = "/control";
	const char *path = strchr(line, '/'), *rights = strchr(line, ' ');
	size_t len = path ? strlen(path) : 0;
	const char *folder;

	if (!len || !rights || rights > path)
		return SHOWN_NOTHING;
	if (memcmp(rights, " r-xp ", 6) == 0)
		return ends_with(path, len, "/libtrace.so") ? SHOWN_LOADED : SHOWN_NOTHING;
	/* Of a session that is over the kernel adds " (deleted)". */
	if (memcmp(rights, " r--s ", 6) != 0 || !ends_with(path, len, control))
		return SHOWN_NOTHING;
	len -= sizeof(control) - 1;
	for (folder = path + len; folder > path && folder[-1] != '/'; folder--)
		;
	if (strncmp(folder, "sightline-", 10) != 0)
		return SHOWN_NOTHING;
	make_variable(path, len);
	return SHOWN_SESSION;
}

/* Looks at each line; one that is longer than the room is none of those that are sought. */
static enum shown look_at_maps(long process)
{
	long fd = sl_sys4(SYS_openat, process, "maps", O_RDONLY | O_CLOEXEC, 0), n;
	enum shown shown = SHOWN_NOTHING, line;
	size_t have = 0;
	char *begin, *end;

	if (fd < 0)
		return shown;
	while (shown != SHOWN_SESSION &&
	       (n = sl_sys3(SYS_read, fd, room + have, sizeof(room) - 1 - have)) > 0) {
		have += (size_t)n;
		room[have] = 0;
		for (begin = room; (end = strchr(begin, '\n')); begin = end + 1) {
			*end = 0;
			line = look_at(begin);
			shown = line > shown ? line : shown;
		}
		have = (size_t)(room + have - begin);
		if (have == sizeof(room) - 1)
			have = 0;
		memmove(room, begin, have);
	}
	sl_sys1(SYS_close, fd);
	return shown;
}

const char *sl_session_of_parent(void)
{
	long process = sl_sys4(SYS_openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC,
			       0),
	     above;
	enum shown shown = SHOWN_NOTHING;
	unsigned pid;

	variable[0] = 0;
	for (int steps = 0; process >= 0 && !shown && steps < ANCESTORS_MAX; steps++) {
		pid = parent_of(process);
		above = pid ? open_process(pid) : -1;
		/* Its parent has ended in between. */
		if (above >= 0 && parent_of(process) != pid) {
			sl_sys1(SYS_close, above);
			continue;
		}
		if (above >= 0)
			shown = look_at_maps(above);
		sl_sys1(SYS_close, process);
		process = above;
	}
	if (process >= 0)
		sl_sys1(SYS_close, process);
	return shown ? variable : NULL;
}
