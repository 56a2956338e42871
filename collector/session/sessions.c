/*
 * sessions.c - finds sessions, names them, and removes the files of dead ones.
 *
 * Everything read here may have been put there by another user (/tmp is shared): a directory counts only if it
 * belongs to the user whose number is in its name.
 */
#include "collector/session/sessions.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/base/plain_file.h"
#include "collector/options/output_name.h"

#define ORPHAN_MS 1000 /* a program waits for the answer */
#define STALE_S   60   /* a collector that has not named its session by then died on the way */

/* ---- one session ---- */

/* 0, or -EINVAL and a sentence in @why with the characters allowed in a name. */
static int session_name_check(const char *name, char *why, size_t why_len)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			len = 0;
	if (len > 0 && len < SESSION_NAME_MAX && name[0] != '.' && name[0] != '-')
		return 0;
	if (why)
		snprintf(why, why_len,
			 "'%.80s' is no name for a session: letters, digits, '-', '_' and '.', at "
			 "most %d, the first one no '.' or '-'",
			 name, SESSION_NAME_MAX - 1);
	return -EINVAL;
}

static void read_name(struct session_entry *e)
{
	char path[SESSION_DIR_MAX + 16];
	struct stat st;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/name", e->dir);
	fd = plain_file_open(path, false, &st);
	if (fd >= 0) {
		n = read(fd, e->name, sizeof(e->name) - 1);
		close(fd);
	}
	e->name[n > 0 ? n : 0] = 0;
	e->name[strcspn(e->name, "\n")] = 0;
	/* Not a name of Sightline's: it goes to the user's terminal. */
	if (session_name_check(e->name, NULL, 0) < 0)
		snprintf(e->name, sizeof(e->name), "-");
}

static void read_pid(struct session_entry *e)
{
	char path[SESSION_DIR_MAX + 16];
	struct sl_session s = {0};
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/control", e->dir);
	fd = plain_file_open(path, false, &st);
	if (fd < 0)
		return;
	if (pread(fd, &s, sizeof(s), 0) == sizeof(s) && s.magic == SL_SESSION_MAGIC)
		e->pid = (pid_t)s.collector_pid;
	close(fd);
}

static bool exists(const char *dir, const char *name)
{
	char path[SESSION_DIR_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* A process listens there: the collector, its keeper or `recover`. */
static bool takes_hellos(const char *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.99s/socket", dir);
	yes = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 || errno == EAGAIN;
	close(fd);
	return yes;
}

/* "sightline-UID-HEX": the user's number; false when it is called otherwise. */
static bool owner_of(const char *base, uid_t *uid)
{
	unsigned number, hex;
	int end = 0;

	if (sscanf(base, "sightline-%u-%8x%n", &number, &hex, &end) != 2 || base[end])
		return false;
	*uid = number;
	return true;
}

/* False: no session, not one to be seen, or (@name not NULL) not of that name. */
static bool look(struct session_entry *e, const char *dir, bool all, const char *name)
{
	const char *slash = strrchr(dir, '/');
	struct stat st;
	int fd;

	*e = (struct session_entry){0};
	if (!slash || strlen(dir) >= sizeof(e->dir) || !owner_of(slash + 1, &e->owner) ||
	    lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != e->owner)
		return false;
	if (e->owner != geteuid() && !(all && geteuid() == 0))
		return false;
	snprintf(e->dir, sizeof(e->dir), "%s", dir);
	read_name(e);
	if (name && strcmp(name, e->name) != 0)
		return false;
	fd = command_connect(dir, e->owner);
	e->is_alive = fd >= 0 || fd == -EAGAIN; /* as many wait as can: it is busy */
	if (fd >= 0)
		close(fd);
	read_pid(e);
	if (e->is_alive)
		return true;
	e->is_held = exists(dir, "rings") || takes_hellos(dir);
	/* A folder with neither rings nor a listener is removed, unless it is being made at this moment. */
	if (!e->is_held && e->owner == geteuid() &&
	    (exists(dir, "name") || time(NULL) - st.st_mtime > STALE_S)) {
		session_unlink(dir);
		return false;
	}
	return e->is_held && exists(dir, "name");
}

/* ---- all of them ---- */

struct scan {
	struct session_entry *list;
	size_t cnt, cap;
	bool all;
	const char *name; /* only these; NULL: whatever they are called */
};

static void add(struct scan *sc, const char *dir)
{
	struct session_entry e;

	for (size_t i = 0; i < sc->cnt; i++)
		if (strcmp(sc->list[i].dir, dir) == 0)
			return;
	if (!look(&e, dir, sc->all, sc->name))
		return;
	if (!grow(&sc->list, sc->cnt, &sc->cap, sizeof(*sc->list)))
		return;
	sc->list[sc->cnt++] = e;
}

static void scan_folder(struct scan *sc, const char *base)
{
	DIR *d = base && base[0] == '/' ? opendir(base) : NULL;
	char dir[SESSION_DIR_MAX];
	const struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (strncmp(e->d_name, "sightline-", 10) == 0 &&
		    (size_t)snprintf(dir, sizeof(dir), "%s/%s", base, e->d_name) < sizeof(dir))
			add(sc, dir);
	closedir(d);
}

/* /run/user/UID of this user, or of all; also where XDG_RUNTIME_DIR is not set (cron, ssh, su). */
static void scan_runtime(struct scan *sc)
{
	DIR *d = sc->all ? opendir("/run/user") : NULL;
	const struct dirent *e;
	char base[300];

	snprintf(base, sizeof(base), "/run/user/%u", (unsigned)geteuid());
	scan_folder(sc, base);
	if (!d)
		return;
	while ((e = readdir(d))) {
		snprintf(base, sizeof(base), "/run/user/%s", e->d_name);
		scan_folder(sc, base);
	}
	closedir(d);
}

/* Bound sockets of this network namespace: the last column is where. */
static void scan_sockets(struct scan *sc)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/'), *end;

		end = path ? strstr(path, "/command\n") : NULL;
		if (!end || end[9])
			continue;
		*end = 0;
		if (strlen(path) < SESSION_DIR_MAX)
			add(sc, path);
	}
	if (f)
		fclose(f);
}

