/*
 * session_folder.c - finds the session's folder again, and no other folder.
 *
 * Programs that outlive the session keep its name, and any user with the right to write to the folder above (/tmp) can take that name. So
 * the variable has the folder's device and inode, and the owner of folder and files must be trusted: the numbers of a folder
 * that has gone are given out again.
 *
 * Runs inside the program's calls, too: rules as in hook.c.
 */
#include "preload/core/session_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/base/libc.h"
#include "preload/base/state.h"
#include "preload/wire/session.h"
#include "preload/wire/sys.h"

/* Hexadecimal digits from @text to @end, which is neither empty nor longer than a number. */
static bool parse_hex(const char *text, const char *end, uint64_t *number)
{
	if (text >= end || end - text > 16)
		return false;
	for (*number = 0; text < end; text++) {
		bool is_digit = *text >= '0' && *text <= '9';

		if (!is_digit && (*text < 'a' || *text > 'f'))
			return false;
		*number = *number << 4 | (uint64_t)(is_digit ? *text - '0' : *text - 'a' + 10);
	}
	return true;
}

uint32_t sl_session_parse(const char *variable, uint64_t *device, uint64_t *inode)
{
	const char *end = variable + strlen(variable), *second = strrchr(variable, ':'), *first;

	for (first = second; first && first > variable && first[-1] != ':'; first--)
		;
	if (variable[0] != '/' || !first || first == variable ||
	    !parse_hex(first, second, device) || !parse_hex(second + 1, end, inode))
		return 0;
	return (uint32_t)(first - 1 - variable);
}

bool sl_session_is_of(uint32_t uid)
{
	return uid == 0 || uid == (uint32_t)sl_sys0(SYS_geteuid);
}

static bool is_private(const struct stat *st)
{
	return sl_session_is_of(st->st_uid) && !(st->st_mode & 022);
}

/* O_PATH: programs of other users may enter root's folder, but not list it. */
static long open_folder(void)
{
	const char *variable = strchr(sl_global.session_env, '=') + 1;
	char dir[sizeof(sl_global.session_env)];
	uint64_t device, inode;
	uint32_t len = sl_session_parse(variable, &device, &inode);
	struct stat st = {0};
	long fd, err;

	if (!len)
		return -EINVAL;
	memcpy(dir, variable, len);
	dir[len] = 0;
	fd = sl_sys4(SYS_openat, AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	err = sl_sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	if (err == 0 && st.st_dev == device && st.st_ino == inode && is_private(&st))
		return fd;
	sl_sys1(SYS_close, fd);
	return err < 0 ? err : -EPERM;
}

long sl_session_check(void)
{
	long fd = open_folder();

	if (fd >= 0)
		sl_sys1(SYS_close, fd);
	return fd < 0 ? fd : 0;
}

long sl_session_open(const char *name, uint64_t least)
{
	long folder = open_folder(), fd, err;
	struct stat st = {0};

	if (folder < 0)
		return folder;
	fd = sl_sys4(SYS_openat, folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	sl_sys1(SYS_close, folder);
	if (fd < 0)
		return fd;
	err = sl_sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	if (err == 0 && S_ISREG(st.st_mode) && is_private(&st) && (uint64_t)st.st_size >= least)
		return fd;
	sl_sys1(SYS_close, fd);
	return err < 0 ? err : -EPERM;
}
