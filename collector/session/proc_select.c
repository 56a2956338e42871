/* proc_select.c - reads /proc for processes that run already, their parents and start times. */
#include "collector/session/proc_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/base/proc_numbers.h"
#include "collector/base/proc_stat.h"
#include "collector/session/session.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

/* A number of /proc/PID/status; the last one of the line. -1: no such line. */
static long long status_number(uint32_t pid, const char *key)
{
	char path[64], line[512];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/status", proc_root(), pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *last = line + strlen(key);

		if (strncmp(line, key, strlen(key)) != 0 || *last != ':')
			continue;
		for (char *at = strtok(last + 1, " \t\n"); at; at = strtok(NULL, " \t\n"))
			value = strtoll(at, NULL, 10);
		break;
	}
	if (f)
		fclose(f);
	return value;
}

/* The pid that `ps` shows inside a container differs from the host's. 0: no process has it. */
static uint32_t inside_container(uint32_t number)
{
	struct running *list;
	uint32_t found = 0;
	int cnt = running_all(&list);

	for (int i = 0; list && i < cnt && !found; i++)
		if (status_number(list[i].pid, "NSpid") == number && list[i].pid != number)
			found = list[i].pid;
	if (cnt >= 0)
		free(list);
	return found;
}

int running_check(uint32_t pid, char *why, size_t why_len)
{
	struct proc_stat s;
	long long leader;
	uint32_t other;

	if (pid == (uint32_t)getpid()) {
		snprintf(why, why_len, "process %u is this command itself", pid);
		return -EINVAL;
	}
	if (!proc_stat_read(pid, 0, &s)) {
		other = inside_container(pid);
		if (other)
			snprintf(why, why_len,
				 "there is no process %u here: inside a container that is the "
				 "number of process %u",
				 pid, other);
		else
			snprintf(why, why_len,
				 "there is no process %u (it has ended, or belongs to another PID "
				 "namespace)",
				 pid);
		return -ESRCH;
	}
	leader = status_number(pid, "Tgid");
	if (leader > 0 && leader != pid) {
		snprintf(why, why_len, "%u is a thread of process %lld: give that number", pid,
			 leader);
		return -EINVAL;
	}
	if (s.flags & KERNEL_THREAD) {
		snprintf(why, why_len,
			 "process %u is a thread of the kernel: 'sightline profile "
			 "--cpuctxsw=system-wide sleep 10' records those",
			 pid);
		return -EINVAL;
	}
	if (s.state == 'Z' || s.state == 'X') {
		snprintf(why, why_len, "process %u has ended (it is a zombie)", pid);
		return -ESRCH;
	}
	return 0;
}

/* CLOCK_BOOTTIME runs on while the machine sleeps: starts before that lie so much earlier. */
static int64_t boot_ahead_ns(void)
{
	int64_t boot = clock_ns(CLOCK_BOOTTIME);

	return boot - mono_ns();
}

int running_all(struct running **list)
{
	int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK), ahead = boot_ahead_ns();
	size_t cnt = 0, cap = 0;
	struct proc_numbers processes = proc_numbers_open(0, NULL);
	uint32_t pid;

	*list = NULL;
	if (!processes.dir)
		return -errno;
	while (proc_numbers_next(&processes, &pid)) {
		struct proc_stat s;
		struct running *more;

		if (!pid || pid == (uint32_t)getpid() || !proc_stat_read(pid, 0, &s) ||
		    s.state == 'Z')
			continue;
		if (cnt == cap) {
			cap = cap ? cap * 2 : 256;
			more = realloc(*list, cap * sizeof(*more));
			if (!more) {
				free(*list);
				proc_numbers_close(&processes);
				return -ENOMEM;
			}
			*list = more;
		}
		(*list)[cnt++] =
			(struct running){pid, s.parent, (int64_t)s.start * tick_ns - ahead};
	}
	proc_numbers_close(&processes);
	return (int)cnt;
}

bool running_session(uint32_t pid, char *dir, size_t size)
{
	static const char key[] = SL_SESSION_ENV "=";
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/environ", proc_root(), pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&line, &room, 0, f) > 0) {
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		session_variable_cut(line);
		snprintf(dir, size, "%s", line + sizeof(key) - 1);
		found = *dir == '/';
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}
