/*
 * gpu_entry.c - the entries of GPU libraries' functions, and the record of a call.
 *
 * Four thousand functions share one forwarder: each entry loads its number and jumps there. The forwarder saves the
 * argument registers, calls sl_gpu_enter(), copies the stack arguments, calls the real function, and passes its results
 * through sl_gpu_leave(). Of the prototype it needs only the number of words on the stack (gpu.h: abi). It has CFI for
 * unwinders, and never replaces a return address.
 */
#include "preload/gpu/gpu_engine.h"
#include "preload/core/stack.h"

#include <string.h>

#define ENTRY_BYTES 16
#define TO_TEXT(x)  #x
#define TEXT(x)     TO_TEXT(x)

struct sl_gpu_function_state *sl_gpu_state;
SL_APART __attribute__((visibility("hidden"))) uint8_t sl_gpu_stack_words[SL_GPU_FUNCTION_CNT];

/* The forwarder's stack frame; the assembly has its offsets. */
struct frame {
	uint64_t reg[8];       /* 0: integer argument registers (six on x86-64) */
	const uint64_t *stack; /* 64: the caller's arguments in memory */
	uint64_t number;       /* 72 */
	uint64_t is_recorded;  /* 80: enum way */
	uint64_t result[2];    /* 88 */
	struct sl_call call;   /* 104 */
};
_Static_assert(offsetof(struct frame, stack) == 64, "known to the assembly");
_Static_assert(offsetof(struct frame, number) == 72, "known to the assembly");
_Static_assert(offsetof(struct frame, is_recorded) == 80, "known to the assembly");
_Static_assert(offsetof(struct frame, result) == 88, "known to the assembly");
_Static_assert(sizeof(struct frame) <= 144, "known to the assembly");

/* 0: the forwarder tail-calls the function, without sl_gpu_leave(). */
enum way {
	IS_PASSED_ON = 0,
	IS_RECORDED = 1,
	IS_COUNTED = 2, /* of a communicator, while nothing is recorded */
};

__attribute__((used, visibility("hidden"))) void *sl_gpu_enter(struct frame *f);
__attribute__((used, visibility("hidden"))) void sl_gpu_leave(struct frame *f);

/* Whether a call that has returned has initialized the driver, or been made after that. */
static bool is_after_init(const struct sl_gpu_function_state *fn)
{
	return fn->is_cuda || __atomic_load_n(&sl_gpu_is_initialized, __ATOMIC_ACQUIRE);
}

/* Whether the call is made by a call of the same library. Stale after a longjmp or an exception, if it is not nested in that. */
static bool is_nested(const struct frame *f)
{
	return (sl_tls.depth & ~SL_DEPTH_MONO && (char *)f < sl_tls.outer_frame) ||
	       (sl_tls.counted_frame && (char *)f < sl_tls.counted_frame);
}

/* Returns the function to call. */
void *sl_gpu_enter(struct frame *f)
{
	struct sl_gpu_function_state *fn = &sl_gpu_state[f->number];
	bool is_second =
		__atomic_load_n(&sl_gpu_cupti_state, __ATOMIC_RELAXED) == SL_GPU_CUPTI_LOADED;

	f->is_recorded = IS_PASSED_ON;
	if (sl_unlikely(sl_tls.gpu_inside & fn->family)) {
		if (is_nested(f))
			return fn->real;
		sl_tls.gpu_inside = 0;
		sl_tls.counted_frame = NULL;
	}
	if (sl_unlikely(__atomic_load_n(&sl_gpu_cupti_state, __ATOMIC_RELAXED) <=
			SL_GPU_CUPTI_LOADING) &&
	    fn->is_cuda)
		sl_gpu_start_cupti();
	else if (sl_unlikely(__atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED) != sl_gate()))
		sl_gpu_follow_gate();
	if (!sl_enter(&f->call)) {
		/* Tail-called functions do not return here: a second call shows that the first has returned. */
		if (sl_unlikely(is_second) && is_after_init(fn))
			sl_gpu_after_first_call();
		if (sl_unlikely(fn->comm.kind) && sl_proc.cookie >= SL_COOKIE_FIRST) {
			sl_tls.gpu_inside |= fn->family;
			sl_tls.counted_frame = (char *)f;
			f->is_recorded = IS_COUNTED;
		}
		return fn->real;
	}
	sl_tls.gpu_inside |= fn->family;
	f->is_recorded = IS_RECORDED;
	return fn->real;
}

