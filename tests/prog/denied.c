/*
 * denied.c NAME[,NAME]... PROGRAM... - PROGRAM, to which system calls of these names are refused, as a container's
 * runtime does: Operation not permitted.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME(name)                \
	{                         \
#name, SYS_##name \
	}
static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	NAME(bpf),        NAME(perf_event_open), NAME(ptrace), NAME(kcmp), NAME(process_vm_readv),
	NAME(pidfd_open), NAME(memfd_create),    NAME(mremap)};

int main(int argc, char **argv)
{
	struct sock_filter code[64] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog prog = {1, code};

	if (argc < 3)
		return 2;
	for (char *word = strtok(argv[1], ","); word; word = strtok(NULL, ",")) {
		size_t i = 0;

		while (i < sizeof(calls) / sizeof(*calls) && strcmp(calls[i].name, word) != 0)
			i++;
		if (i == sizeof(calls) / sizeof(*calls) || prog.len > 60)
			return 2;
		code[prog.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								SECCOMP_RET_ERRNO | 1 /* EPERM */);
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		return 77;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
