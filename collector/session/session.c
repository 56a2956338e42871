/*
 * session.c - makes and removes the session directory.
 *
 * The control file must have all its blocks before a program maps it: a hole on a full tmpfs would be a SIGBUS inside
 * the traced program.
 */
#include "collector/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/base/hash.h"

/*
 * Programs that root traces may change their user and exec: they must still find the session. Others may connect,
 * too; intake.c decides.
 */
static bool is_for_all(void)
{
	return geteuid() == 0;
}

static int make_control(struct session *s, const struct sl_session *settings)
{
	char path[SESSION_DIR_MAX + 16];
	ssize_t n;
	int fd, err;

	snprintf(path, sizeof(path), "%s/control", s->dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* Written, the page has its room, and on a disk no block yet, which would take a millisecond to free. */
	n = write(fd, settings, sizeof(*settings));
	err = n < 0 ? -errno : n < (ssize_t)sizeof(*settings) ? -ENOSPC : 0;
	if (err)
		goto close_fd;
	s->control = mmap(NULL, sizeof(*s->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->control == MAP_FAILED) {
		err = -errno;
		s->control = NULL;
		goto close_fd;
	}
	if (is_for_all())
		fchmod(fd, 0644);
close_fd:
	close(fd);
	return err;
}

/* A socket in the session's folder that others cannot connect to before chmod(). The descriptor, or -errno. */
static int listen_at(const char *dir, const char *name, int backlog)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.96s/%s", dir, name);
	if (fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    listen(fd, backlog) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int make_sockets(struct session *s)
{
	char path[SESSION_DIR_MAX + 8];

	/* A deep backlog: 500 processes may start at once, and none shall wait. */
	s->listen_fd = listen_at(s->dir, "socket", 4096);
	if (s->listen_fd < 0)
		return s->listen_fd;
	snprintf(path, sizeof(path), "%s/socket", s->dir);
	if (is_for_all())
		chmod(path, 0666);
	/* Here and not in the keeper: `recover` finds the keeper of a collector killed a moment ago, however busy the machine. */
	s->keeper_fd = listen_at(s->dir, "keeper", 4);
	return s->keeper_fd < 0 ? s->keeper_fd : 0;
}

static void close_sockets(struct session *s)
{
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->keeper_fd >= 0)
		close(s->keeper_fd);
	s->listen_fd = s->keeper_fd = -1;
}

char *session_db_path(const struct session *s)
{
	char *path;

	return asprintf(&path, "%s/next.sqlite", s->dir) < 0 ? NULL : path;
}

int session_folder_open(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	unsigned uid, hex;
	struct stat st;
	int fd, end = 0;

	if (!slash || strlen(dir) >= SESSION_DIR_MAX ||
	    sscanf(slash + 1, "sightline-%u-%8x%n", &uid, &hex, &end) != 2 || slash[1 + end] ||
	    uid != geteuid())
		return -EPERM;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == uid && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

int session_variable(const char *dir, char *value, size_t size)
{
	int folder = session_folder_open(dir), len, err = 0;
	struct stat st;

	if (folder < 0)
		return folder;
	if (fstat(folder, &st) < 0)
		err = -errno;
	close(folder);
	if (err)
		return err;
	len = snprintf(value, size, SL_SESSION_FORMAT, dir, (uint64_t)st.st_dev,
		       (uint64_t)st.st_ino);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

void session_variable_cut(char *value)
{
	for (int i = 0; i < 2; i++) {
		char *colon = strrchr(value, ':');

		if (colon)
			*colon = 0;
	}
}

void session_note_report(struct session *s, const char *report)
{
	uint64_t hash = hash_text(report);
	size_t len = strlen(report);
	int folder, fd;

	/* Most calls bring the name that is noted already. */
	if (s->noted == hash)
		return;
	folder = session_folder_open(s->dir);
	if (folder < 0)
		return;
	s->noted = 0;
	unlinkat(folder, "report", 0);
	fd = *report ? openat(folder, "report",
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
		     : -1;
	close(folder);
	if (fd < 0)
		return;
	if (write(fd, report, len) == (ssize_t)len)
		s->noted = hash;
	else
		(void)!ftruncate(fd, 0);
	close(fd);
}

void session_unlink(const char *dir)
{
	static const char *const names[] = {"control",
					    "socket",
					    "keeper",
					    "command",
					    "name",
					    "report",
					    "python",
					    "libtrace.so",
					    "libtrace-cuda.so",
					    "next.sqlite",
					    "next.sqlite-wal",
					    "next.sqlite-shm",
					    "next.sqlite-journal"};
	int folder = session_folder_open(dir);

	if (folder < 0)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(folder, names[i], 0);
	close(folder);
	rmdir(dir);
}

static bool is_refused(const char *path)
{
	return strpbrk(path, SL_PRELOAD_REFUSED) != NULL;
}

/* Links to the two libraries beside @preload, in the session's folder. */
static int link_libraries(const struct session *s, const char *preload)
{
	static const char *const names[] = {"libtrace.so", "libtrace-cuda.so"};
	const char *slash = strrchr(preload, '/');
	int folder = session_folder_open(s->dir), err = 0;
	char target[PATH_MAX];

	if (folder < 0)
		return folder;
	for (size_t i = 0; slash && !err && i < sizeof(names) / sizeof(*names); i++) {
		if (i == 0)
			snprintf(target, sizeof(target), "%s", preload);
		else
			snprintf(target, sizeof(target), "%.*s/%s", (int)(slash - preload), preload,
				 names[i]);
		if (symlinkat(target, folder, names[i]) < 0)
			err = -errno;
	}
	close(folder);
	return err;
}

bool session_preload(const char *dir, const char *preload, char *path, size_t size)
{
	int len = is_refused(preload) ? snprintf(path, size, "%s/libtrace.so", dir)
				      : snprintf(path, size, "%s", preload);

	return len >= 0 && (size_t)len < size && !is_refused(path) && access(path, R_OK) == 0;
}

bool session_can_link(const char *preload)
{
	return strlen(preload) < sizeof(((struct sl_session *)0)->preload_path) &&
	       !(session_base() && is_refused(session_base()));
}

static int create_in(struct session *s, const struct sl_session *settings, const char *base)
{
	bool needs_link = is_refused(settings->preload_path);
	uint32_t random;
	int len, err;

	if (!base || base[0] != '/')
		return -ENOENT;
	/* The next place may do. */
	if (needs_link && is_refused(base) && base != session_base())
		return -EINVAL;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	len = snprintf(s->dir, sizeof(s->dir), "%s/sightline-%u-%08x", base, (unsigned)getuid(),
		       random);
	if (len < 0 || (size_t)len >= sizeof(s->dir))
		return -ENAMETOOLONG;
	if (mkdir(s->dir, 0700) < 0)
		return -errno;
	if (is_for_all())
		chmod(s->dir, 0711);
	err = make_control(s, settings);
	if (!err)
		err = make_sockets(s);
	if (!err && needs_link)
		err = link_libraries(s, settings->preload_path);
	if (err) {
		if (s->control)
			munmap(s->control, sizeof(*s->control));
		s->control = NULL;
		close_sockets(s);
		session_unlink(s->dir);
	}
	return err;
}

const char *session_base(void)
{
	const char *base = getenv("SIGHTLINE_SESSIONS");

	return base && base[0] == '/' ? base : NULL;
}

int session_create(struct session *s, const struct sl_session *settings, const char *report,
		   char *why, size_t why_len)
{
	char folder[SESSION_DIR_MAX] = "";
	const char *runtime =
		is_for_all() ? NULL : getenv("XDG_RUNTIME_DIR"); /* root's is for root alone */
	const char *base[] = {runtime, getenv("TMPDIR"), "/tmp", "/dev/shm", folder};
	const char *slash = report ? strrchr(report, '/') : NULL;
	int err = -ENOENT;

	memset(s, 0, sizeof(*s));
	s->listen_fd = s->keeper_fd = -1;
	if (slash && (size_t)(slash - report) < sizeof(folder))
		memcpy(folder, report, (size_t)(slash - report));
	if (session_base()) {
		err = create_in(s, settings, session_base());
		if (err)
			snprintf(why, why_len,
				 "no session can be made in the folder that SIGHTLINE_SESSIONS "
				 "names, %s: %s",
				 session_base(), strerror(-err));
		return err;
	}
	for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++) {
		err = create_in(s, settings, base[i]);
		if (!err)
			return 0;
	}
	snprintf(why, why_len,
		 "no place for the session directory (tried XDG_RUNTIME_DIR, TMPDIR, /tmp, "
		 "/dev/shm and the report's folder): %s; set TMPDIR to a short, writable path",
		 strerror(-err));
	return err;
}

int session_adopt(struct session *s, const char *dir)
{
	int folder = session_folder_open(dir), fd, err = 0;
	struct stat st;

	memset(s, 0, sizeof(*s));
	s->listen_fd = s->keeper_fd = -1;
	if (folder < 0)
		return folder;
	memcpy(s->dir, dir, strlen(dir) + 1);
	fd = openat(folder, "control", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	close(folder);
	if (err)
		return err;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (size_t)st.st_size < sizeof(*s->control)) {
		err = -EPROTO;
		goto close_fd;
	}
	s->control = mmap(NULL, sizeof(*s->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->control == MAP_FAILED) {
		err = -errno;
		s->control = NULL;
	} else if (s->control->magic != SL_SESSION_MAGIC ||
		   s->control->wire_version != SL_WIRE_VERSION) {
		munmap(s->control, sizeof(*s->control));
		s->control = NULL;
		err = -EPROTO;
	}
close_fd:
	close(fd);
	return err;
}

void session_remove(struct session *s)
{
	if (s->control) {
		__atomic_store_n(&s->control->state, SL_SESSION_ENDED, __ATOMIC_RELEASE);
		munmap(s->control, sizeof(*s->control));
		s->control = NULL;
	}
	close_sockets(s);
	if (s->dir[0])
		session_unlink(s->dir);
	s->dir[0] = 0;
}
