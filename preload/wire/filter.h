/* filter.h - what a seccomp filter, a program of classic BPF, answers to a system call (seccomp(2)). */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The filter reads what is not known, or is invalid: the worst case. */
#define SL_FILTER_UNKNOWN SECCOMP_RET_KILL_PROCESS

struct sl_filter_call {
	int nr;
	uint8_t known; /* bit i: argument i is @args[i] */
	uint64_t args[6];
};

#pragma GCC visibility push(hidden)

/* The filter's answer, SECCOMP_RET_*, for this processor's own system calls. Ends for any program. */
uint32_t sl_filter_verdict(const struct sock_filter *filter, unsigned cnt,
			   const struct sl_filter_call *call);

#pragma GCC visibility pop
