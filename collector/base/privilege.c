/* privilege.c - capabilities of this program, and the rule of ptrace for those of its file. */
#include "collector/base/privilege.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/proc.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#define INITIAL_USER_NS 0xEFFFFFFDu /* its inode, fixed in the kernel */

bool privilege_has(int cap)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};

	if (syscall(SYS_capget, &head, data))
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

bool privilege_has_on_machine(int cap)
{
	struct stat st;

	return privilege_has(cap) && stat("/proc/self/ns/user", &st) == 0 &&
	       st.st_ino == INITIAL_USER_NS;
}

bool privilege_may_watch_all(void)
{
	/* Set where an exec gave capabilities; not where its caller had them. */
	if (!getauxval(AT_SECURE) || getuid() == 0 || privilege_has(CAP_SYS_PTRACE))
		return true;
	return !privilege_has(CAP_PERFMON) && !privilege_has(CAP_BPF) &&
	       !privilege_has(CAP_SYS_ADMIN);
}

bool privilege_may_watch(uint32_t pid)
{
	char path[64], line[256];
	unsigned id[3] = {0};
	bool same_uid = false, same_gid = false;
	FILE *f;

	if (privilege_may_watch_all())
		return true;
	snprintf(path, sizeof(path), "%s/%u/status", proc_root(), pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u %u %u", &id[0], &id[1], &id[2]) == 3)
			same_uid = id[0] == getuid() && id[1] == id[0] && id[2] == id[0];
		else if (sscanf(line, "Gid: %u %u %u", &id[0], &id[1], &id[2]) == 3)
			same_gid = id[0] == getgid() && id[1] == id[0] && id[2] == id[0];
	}
	if (f)
		fclose(f);
	return same_uid && same_gid;
}

bool privilege_may_trace(uint32_t pid)
{
	char path[64], exe[1];

	snprintf(path, sizeof(path), "%s/%u/exe", proc_root(), pid);
	return privilege_may_watch_all() || readlink(path, exe, sizeof(exe)) >= 0;
}

void privilege_fix(const char *caps, char *fix, size_t fix_len)
{
	char exe[400];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = 0;
	/* All users that may run it could trace; a change of the group takes capabilities away. */
	snprintf(fix, fix_len,
		 "s=%s; sudo groupadd -f tracers; sudo chgrp tracers $s && sudo chmod 750 $s && "
		 "sudo setcap %s+ep $s",
		 n > 0 && n < (ssize_t)sizeof(exe) - 1 ? exe : "$(command -v sightline)", caps);
}
