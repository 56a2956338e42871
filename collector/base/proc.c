/*
 * proc.c - /proc: ids across PID namespaces, names, command lines.
 *
 * In a container the shim sees other numbers than we do. The kernel's row "NSpid:" in
 * /proc/PID/status has both; it is looked up once per process and thread, never per record.
 */
#include "collector/base/proc.h"
#include "collector/base/proc_stat.h"
#include "collector/mask/mask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/ioctl.h>
#include <linux/mount.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_MAX 4096

/* Detached: mounted nowhere, so that only this process sees it. -1: not permitted (root, or the namespace's own root). */
static int own_proc(void)
{
	int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC), mount = -1, high;

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	close(fs);
	if (mount < 0)
		return -1;
	/* Out of the way of the numbers that a program expects to get. */
	high = fcntl(mount, F_DUPFD_CLOEXEC, 200);
	if (high >= 0)
		close(mount);
	return high >= 0 ? high : mount;
}

static void find_root(char *root, size_t size)
{
	char number[16];
	ssize_t len = readlink("/proc/self", number, sizeof(number) - 1);
	bool is_ours;
	int fd;

	number[len > 0 ? len : 0] = 0;
	is_ours = len <= 0 || strtol(number, NULL, 10) == getpid();
	fd = is_ours ? -1 : own_proc();
	if (fd >= 0)
		snprintf(root, size, "/proc/self/fd/%d", fd);
	else
		snprintf(root, size, "%s", is_ours ? "/proc" : "/proc/-");
}

const char *proc_root(void)
{
	static char root[32];
	static pid_t of;

	/* A forked process may have closed the descriptor. */
	if (of != getpid()) {
		find_root(root, sizeof(root));
		of = getpid();
	}
	return root;
}

bool proc_is_here(void)
{
	struct proc_origin o;

	return proc_origin((uint32_t)getpid(), &o);
}

static bool same_ns(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A process stays in its PID namespace. False: it cannot be seen. */
static bool own_pidns(struct stat *st)
{
	static struct stat own;
	static pid_t of;

	if (of != getpid() && stat("/proc/self/ns/pid", &own) == 0)
		of = getpid();
	*st = own;
	return of == getpid();
}

bool pidns_is_ours(uint32_t pid)
{
	char path[64];
	struct stat its, own;

	snprintf(path, sizeof(path), "%s/%u/ns/pid", proc_root(), pid);
	/* Not to be seen (gone, or another user's): the usual case is the likely one. Once: it may go in between. */
	return stat(path, &its) < 0 || !own_pidns(&own) ||
	       (its.st_dev == own.st_dev && its.st_ino == own.st_ino);
}

/* The last number in the row NSpid of @path, 0 when there is none. */
static uint32_t innermost_pid(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256];
	uint32_t pid = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		char *last;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t');
		if (last)
			pid = (uint32_t)strtoul(last + 1, NULL, 10);
		break;
	}
	fclose(f);
	return pid;
}

uint32_t proc_innermost(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/status", proc_root(), pid);
	return innermost_pid(path);
}

/* The lowest number above @after. */
static uint32_t search(const char *dir, const char *ns_of, uint32_t ns_id, uint32_t after)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t found = 0;

	if (!d)
		return 0;
	while (!found && (e = readdir(d))) {
		char path[PATH_MAX], ns[PATH_MAX];

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    strtoul(e->d_name, NULL, 10) <= after)
			continue;
		snprintf(path, sizeof(path), "%s/%s/status", dir, e->d_name);
		if (innermost_pid(path) != ns_id)
			continue;
		snprintf(ns, sizeof(ns), "%s/%s/ns/pid", dir, e->d_name);
		if (!ns_of || same_ns(ns, ns_of))
			found = (uint32_t)strtoul(e->d_name, NULL, 10);
	}
	closedir(d);
	return found;
}

uint32_t pidns_process(uint32_t peer, uint32_t ns_pid)
{
	char ns[64];

	snprintf(ns, sizeof(ns), "%s/%u/ns/pid", proc_root(), peer);
	return search(proc_root(), ns, ns_pid, 0);
}

uint32_t pidns_next(uint32_t after, uint32_t ns_pid)
{
	return search(proc_root(), NULL, ns_pid, after);
}

uint32_t pidns_thread(uint32_t pid, uint32_t ns_tid)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/%u/task", proc_root(), pid);
	return search(dir, NULL, ns_tid, 0);
}

char *proc_exe(uint32_t pid)
{
	char path[64], exe[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%u/exe", proc_root(), pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	if (len <= 0)
		return NULL;
	exe[len] = 0;
	return strdup(exe);
}

static ssize_t slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len >= 0)
		buf[len] = 0;
	return len;
}

char *proc_command_line(uint32_t pid)
{
	char path[64], text[COMMAND_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%u/cmdline", proc_root(), pid);
	len = slurp(path, text, sizeof(text));
	if (len <= 0)
		return NULL;
	return mask_line(text, (size_t)len);
}

bool proc_has_variable(uint32_t pid, const char *name)
{
	size_t len = strlen(name), room = 0;
	char path[64], *one = NULL;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/environ", proc_root(), pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&one, &room, 0, f) > 0)
		found = strncmp(one, name, len) == 0 && one[len] == '=';
	if (f)
		fclose(f);
	free(one);
	return found;
}

/* Marks the files that the process has mapped; -errno: cannot be seen. */
static int mark_mapped(uint32_t pid, struct mapped_file *files, size_t cnt)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/maps", proc_root(), pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		unsigned major_nr, minor_nr;
		unsigned long number;

		if (!strstr(line, "/memfd:") ||
		    sscanf(line, "%*s %*s %*s %x:%x %lu", &major_nr, &minor_nr, &number) != 3)
			continue;
		for (size_t i = 0; i < cnt; i++)
			files[i].is_used |= files[i].inode == number &&
					    files[i].device == makedev(major_nr, minor_nr);
	}
	fclose(f);
	return 0;
}