static uint64_t word(const struct frame *f, unsigned where)
{
	return where < SL_GPU_STACK ? f->reg[where] : f->stack[where - SL_GPU_STACK];
}

/* Only after success: then the library has read the array. */
static uint64_t sum_at(uint64_t at, const struct sl_gpu_arg *a, uint64_t cnt)
{
	uint64_t sum = 0;

	for (; cnt; cnt--, at += a->step)
		sum += *(const uint64_t *)(at + a->offset);
	return sum;
}

/* FNV-1a. */
static uint64_t hash_of(const void *at, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (const uint8_t *p = at, *end = p + bytes; p < end; p++)
		hash = (hash ^ *p) * 0x100000001b3u;
	return hash;
}

static void put_args(const struct frame *f, const struct sl_gpu_function_state *fn, bool ok,
		     uint64_t *to)
{
	for (unsigned i = 0; i < fn->arg_cnt; i++) {
		const struct sl_gpu_arg *a = &fn->arg[i];
		uint64_t v = word(f, a->where);

		switch (a->how) {
		case SL_GPU_HOW_LOW:
			v = (uint32_t)v;
			break;
		case SL_GPU_HOW_HIGH:
			v >>= 32;
			break;
		case SL_GPU_HOW_AT:
			v = ok && v ? *(const uint64_t *)(v + fn->arg[i].offset) : 0;
			break;
		case SL_GPU_HOW_INT_AT:
			v = ok && v ? *(const uint32_t *)(v + fn->arg[i].offset) : 0;
			break;
		case SL_GPU_HOW_SUM:
			v = ok && v ? sum_at(v, a, to[i - 1]) : 0;
			break;
		case SL_GPU_HOW_TYPE:
			v = sl_gpu_mpi_type_bytes(v);
			break;
		case SL_GPU_HOW_HASH:
			v = hash_of(&f->stack[a->where - SL_GPU_STACK], a->step);
			break;
		case SL_GPU_HOW_HASH_AT:
			v = ok && v ? hash_of((const void *)v, a->step) : 0;
			break;
		}
		to[i] = v;
	}
}

/* The 32 bits to record. 0 if it is no status, which could look like an error. */
static uint32_t result_of(const struct sl_gpu_function_state *fn, int64_t value)
{
	if (sl_unlikely(fn->returns == SL_GPU_RETURNS_COUNT))
		return value > INT32_MAX ? INT32_MAX : (uint32_t)value;
	return sl_unlikely(fn->returns == SL_GPU_RETURNS_OTHER) ? 0 : (uint32_t)value;
}

/* The number of the call on its communicator, 0: none. */
static uint64_t follow_comm(struct frame *f, const struct sl_gpu_function_state *fn,
			    uint32_t result)
{
	uint64_t args[SL_GPU_ARGS];
	struct sl_gpu_comm_call c = {
		.use = &fn->comm,
		.word = args,
		.config = fn->comm.config == UINT8_MAX ? 0 : word(f, fn->comm.config),
		.result = result,
		.is_recorded = f->is_recorded == IS_RECORDED,
		.put = sl_gpu_put_record,
		.count = (int (*)(void *, int *))sl_gpu_state[SL_G_ncclCommCount].real,
		.own = (int (*)(void *, int *))sl_gpu_state[SL_G_ncclCommUserRank].real,
	};

	if (result && (fn->comm.is_mpi || result != SL_GPU_COMM_IN_PROGRESS))
		return 0;
	if (c.is_recorded)
		c.start = f->call.start;
	put_args(f, fn, true, args);
	return sl_gpu_comm_called(&c);
}

static void leave_counted(struct frame *f, const struct sl_gpu_function_state *fn, uint32_t result)
{
	sl_tls.gpu_inside &= ~(uint32_t)fn->family;
	sl_tls.counted_frame = NULL;
	if (sl_proc.cookie >= SL_COOKIE_FIRST)
		follow_comm(f, fn, result);
}

