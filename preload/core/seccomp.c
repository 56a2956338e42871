/*
 * seccomp.c - a program that gives up system calls by a filter (seccomp), which may kill for one that it does not know:
 * ours are such. From then on there are none of our own; what they would have told is known otherwise, or not at all.
 *
 * Nor may programs that it executes be traced where the filter, which they inherit, kills for what our start needs. A filter
 * is a program (classic BPF), and is run here for each of those system calls.
 */
#include "preload/core/seccomp.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "preload/base/object.h"
#include "preload/base/state.h"
#include "preload/core/environment.h"
#include "preload/wire/sys.h"

/* What session_join.c, hook.c and unwinding ask of the kernel in a new program. */
static const int needed[] = {
	SYS_openat,    SYS_read,         SYS_close,          SYS_mmap,
	SYS_munmap,    SYS_madvise,      SYS_prlimit64,      SYS_fcntl,
	SYS_ftruncate, SYS_memfd_create, SYS_socket,         SYS_connect,
	SYS_sendmsg,   SYS_setsockopt,   SYS_getpid,         SYS_gettid,
	SYS_getppid,   SYS_prctl,        SYS_readlinkat,     SYS_futex,
	SYS_kill,      SYS_newfstatat,   SYS_rt_sigprocmask, SYS_process_vm_readv,
};

/* ---- what a filter would do ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define UNKNOWN \
	SECCOMP_RET_KILL_PROCESS /* it looks at arguments, or is none: the worst is expected */

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool is_undefined(uint32_t b, unsigned how)
{
	return how == BPF_DIV ? !b : (how == BPF_LSH || how == BPF_RSH) && b >= 32;
}

static uint32_t computed(uint32_t a, uint32_t b, unsigned how)
{
	switch (how) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << b;
	case BPF_RSH:
		return a >> b;
	default:
		return -a; /* BPF_NEG */
	}
}

static bool compared(uint32_t a, uint32_t b, unsigned how)
{
	switch (how) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b; /* BPF_JSET */
	}
}

/* False: what is loaded is not known before the call. */
static bool load(struct machine *m, const struct sock_filter *f, int nr)
{
	uint32_t value;

	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		value = f->k;
		break;
	case BPF_MEM:
		value = m->memory[f->k % BPF_MEMWORDS];
		break;
	case BPF_LEN:
		value = sizeof(struct seccomp_data);
		break;
	case BPF_ABS:
		if (f->k == offsetof(struct seccomp_data, nr))
			value = (uint32_t)nr;
		else if (f->k == offsetof(struct seccomp_data, arch))
			value = ARCH;
		else
			return false;
		break;
	default:
		return false;
	}
	*(BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x) = value;
	return true;
}

static uint32_t verdict(const struct sock_filter *filter, unsigned cnt, int nr)
{
	struct machine m = {0};

	/* Jumps lead forward only. */
	for (unsigned at = 0; at < cnt; at++) {
		const struct sock_filter *f = &filter[at];
		uint32_t b = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			if (!load(&m, f, nr))
				return UNKNOWN;
			break;
		case BPF_ST:
		case BPF_STX:
			m.memory[f->k % BPF_MEMWORDS] = BPF_CLASS(f->code) == BPF_ST ? m.a : m.x;
			break;
		case BPF_ALU:
			if (is_undefined(b, BPF_OP(f->code)))
				return UNKNOWN;
			m.a = computed(m.a, b, BPF_OP(f->code));
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				at += f->k;
			else
				at += compared(m.a, b, BPF_OP(f->code)) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return UNKNOWN;
}

static bool read_memory(void *to, const void *from, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};

	return sl_sys6(SYS_process_vm_readv, sl_getpid(), (long)&here, 1, (long)&there, 1, 0) ==
	       (long)bytes;
}