int proc_has_mapped(uint32_t pid, uint64_t device, uint64_t inode)
{
	struct mapped_file file = {.device = device, .inode = inode};
	int err = mark_mapped(pid, &file, 1);

	return err < 0 ? err : file.is_used;
}

uint64_t proc_age(void)
{
	struct timespec t = {0, 0};
	long ticks = sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * (uint64_t)ticks +
	       (uint64_t)t.tv_nsec / (1000000000u / (uint64_t)ticks);
}

/* @inode: of its folder. */
static bool is_elder(struct elders *elders, uint32_t pid, uint64_t inode)
{
	uint64_t *known = elders && elders->since ? map_at(&elders->inode, pid, false) : NULL;
	struct proc_origin o;

	if (!elders || !elders->since)
		return false;
	if (known && *known == inode)
		return true;
	if (!proc_origin(pid, &o) || o.start >= elders->since)
		return false;
	known = map_at(&elders->inode, pid, true);
	if (known)
		*known = inode;
	return true;
}

static bool is_maker(const struct mapped_file *files, size_t cnt, uint32_t pid)
{
	for (size_t i = 0; i < cnt; i++)
		if (files[i].maker == pid)
			return true;
	return false;
}

void users_find_mapped(struct mapped_file *files, size_t cnt, struct elders *elders)
{
	DIR *d = cnt ? opendir(proc_root()) : NULL;
	uint32_t self = (uint32_t)getpid();
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (pid && pid != self &&
		    (!is_elder(elders, pid, e->d_ino) || is_maker(files, cnt, pid)))
			mark_mapped(pid, files, cnt);
	}
	closedir(d);
}

bool users_have_mapped(uint64_t device, uint64_t inode)
{
	struct mapped_file file = {.device = device, .inode = inode};

	users_find_mapped(&file, 1, NULL);
	return file.is_used;
}

static char state_of(uint32_t pid, uint32_t tid)
{
	struct proc_stat s;

	errno = 0;
	if (proc_stat_read(pid, tid, &s))
		return s.state;
	return (errno == EMFILE || errno == ENFILE) &&
			       (syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM)
		       ? PROC_STATE_UNKNOWN
		       : 0;
}

bool proc_origin(uint32_t pid, struct proc_origin *o)
{
	struct proc_stat s;

	if (!proc_stat_read(pid, 0, &s))
		return false;
	*o = (struct proc_origin){s.parent, s.terminal, s.start};
	return true;
}

uint32_t proc_parent(uint32_t pid)
{
	struct proc_origin o;

	return proc_origin(pid, &o) ? o.parent : 0;
}

char proc_state(uint32_t pid)
{
	return state_of(pid, pid);
}

bool proc_thread_lives(uint32_t pid, uint32_t tid)
{
	char path[64], state;
	struct stat st;

	if (syscall(SYS_tgkill, pid, tid, 0) < 0) {
		if (errno == ESRCH)
			return false;
		snprintf(path, sizeof(path), "%s/%u/task/%u", proc_root(), pid, tid);
		return errno == EPERM ? stat(path, &st) == 0 : true;
	}
	if (pid != tid)
		return true;
	/* A main thread that left by pthread_exit, or a process not waited for: a zombie still answers. */
	state = state_of(pid, tid);
	return state != 'Z' && state != 'X';
}

/* The first part of the kernel's struct pidfd_info: headers of distributions are older than the kernels that have it. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct exit_info) == 64, "PIDFD_INFO_SIZE_VER0");
#define GET_INFO  _IOWR(0xff, 11, struct exit_info)
#define INFO_EXIT 8u

/* -1: it is none. */
static int zombie_status(uint32_t pid)
{
	struct proc_stat s;

	return proc_stat_read(pid, 0, &s) && s.state == 'Z' ? s.exit_code : -1;
}

int proc_exit_status(uint32_t pid, int pidfd)
{
	struct exit_info info = {.mask = INFO_EXIT};
	int status = zombie_status(pid);

	/* The kernel shows 0 also where we lack the permission. */
	if (status > 0)
		return status;
	if (ioctl(pidfd, GET_INFO, &info) < 0 || !(info.mask & INFO_EXIT))
		return -1;
	return info.exit_code;
}

static bool read_schedstat(const char *path, uint64_t *ran, uint64_t *waited)
{
	unsigned long long first, second;
	char text[96];

	if (slurp(path, text, sizeof(text)) <= 0 || sscanf(text, "%llu %llu", &first, &second) != 2)
		return false;
	*ran = first;
	*waited = second;
	return true;
}

bool proc_thread_time(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *waited)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%u/task/%u/schedstat", proc_root(), pid, tid);
	return read_schedstat(path, ran, waited);
}

uint64_t proc_waited_ns(uint32_t pid)
{
	char path[300];
	struct dirent *e;
	uint64_t sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%u/task", proc_root(), pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		uint64_t ran, waited;

		snprintf(path, sizeof(path), "%s/%u/task/%.20s/schedstat", proc_root(), pid,
			 e->d_name);
		if (read_schedstat(path, &ran, &waited))
			sum += waited;
	}
	if (dir)
		closedir(dir);
	return sum;
}