void sl_gpu_leave(struct frame *f)
{
	const struct sl_gpu_function_state *fn = &sl_gpu_state[f->number];
	uint32_t result = result_of(fn, (int64_t)f->result[0]), stack = 0;
	uint64_t *w, number = 0;
	unsigned words;

	if (sl_unlikely(f->is_recorded == IS_COUNTED)) {
		leave_counted(f, fn, result);
		return;
	}
	sl_stop(&f->call);
	sl_tls.gpu_inside &= ~(uint32_t)fn->family;
	/* The child of a fork inside the call: the state is the parent's. */
	if (sl_proc.cookie < SL_COOKIE_FIRST)
		return;
	if (sl_unlikely(fn->comm.kind))
		number = follow_comm(f, fn, result);
	if (sl_unlikely(f->call.duration >= fn->stack_ticks))
		stack = sl_stack_take(&f->call, SL_STACK_OF_GPU);
	if (!sl_begin_write())
		return;
	words = 3u + fn->arg_cnt + (number != 0) + (f->call.duration >> 32 != 0);
	if (sl_unlikely(stack))
		sl_stack_put(&f->call, stack, words);
	w = sl_room(words, SL_NO_CALL(SL_LOST_GPU), &f->call);
	if (w) {
		w = sl_put_head(w, (enum sl_hook)f->number, words, &f->call, SL_SHAPE_API, 0);
		w[0] = result | (uint64_t)(fn->arg_cnt + (number != 0)) << 32;
		put_args(f, fn, result == 0, w + 1);
		if (number)
			w[1 + fn->arg_cnt] = number;
		sl_commit(w + 1 + fn->arg_cnt + (number != 0));
	}
	sl_end_write();
	if (sl_unlikely(sl_gpu_cupti_state == SL_GPU_CUPTI_LOADED) && is_after_init(fn))
		sl_gpu_after_first_call();
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".hidden sl_gpu_entries\n"
	".globl sl_gpu_entries\n"
	"sl_gpu_entries:\n"
	".set sl_gpu_i, 0\n"
	".rept " TEXT(
		SL_GPU_ENTRY_MAX) "\n"
				  "  .byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
				  "  .byte 0x41, 0xbb\n"             /* mov $number, %r11d */
				  "  .long sl_gpu_i\n"
				  "  .byte 0xe9\n" /* jmp, always with 32 bits */
				  "  .long sl_gpu_forward - . - 4\n"
				  "  .byte 0xcc\n"
				  "  .set sl_gpu_i, sl_gpu_i + 1\n"
				  ".endr\n"
				  ".p2align 4\n"
				  ".type sl_gpu_forward,@function\n"
				  "sl_gpu_forward:\n"
				  ".cfi_startproc\n"
				  "  push %rbp\n"
				  ".cfi_def_cfa_offset 16\n"
				  ".cfi_offset %rbp, -16\n"
				  "  mov %rsp, %rbp\n"
				  ".cfi_def_cfa_register %rbp\n"
				  /* frame at rbp-144, SSE registers at rbp-272 */
				  "  sub $272, %rsp\n"
				  "  mov %rdi, -144(%rbp)\n"
				  "  mov %rsi, -136(%rbp)\n"
				  "  mov %rdx, -128(%rbp)\n"
				  "  mov %rcx, -120(%rbp)\n"
				  "  mov %r8, -112(%rbp)\n"
				  "  mov %r9, -104(%rbp)\n"
				  "  lea 16(%rbp), %rax\n"
				  "  mov %rax, -80(%rbp)\n"
				  "  mov %r11, -72(%rbp)\n"
				  "  lea sl_gpu_stack_words(%rip), %rax\n"
				  "  cmpb $0, (%rax,%r11)\n"
				  "  jge 1f\n"
				  "  movups %xmm0, -272(%rbp)\n"
				  "  movups %xmm1, -256(%rbp)\n"
				  "  movups %xmm2, -240(%rbp)\n"
				  "  movups %xmm3, -224(%rbp)\n"
				  "  movups %xmm4, -208(%rbp)\n"
				  "  movups %xmm5, -192(%rbp)\n"
				  "  movups %xmm6, -176(%rbp)\n"
				  "  movups %xmm7, -160(%rbp)\n"
				  "1: lea -144(%rbp), %rdi\n"
				  "  call sl_gpu_enter\n"
				  "  mov %rax, %r11\n"
				  "  mov -72(%rbp), %r10\n"
				  "  lea sl_gpu_stack_words(%rip), %rax\n"
				  "  movzbl (%rax,%r10), %ecx\n"
				  "  test $128, %cl\n"
				  "  je 2f\n"
				  "  movups -272(%rbp), %xmm0\n"
				  "  movups -256(%rbp), %xmm1\n"
				  "  movups -240(%rbp), %xmm2\n"
				  "  movups -224(%rbp), %xmm3\n"
				  "  movups -208(%rbp), %xmm4\n"
				  "  movups -192(%rbp), %xmm5\n"
				  "  movups -176(%rbp), %xmm6\n"
				  "  movups -160(%rbp), %xmm7\n"
				  "2: cmpq $0, -64(%rbp)\n"
				  "  je 5f\n"
				  /* the caller's words on the stack, an even number of them */
				  "  and $127, %ecx\n"
				  "  je 4f\n"
				  "  lea 1(%rcx), %eax\n"
				  "  and $-2, %eax\n"
				  "  shl $3, %eax\n"
				  "  sub %rax, %rsp\n"
				  "3: mov 8(%rbp,%rcx,8), %rax\n"
				  "  mov %rax, -8(%rsp,%rcx,8)\n"
				  "  dec %ecx\n"
				  "  jne 3b\n"
				  "4: mov -144(%rbp), %rdi\n"
				  "  mov -136(%rbp), %rsi\n"
				  "  mov -128(%rbp), %rdx\n"
				  "  mov -120(%rbp), %rcx\n"
				  "  mov -112(%rbp), %r8\n"
				  "  mov -104(%rbp), %r9\n"
				  "  call *%r11\n"
				  "  mov %rax, -56(%rbp)\n"
				  "  mov %rdx, -48(%rbp)\n"
				  "  movups %xmm0, -160(%rbp)\n"
				  "  lea -144(%rbp), %rdi\n"
				  "  call sl_gpu_leave\n"
				  "  movups -160(%rbp), %xmm0\n"
				  "  mov -48(%rbp), %rdx\n"
				  "  mov -56(%rbp), %rax\n"
				  "  leave\n"
				  ".cfi_remember_state\n"
				  ".cfi_def_cfa %rsp, 8\n"
				  ".cfi_restore %rbp\n"
				  "  ret\n"
				  ".cfi_restore_state\n"
				  "5: mov -144(%rbp), %rdi\n"
				  "  mov -136(%rbp), %rsi\n"
				  "  mov -128(%rbp), %rdx\n"
				  "  mov -120(%rbp), %rcx\n"
				  "  mov -112(%rbp), %r8\n"
				  "  mov -104(%rbp), %r9\n"
				  "  leave\n"
				  ".cfi_def_cfa %rsp, 8\n"
				  ".cfi_restore %rbp\n"
				  "  jmp *%r11\n"
				  ".cfi_endproc\n"
				  ".size sl_gpu_forward,.-sl_gpu_forward\n"
				  ".popsection\n");