static bool kills(const struct sock_filter *filter, unsigned cnt, int nr)
{
	uint32_t what = verdict(filter, cnt, nr) & SECCOMP_RET_ACTION_FULL;

	return what == SECCOMP_RET_KILL_PROCESS || what == SECCOMP_RET_KILL_THREAD ||
	       what == SECCOMP_RET_TRAP;
}

static uint32_t judge(const void *program)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	static uint32_t is_busy;
	struct sock_fprog p = {0};
	uint32_t is = SL_RESTRICTED_BLIND;

	/* The kernel reads it, and refuses what it cannot; so do we. Of two threads at once one expects the worst. */
	if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE))
		return is;
	if (read_memory(&p, program, sizeof(p)) && p.len <= BPF_MAXINSNS &&
	    read_memory(filter, p.filter, p.len * sizeof(*filter)) &&
	    !kills(filter, p.len, SYS_getpid)) {
		is = SL_RESTRICTED;
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
			if (kills(filter, p.len, needed[i]))
				is = SL_RESTRICTED_DEADLY;
	}
	__atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
	return is;
}

/* ---- from here on ---- */

static int (*thread_clock)(pthread_t thread, clockid_t *clock);

/*
 * Not when a filter comes, which may be in the child of a fork while another thread had the linker's lock. Before glibc 2.34
 * it is in libpthread, which may be loaded later: then there are no numbers.
 */
void sl_restricted_start(void)
{
	thread_clock =
		(int (*)(pthread_t, clockid_t *))(uintptr_t)sl_object_next("pthread_getcpuclockid");
}

#define OF_CHILD \
	0x100u /* a filter is that of vfork's child alone, with which its parent shares all memory */

bool sl_is_blind(void)
{
	return sl_global.restricted == SL_RESTRICTED_BLIND ||
	       sl_tls.vfork_restricted == SL_RESTRICTED_BLIND;
}

bool sl_is_deadly(void)
{
	return sl_global.restricted >= SL_RESTRICTED_DEADLY ||
	       sl_tls.vfork_restricted >= SL_RESTRICTED_DEADLY;
}

static uint32_t *restricted(bool is_child)
{
	return is_child ? &sl_tls.vfork_restricted : &sl_global.restricted;
}

uint32_t sl_restrict(unsigned long mode, const void *filter)
{
	bool is_child = sl_tls.cookie == SL_COOKIE_VFORK && !sl_is_blind() &&
			(uint32_t)sl_getpid() != sl_tls.vfork_pid;
	uint32_t *to = restricted(is_child), before = *to, now = SL_RESTRICTED_BLIND;

	/* Behind a filter that may kill for the look at another, the worst is expected of that one. */
	if (!sl_is_deadly() && mode == SECCOMP_MODE_FILTER)
		now = judge(filter);
	if (now > before)
		__atomic_store_n(to, now, __ATOMIC_RELEASE);
	return before | (is_child ? OF_CHILD : 0);
}

void sl_restricted(uint32_t before, bool failed)
{
	bool is_child = before & OF_CHILD;
	uint32_t *to = restricted(is_child);

	before &= ~OF_CHILD;
	if (failed)
		__atomic_store_n(to, before, __ATOMIC_RELEASE);
	else if (!is_child && *to >= SL_RESTRICTED_DEADLY && before < SL_RESTRICTED_DEADLY)
		sl_env_untrace();
}

/* The C library knows its threads' numbers, and tells them in those of their clocks, whose other bits are the kernel's. */
uint32_t sl_own_tid(void)
{
	clockid_t clock;

	if (!sl_global.restricted)
		return (uint32_t)sl_gettid();
	return thread_clock && !thread_clock(pthread_self(), &clock) ? ~((uint32_t)(clock >> 3))
								     : 0;
}

uint32_t sl_forked_pid(void)
{
	uint32_t tid;

	if (!sl_global.restricted)
		return (uint32_t)sl_getpid();
	/* In a child of which the C library knows nothing it is still the parent's. */
	tid = sl_own_tid();
	return sl_tls.slot && sl_tls.slot->tid == tid ? 0 : tid;
}
