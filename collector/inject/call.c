/* call.c - puts calls onto a stopped thread. Written against ptrace(2), sigreturn(2) and the kernel's interface of frames. */
#include "collector/inject/call.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "collector/base/now.h"

#ifndef PTRACE_SETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

#define STOP_NS  500000000ll /* to wait for the thread to stop: it may be in a page fault */
#define RED_ZONE 128u        /* below the stack pointer, which code uses without moving it */

/* Of the kernel alone: results of interrupted system calls. */
#define ERESTARTSYS           512
#define ERESTART_RESTARTBLOCK 516

/* The layout that processors give the state of their extensions, and Linux adds to it. */
#define XSTATE_SW       464u /* of struct fx_sw */
#define XSTATE_HEADER   512u
#define XSTATE_LEGACY   576u
#define XSTATE_TILES    18u /* a feature that most threads have no room for in their frames */
#define XSTATE_MAGIC1   0x46505853u
#define XSTATE_MAGIC2   0x46505845u
#define UC_FLAGS_XSTATE 1u
#define UC_FLAGS_SS     6u     /* UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
#define NO_ALTSTACK     0x1000 /* no mode of sigaltstack(2): it is left as it is */

struct fx_sw {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t xstate_size, padding[7];
};

/* As the kernel has it: the C library's ucontext_t is longer. */
struct signal_frame {
	uint64_t returns_to;
	unsigned long flags;
	void *link;
	stack_t altstack;
	mcontext_t registers;
	uint64_t mask;
	siginfo_t info;
};

static long trace(int request, pid_t tid, unsigned long address, const void *data)
{
	return ptrace((enum __ptrace_request)request, tid, (void *)address, data);
}

/* ---- waiting ---- */

/* The thread's next stop. 0: none before @until; -1: it has ended. */
static int wait_stop(pid_t tid, int64_t until)
{
	/* A signal comes with each stop; should one be missing, the next look comes soon. */
	const struct timespec step = {0, 1000000};
	sigset_t child, before;
	int status = 0;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, &before);
	for (;;) {
		got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got == tid || (got < 0 && errno != EINTR) || mono_ns() > until)
			break;
		sigtimedwait(&child, NULL, &step);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (got == tid)
		return WIFSTOPPED(status) ? status : -1;
	return got < 0 && errno == ECHILD ? -1 : 0;
}

static bool is_interrupt(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8);
}