static int by_life_and_name(const void *a, const void *b)
{
	const struct session_entry *x = a, *y = b;

	if (x->is_alive != y->is_alive)
		return x->is_alive ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t scan(struct session_entry **list, bool all, const char *name)
{
	struct scan sc = {.all = all, .name = name};

	if (session_base()) {
		scan_folder(&sc, session_base());
	} else {
		scan_folder(&sc, getenv("XDG_RUNTIME_DIR"));
		scan_runtime(&sc);
		scan_folder(&sc, getenv("TMPDIR"));
		scan_folder(&sc, "/tmp");
		scan_folder(&sc, "/dev/shm");
		scan_sockets(&sc);
	}
	if (sc.cnt)
		qsort(sc.list, sc.cnt, sizeof(*sc.list), by_life_and_name);
	*list = sc.list;
	return sc.cnt;
}

size_t sessions_scan(struct session_entry **list, bool all)
{
	return scan(list, all, NULL);
}

static void read_report(const char *dir, char *text, size_t size)
{
	char path[SESSION_DIR_MAX + 16];
	struct stat st;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/report", dir);
	fd = plain_file_open(path, false, &st);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
}

/* Neither collector nor keeper: their processes are gone, and the socket with them. */
static bool is_dead(const char *dir)
{
	struct session_entry e = {0};
	int folder = session_folder_open(dir);

	if (folder < 0)
		return false;
	close(folder);
	snprintf(e.dir, sizeof(e.dir), "%s", dir);
	read_pid(&e);
	return e.pid > 0 && kill(e.pid, 0) < 0 && errno == ESRCH && !exists(dir, "rings") &&
	       !takes_hellos(dir);
}

void sessions_report_dead(const struct session *own)
{
	const char *slash = strrchr(own->dir, '/');
	char base[SESSION_DIR_MAX], dir[SESSION_DIR_MAX], report[4096];
	const struct dirent *e;
	DIR *d;

	snprintf(base, sizeof(base), "%.*s", (int)(slash ? slash - own->dir : 0), own->dir);
	d = *base ? opendir(base) : NULL;
	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, "sightline-", 10) != 0 ||
		    (size_t)snprintf(dir, sizeof(dir), "%s/%s", base, e->d_name) >= sizeof(dir) ||
		    strcmp(dir, own->dir) == 0 || !is_dead(dir))
			continue;
		read_report(dir, report, sizeof(report));
		session_unlink(dir);
		/* Complete by now: recovered, or the collector was at its very end. */
		if (*report && access(report, F_OK) == 0)
			sl_warn("an earlier collector was killed together with its keeper, and "
				"what "
				"it had not read is lost; finish its report: sightline recover %s",
				report);
	}
	if (d)
		closedir(d);
}