#elif defined(__aarch64__)
/* x17 carries the number: the linker's scratch register, free at a call's beginning. */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".hidden sl_gpu_entries\n"
	".globl sl_gpu_entries\n"
	"sl_gpu_entries:\n"
	".set sl_gpu_i, 0\n"
	".rept " TEXT(
		SL_GPU_ENTRY_MAX) "\n"
				  "  hint #34\n" /* bti c */
				  "  mov w17, #sl_gpu_i\n"
				  "  b sl_gpu_forward\n"
				  "  nop\n"
				  "  .set sl_gpu_i, sl_gpu_i + 1\n"
				  ".endr\n"
				  ".type sl_gpu_forward,%function\n"
				  "sl_gpu_forward:\n"
				  ".cfi_startproc\n"
				  "  stp x29, x30, [sp, #-16]!\n"
				  ".cfi_def_cfa_offset 16\n"
				  ".cfi_offset x29, -16\n"
				  ".cfi_offset x30, -8\n"
				  "  mov x29, sp\n"
				  ".cfi_def_cfa_register x29\n"
				  /* frame at x29-144, SIMD registers at x29-272, x8 at x29-288 */
				  "  sub sp, sp, #288\n"
				  "  stp x0, x1, [x29, #-144]\n"
				  "  stp x2, x3, [x29, #-128]\n"
				  "  stp x4, x5, [x29, #-112]\n"
				  "  stp x6, x7, [x29, #-96]\n"
				  "  add x9, x29, #16\n"
				  "  stp x9, x17, [x29, #-80]\n"
				  "  stp q0, q1, [x29, #-272]\n"
				  "  stp q2, q3, [x29, #-240]\n"
				  "  stp q4, q5, [x29, #-208]\n"
				  "  stp q6, q7, [x29, #-176]\n"
				  "  str x8, [sp]\n"
				  "  sub x0, x29, #144\n"
				  "  bl sl_gpu_enter\n"
				  "  mov x16, x0\n"
				  "  ldr x8, [sp]\n"
				  "  ldp q0, q1, [x29, #-272]\n"
				  "  ldp q2, q3, [x29, #-240]\n"
				  "  ldp q4, q5, [x29, #-208]\n"
				  "  ldp q6, q7, [x29, #-176]\n"
				  "  ldr x9, [x29, #-64]\n"
				  "  cbz x9, 5f\n"
				  "  ldr x9, [x29, #-72]\n"
				  "  adrp x10, sl_gpu_stack_words\n"
				  "  add x10, x10, :lo12:sl_gpu_stack_words\n"
				  "  ldrb w9, [x10, x9]\n"
				  "  and x9, x9, #127\n"
				  "  cbz x9, 4f\n"
				  "  add x11, x9, #1\n"
				  "  and x11, x11, #-2\n"
				  "  sub sp, sp, x11, lsl #3\n"
				  "  mov x12, sp\n"
				  "  add x13, x29, #16\n"
				  "3: sub x9, x9, #1\n"
				  "  ldr x14, [x13, x9, lsl #3]\n"
				  "  str x14, [x12, x9, lsl #3]\n"
				  "  cbnz x9, 3b\n"
				  "4: ldp x0, x1, [x29, #-144]\n"
				  "  ldp x2, x3, [x29, #-128]\n"
				  "  ldp x4, x5, [x29, #-112]\n"
				  "  ldp x6, x7, [x29, #-96]\n"
				  "  blr x16\n"
				  "  stp x0, x1, [x29, #-56]\n"
				  "  stp q0, q1, [x29, #-272]\n"
				  "  sub x0, x29, #144\n"
				  "  bl sl_gpu_leave\n"
				  "  ldp q0, q1, [x29, #-272]\n"
				  "  ldp x0, x1, [x29, #-56]\n"
				  "  mov sp, x29\n"
				  "  ldp x29, x30, [sp], #16\n"
				  ".cfi_remember_state\n"
				  ".cfi_def_cfa sp, 0\n"
				  ".cfi_restore x29\n"
				  ".cfi_restore x30\n"
				  "  ret\n"
				  ".cfi_restore_state\n"
				  "5: ldp x0, x1, [x29, #-144]\n"
				  "  ldp x2, x3, [x29, #-128]\n"
				  "  ldp x4, x5, [x29, #-112]\n"
				  "  ldp x6, x7, [x29, #-96]\n"
				  "  mov sp, x29\n"
				  "  ldp x29, x30, [sp], #16\n"
				  ".cfi_def_cfa sp, 0\n"
				  ".cfi_restore x29\n"
				  ".cfi_restore x30\n"
				  "  br x16\n"
				  ".cfi_endproc\n"
				  ".size sl_gpu_forward,.-sl_gpu_forward\n"
				  ".popsection\n");
#endif
_Static_assert(SL_GPU_FUNCTION_CNT <= SL_GPU_ENTRY_MAX, "every function has an entry");

extern const char sl_gpu_entries[] __attribute__((visibility("hidden")));

void *sl_gpu_entry(unsigned number)
{
	return (void *)(uintptr_t)(sl_gpu_entries + (size_t)number * ENTRY_BYTES);
}