static bool is_syscall(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static void let_go(const struct call *c)
{
	trace(PTRACE_DETACH, c->tid, 0, NULL);
}

/* ---- stopping ---- */

/* A thread cannot be let go while it runs: it is asked to stop until it does. */
static void let_running_go(const struct call *c)
{
	int status;

	trace(PTRACE_INTERRUPT, c->tid, 0, NULL);
	do
		status = wait_stop(c->tid, mono_ns() + STOP_NS);
	while (status == 0 && trace(PTRACE_INTERRUPT, c->tid, 0, NULL) == 0);
	if (status > 0)
		trace(PTRACE_DETACH, c->tid, 0,
		      (void *)(uintptr_t)(is_interrupt(status) || is_syscall(status)
						  ? 0
						  : WSTOPSIG(status)));
}

static enum call_result stop(struct call *c, int64_t limit_ns)
{
	int status;

	if (trace(PTRACE_SEIZE, c->tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) < 0)
		return errno == ESRCH ? CALL_GONE : CALL_NOT_PERMITTED;
	c->begun = mono_ns();
	trace(PTRACE_INTERRUPT, c->tid, 0, NULL);
	for (;;) {
		status = wait_stop(c->tid, c->begun + STOP_NS);
		if (status < 0)
			return CALL_GONE;
		if (status == 0) {
			let_running_go(c);
			return CALL_NOT_SAFE;
		}
		if (is_interrupt(status)) {
			c->begun = mono_ns();
			c->until = c->begun + limit_ns;
			return CALL_DONE;
		}
		/* Of the whole process: it stays stopped. */
		if (status >> 16 == PTRACE_EVENT_STOP) {
			let_go(c);
			return CALL_NOT_SAFE;
		}
		/* A signal that comes first is the program's. */
		trace(PTRACE_CONT, c->tid, 0, (void *)(uintptr_t)WSTOPSIG(status));
	}
}

/* ---- state ---- */

static uint32_t feature_end(unsigned feature)
{
	unsigned size, offset, c, d;

	if (!__get_cpuid_count(0xd, feature, &size, &offset, &c, &d))
		return 0;
	return size + offset;
}

/* Cuts off what a thread that does not use it has no room for in a frame, which the kernel would refuse as a whole. */
static size_t frame_state(const uint8_t *state, size_t len, uint64_t *features)
{
	uint64_t used;
	size_t most = XSTATE_LEGACY;

	memcpy(features, state + XSTATE_SW, sizeof(*features));
	memcpy(&used, state + XSTATE_HEADER, sizeof(used));
	if (!(used >> XSTATE_TILES & 1))
		*features &= ~(UINT64_C(1) << XSTATE_TILES);
	for (unsigned i = 2; i < 63; i++)
		if (*features >> i & 1 && feature_end(i) > most)
			most = feature_end(i);
	return most < len ? most : len;
}

static bool read_state(struct call *c)
{
	struct iovec v;

	c->state = malloc(CALL_STATE_MAX);
	v = (struct iovec){c->state, CALL_STATE_MAX};
	if (!c->state || trace(PTRACE_GETREGSET, c->tid, NT_X86_XSTATE, &v) < 0 ||
	    v.iov_len < XSTATE_LEGACY ||
	    trace(PTRACE_GETSIGMASK, c->tid, sizeof(c->mask), &c->mask) < 0)
		return false;
	c->state_len = v.iov_len;
	return true;
}

static bool was_interrupted(const struct user_regs_struct *r)
{
	int64_t rc = (int64_t)r->rax;

	return (int64_t)r->orig_rax >= 0 &&
	       ((rc <= -ERESTARTSYS && rc >= -ERESTART_RESTARTBLOCK) || rc == -EINTR);
}

/* The call is made again from its start. */
static struct user_regs_struct restarted(struct user_regs_struct r)
{
	if (was_interrupted(&r)) {
		r.rax = r.orig_rax;
		r.rip -= 2;
	}
	r.orig_rax = UINT64_MAX;
	return r;
}

static void fill_registers(mcontext_t *to, const struct user_regs_struct *r, uint64_t state)
{
	greg_t *g = to->gregs;

	g[REG_R8] = (greg_t)r->r8;
	g[REG_R9] = (greg_t)r->r9;
	g[REG_R10] = (greg_t)r->r10;
	g[REG_R11] = (greg_t)r->r11;
	g[REG_R12] = (greg_t)r->r12;
	g[REG_R13] = (greg_t)r->r13;
	g[REG_R14] = (greg_t)r->r14;
	g[REG_R15] = (greg_t)r->r15;
	g[REG_RDI] = (greg_t)r->rdi;
	g[REG_RSI] = (greg_t)r->rsi;
	g[REG_RBP] = (greg_t)r->rbp;
	g[REG_RBX] = (greg_t)r->rbx;
	g[REG_RDX] = (greg_t)r->rdx;
	g[REG_RAX] = (greg_t)r->rax;
	g[REG_RCX] = (greg_t)r->rcx;
	g[REG_RSP] = (greg_t)r->rsp;
	g[REG_RIP] = (greg_t)r->rip;
	g[REG_EFL] = (greg_t)r->eflags;
	g[REG_CSGSFS] = (greg_t)(r->cs | r->ss << 48);
	to->fpregs = (fpregset_t)(uintptr_t)state;
}

static bool write_frame(struct call *c)
{
	uint64_t features, state_at, magic2 = XSTATE_MAGIC2;
	size_t len = frame_state(c->state, c->state_len, &features);
	struct signal_frame frame = {.returns_to = c->subject->restorer,
				     .flags = UC_FLAGS_XSTATE | UC_FLAGS_SS,
				     .altstack.ss_flags = NO_ALTSTACK,
				     .mask = c->mask};
	struct fx_sw sw = {.magic1 = XSTATE_MAGIC1,
			   .extended_size = (uint32_t)len + 4,
			   .features = features,
			   .xstate_size = (uint32_t)len};
	uint8_t *copy;
	bool ok;

	state_at = (c->saved.rsp - RED_ZONE - len - 8) & ~UINT64_C(63);
	fill_registers(&frame.registers, &c->restarted, state_at);
	c->frame = ((state_at - sizeof(frame)) & ~UINT64_C(15)) - 8;
	copy = malloc(len + 4);
	if (!copy)
		return false;
	memcpy(copy, c->state, len);
	memcpy(copy + XSTATE_SW, &sw, sizeof(sw));
	memcpy(copy + len, &magic2, 4);
	ok = subject_write(c->subject->pid, state_at, copy, len + 4) &&
	     subject_write(c->subject->pid, c->frame, &frame, sizeof(frame));
	free(copy);
	return ok;
}

/* ---- the interface ---- */

static enum call_result give_up(struct call *c, enum call_result as)
{
	let_go(c);
	free(c->state);
	c->state = NULL;
	c->stopped_ns = mono_ns() - c->begun;
	return as;
}

/* A signal that is on its way, and was the reason for an EINTR. */
static bool has_signal(const struct call *c)
{
	int64_t own = subject_status(c->subject->pid, c->tid, "SigPnd", 16),
		shared = subject_status(c->subject->pid, c->tid, "ShdPnd", 16);

	return ((own > 0 ? (uint64_t)own : 0) | (shared > 0 ? (uint64_t)shared : 0)) & ~c->mask;
}

/* Whether the same call, made again, ends when it would have: its time is no length, but a moment, or there is none. */
static bool is_same_again(const struct user_regs_struct *r)
{
	if (r->orig_rax == SYS_poll)
		return (int32_t)r->rdx < 0;
	return r->orig_rax == SYS_futex && (r->rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/*
 * A call that the kernel does not continue by itself is made again, whatever becomes of this process from here on. So is one that is
 * the same then: the kernel would continue it under another number, restart_syscall(), which does not show for what it waits.
 */
static void repeat_call(struct call *c)
{
	bool repeats = was_interrupted(&c->saved) &&
		       ((int64_t)c->saved.rax == -EINTR || is_same_again(&c->saved));

	if (!repeats || has_signal(c))
		return;
	c->saved = c->restarted;
	trace(PTRACE_SETREGS, c->tid, 0, &c->saved);
}

enum call_result call_begin(struct call *c, const struct subject *t, pid_t tid, int64_t limit_ns,
			    const char **why)
{
	enum call_result rc;
	struct thread_at at;

	*c = (struct call){.subject = t, .tid = tid};
	*why = "its threads cannot be stopped";
	rc = stop(c, limit_ns);
	if (rc != CALL_DONE)
		return rc;
	if (trace(PTRACE_GETREGS, tid, 0, &c->saved) < 0 || !read_state(c))
		return give_up(c, CALL_NOT_SAFE);
	at = (struct thread_at){
		.pc = c->saved.rip,
		.sp = c->saved.rsp,
		.fs_base = c->saved.fs_base,
		.nr = (int64_t)c->saved.orig_rax,
		.args = {c->saved.rdi, c->saved.rsi, c->saved.rdx, c->saved.r10, c->saved.r8,
			 c->saved.r9},
		.is_first = tid == t->pid,
	};
	c->restarted = restarted(c->saved);
	repeat_call(c);
	if (!thread_is_safe(t, &at, why))
		return give_up(c, CALL_NOT_SAFE);
	*why = "its stacks cannot be written";
	if (!write_frame(c))
		return give_up(c, CALL_NOT_SAFE);
	return CALL_DONE;
}

void call_cancel(struct call *c)
{
	give_up(c, CALL_NOT_SAFE);
}

bool call_write_code(const struct call *c, uint64_t address, const void *code, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(long)) {
		long word = 0;

		memcpy(&word, (const char *)code + i,
		       bytes - i < sizeof(word) ? bytes - i : sizeof(word));
		if (trace(PTRACE_POKEDATA, c->tid, address + i, (void *)word) < 0)
			return false;
	}
	return true;
}

/* At the system call that ends the frame, which the kernel has not begun. */
static bool is_at_end(const struct call *c, const struct user_regs_struct *r)
{
	return r->orig_rax == SYS_rt_sigreturn && r->rsp == c->frame + 8 &&
	       (int64_t)r->rax == -ENOSYS;
}

/* Until the function has returned. The thread is at the entry of rt_sigreturn() then. */
static enum call_result follow(struct call *c, int64_t *result)
{
	struct user_regs_struct r;
	bool has_entered = false;
	int status;

	for (;;) {
		status = wait_stop(c->tid, c->until);
		if (status < 0)
			return CALL_GONE;
		if (status == 0) {
			let_running_go(c);
			return CALL_LATE;
		}
		if (is_syscall(status)) {
			if (trace(PTRACE_GETREGS, c->tid, 0, &r) < 0)
				return CALL_GONE;
			if (is_at_end(c, &r))
				return CALL_DONE;
			if (has_entered)
				*result = (int64_t)r.rax;
			has_entered = !has_entered && (int64_t)r.rax == -ENOSYS;
		} else if (!is_interrupt(status) && status >> 16 != PTRACE_EVENT_STOP) {
			/* All others are blocked: the function's own fault. */
			trace(PTRACE_SETSIGMASK, c->tid, sizeof(c->mask), &c->mask);
			trace(PTRACE_SETREGS, c->tid, 0, &c->restarted);
			return CALL_FAULT;
		}
		trace(PTRACE_SYSCALL, c->tid, 0, NULL);
	}
}

enum call_result call_run(struct call *c, uint64_t address, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct r = c->saved;
	uint64_t all = ~UINT64_C(0);
	enum call_result rc;

	r.rip = address;
	r.rdi = args[0];
	r.rsi = args[1];
	r.rdx = args[2];
	r.rcx = args[3];
	r.r8 = args[4];
	r.r9 = args[5];
	r.rax = 0;
	r.orig_rax = UINT64_MAX; /* no system call is restarted, or made */
	r.rsp = c->frame;
	r.eflags &= ~UINT64_C(0x400); /* the direction flag, as the ABI has it */
	if (trace(PTRACE_SETSIGMASK, c->tid, sizeof(all), &all) < 0 ||
	    trace(PTRACE_SETREGS, c->tid, 0, &r) < 0) {
		/* At the first call nothing is changed yet but the mask; later ones end by the frame. */
		trace(PTRACE_SETSIGMASK, c->tid, sizeof(c->mask), &c->mask);
		return give_up(c, CALL_GONE);
	}
	*result = 0;
	trace(PTRACE_SYSCALL, c->tid, 0, NULL);
	rc = follow(c, result);
	if (rc == CALL_FAULT)
		return give_up(c, rc);
	if (rc != CALL_DONE) {
		free(c->state);
		c->state = NULL;
		c->stopped_ns = mono_ns() - c->begun;
	}
	return rc;
}

/*
 * The thread is at the entry of rt_sigreturn(), which would make an interrupted call start anew. It is skipped: the thread gets what
 * the frame has, goes on to the next stop, which is before any of its code, and there gets the state that it was stopped in, of
 * which the kernel continues the call. At each step in between it would end right by itself.
 */
enum call_result call_end(struct call *c)
{
	struct iovec v = {c->state, c->state_len};
	int status;

	trace(PTRACE_SETREGSET, c->tid, NT_X86_XSTATE, &v);
	trace(PTRACE_SETSIGMASK, c->tid, sizeof(c->mask), &c->mask);
	trace(PTRACE_INTERRUPT, c->tid, 0, NULL);
	trace(PTRACE_SETREGS, c->tid, 0, &c->restarted);
	trace(PTRACE_CONT, c->tid, 0, NULL);
	status = wait_stop(c->tid, mono_ns() + STOP_NS);
	if (status < 0) {
		free(c->state);
		return CALL_GONE;
	}
	if (status > 0 && is_interrupt(status)) {
		trace(PTRACE_SETREGS, c->tid, 0, &c->saved);
		return give_up(c, CALL_DONE);
	}
	/* It has what the frame has. */
	if (status > 0)
		trace(PTRACE_DETACH, c->tid, 0, (void *)(uintptr_t)(WSTOPSIG(status) & 0x7f));
	else
		let_running_go(c);
	free(c->state);
	c->state = NULL;
	c->stopped_ns = mono_ns() - c->begun;
	return CALL_DONE;
}
#endif