size_t sessions_alive(void)
{
	struct session_entry *list = NULL;
	size_t cnt = sessions_scan(&list, false), alive = 0;

	while (alive < cnt && list[alive].is_alive)
		alive++;
	free(list);
	return alive;
}

bool session_of_orphan(uint32_t pid, struct session_entry *found)
{
	int64_t until = mono_ms() + ORPHAN_MS;
	static struct command p;
	struct session_entry *list = NULL;
	size_t cnt = sessions_scan(&list, false);
	char number[16];
	bool owns = false;

	snprintf(number, sizeof(number), "%u", pid);
	for (size_t i = 0; i < cnt && list[i].is_alive && !owns && mono_ms() < until; i++) {
		command_begin(&p);
		command_add(&p, "owns");
		command_add(&p, number);
		owns = command_ask(list[i].dir, list[i].owner, &p, ORPHAN_MS) == 0 &&
		       strcmp(p.word[1], "1") == 0;
		if (owns)
			*found = list[i];
	}
	free(list);
	return owns;
}

/* ---- names ---- */

#define LOCK_PATH_MAX 4200

/* The descriptor; -EAGAIN: its holder removed it at its end. */
static int lock_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600), err = 0;
	struct stat st, now;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		err = -EACCES;
	while (!err && flock(fd, LOCK_EX) < 0)
		err = errno == EINTR ? 0 : -EACCES;
	if (!err && (lstat(path, &now) < 0 || now.st_ino != st.st_ino || now.st_dev != st.st_dev))
		err = -EAGAIN;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * Held while names are compared, and until a chosen one is visible. Its place does not depend on the environment, so
 * that all shells of a user meet there. -1: unavailable (a full disk, a file of another user); then two sessions that
 * start at the same moment may choose one name.
 */
static int lock_names(char *path)
{
	unsigned uid = (unsigned)geteuid();
	char runtime[40];
	const char *const bases[] = {session_base() ? session_base() : runtime, "/tmp", "/dev/shm"};
	int fd = -1;

	snprintf(runtime, sizeof(runtime), "/run/user/%u", uid);
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases) && fd < 0; i++) {
		snprintf(path, LOCK_PATH_MAX, "%s/sightline-%u.lock", bases[i], uid);
		do
			fd = lock_file(path);
		while (fd == -EAGAIN);
	}
	return fd < 0 ? -1 : fd;
}

static void unlock_names(int fd, const char *path)
{
	if (fd < 0)
		return;
	unlink(path);
	close(fd);
}

static int write_name(const struct session *s, const char *name)
{
	char path[SESSION_DIR_MAX + 16], line[SESSION_NAME_MAX + 1];
	size_t len = (size_t)snprintf(line, sizeof(line), "%s\n", name);
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/name", s->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, line, len) != (ssize_t)len)
		err = -errno;
	close(fd);
	return err;
}

