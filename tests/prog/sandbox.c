/*
 * sandbox.c FILE N - after start-up allows itself read, write, pread and exit, on pain of death, and then
 * makes N preads. A tracer that needs any other system call for a record kills the program.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_pread64),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};
	long n, sum = 0;
	char buf[64];
	int fd;

	if (argc < 3)
		return 2;
	fd = open(argv[1], O_RDONLY);
	n = atol(argv[2]);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		return 77;
	for (long i = 0; i < n; i++)
		sum += pread(fd, buf, sizeof(buf), 0);
	n = sprintf(buf, "bytes %ld\n", sum);
	if (write(1, buf, (size_t)n) != n)
		return 1;
	_exit(0);
}