static const struct session_entry *find(const struct session_entry *list, size_t cnt,
					const char *name)
{
	for (size_t i = 0; i < cnt; i++)
		if (list[i].is_alive && strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

/*
 * The pid of another session's collector that has the name, 0: it is free. Earlier sessions of this
 * process count as its own (session_idle.h).
 */
static pid_t has_name(const struct session *s, const char *name)
{
	struct session_entry *list = NULL;
	size_t cnt = scan(&list, false, name);
	pid_t pid = 0;

	for (size_t i = 0; i < cnt && !pid; i++)
		if (list[i].is_alive && list[i].pid != getpid() && strcmp(list[i].dir, s->dir) != 0)
			pid = list[i].pid ? list[i].pid : -1;
	free(list);
	return pid;
}

/* Unique: the name has the pid in it. */
static void make_up(const struct session *s, const char *kind, pid_t pid, char *name)
{
	snprintf(name, SESSION_NAME_MAX, "%.32s-%d", kind, (int)pid);
	for (int n = 2; n < 1000 && has_name(s, name); n++)
		snprintf(name, SESSION_NAME_MAX, "%.32s-%d-%d", kind, (int)pid, n);
}

/* @name is written down; with the command socket, others see it. */
static int appear(const struct session *s, const struct session_appearance *a, char *why,
		  size_t why_len)
{
	int err = write_name(s, a->name);

	if (err) {
		snprintf(why, why_len, "the session's name cannot be written to %s: %s", s->dir,
			 strerror(-err));
		return err;
	}
	err = control_open(a->control, s->dir, a->ask, a->to);
	if (err)
		snprintf(why, why_len, "no socket for commands can be made in %s: %s", s->dir,
			 strerror(-err));
	return err;
}

/* The name that was asked for, if it is free. */
static int appear_as(const struct session *s, const struct session_appearance *a, char *why,
		     size_t why_len)
{
	char lock_path[LOCK_PATH_MAX];
	char *asked = output_name_expand(a->pattern, a->pid, why, why_len);
	int err = asked ? session_name_check(asked, why, why_len) : -EINVAL;
	pid_t other;
	int lock;

	if (!err)
		snprintf(a->name, SESSION_NAME_MAX, "%s", asked);
	free(asked);
	if (err)
		return err;
	lock = lock_names(lock_path);
	other = has_name(s, a->name);
	if (other) {
		snprintf(why, why_len,
			 "a session is called '%s' already (process %d); choose another name, or "
			 "end it: sightline shutdown --session=%s",
			 a->name, (int)other, a->name);
		err = -EEXIST;
	} else {
		err = appear(s, a, why, why_len);
	}
	unlock_names(lock, lock_path);
	return err;
}

int session_appear(const struct session *s, const struct session_appearance *a, char *why,
		   size_t why_len)
{
	if (a->pattern && *a->pattern)
		return appear_as(s, a, why, why_len);
	make_up(s, a->kind, a->pid, a->name);
	return appear(s, a, why, why_len);
}

/* ---- which one is meant ---- */

/* "a, b and c", as far as there is room. */
static void names_of(const struct session_entry *list, size_t cnt, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < cnt && list[i].is_alive && used + SESSION_NAME_MAX + 8 < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 list[i].name);
}

static int none_such(const char *cmd, const char *name, const struct session_entry *list,
		     size_t cnt)
{
	char names[600];

	for (size_t i = 0; i < cnt; i++) {
		if (list[i].is_alive || strcmp(list[i].name, name) != 0)
			continue;
		sl_warn("%s: the collector of session '%s' is gone; what it had recorded: "
			"'sightline recover REPORT'",
			cmd, name);
		return SL_EXIT_FAIL;
	}
	names_of(list, cnt, names, sizeof(names));
	if (names[0])
		sl_warn("%s: there is no session '%s'; there are: %s", cmd, name, names);
	else
		sl_warn("%s: there is no session '%s', nor any other (begin one: sightline launch)",
			cmd, name);
	return SL_EXIT_FAIL;
}

static int choose(const struct session_entry *list, size_t cnt, const char *name, const char *cmd,
		  struct session_entry *found)
{
	const struct session_entry *e = NULL;
	char names[600];
	size_t alive = 0;

	while (alive < cnt && list[alive].is_alive)
		alive++;
	if (name) {
		e = find(list, cnt, name);
		if (!e)
			return none_such(cmd, name, list, cnt);
	} else if (alive == 1) {
		e = list;
	} else if (!alive) {
		sl_warn("%s: there is no session (begin one: sightline launch)", cmd);
		return SL_EXIT_FAIL;
	} else {
		names_of(list, cnt, names, sizeof(names));
		sl_warn("%s: which session? Name it with --session=: %s", cmd, names);
		return SL_EXIT_USAGE;
	}
	*found = *e;
	return 0;
}

int session_choose(const char *name, const char *cmd, struct session_entry *found)
{
	struct session_entry *list = NULL;
	size_t cnt;
	int status;

	/* By its directory: wherever that is, and for root also when it is another user's. */
	if (name && name[0] == '/') {
		if (look(found, name, true, NULL) && found->is_alive)
			return 0;
		sl_warn("%s: no session is in '%s'", cmd, name);
		return SL_EXIT_FAIL;
	}
	cnt = sessions_scan(&list, false);
	status = choose(list, cnt, name, cmd, found);
	free(list);
	return status;
}

int session_ask(const struct session_entry *e, const char *cmd, struct command *p, int timeout_ms)
{
	int rc = command_ask(e->dir, e->owner, p, timeout_ms);

	if (rc >= 0)
		return rc;
	if (rc == -ETIMEDOUT)
		sl_warn("%s: session '%s' does not answer (process %d)", cmd, e->name, (int)e->pid);
	else if (rc == -ECONNRESET || rc == -EPIPE || rc == -ECONNREFUSED || rc == -ENOENT)
		sl_warn("%s: session '%s' has ended meanwhile", cmd, e->name);
	else
		sl_warn("%s: session '%s' cannot be asked: %s", cmd, e->name, strerror(-rc));
	return SL_EXIT_FAIL;
}
