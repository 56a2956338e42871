/*
 * jump.h - stubs for functions that must not be called from a wrapper, because they read their caller's frame or return
 * through it: a plan, in C, returns an address, and the stub jumps there with unchanged stack and registers.
 */
#pragma once

/* Defines a plan, which only the stub refers to. */
#define JUMP_PLAN(name, params)                                        \
	__attribute__((used, visibility("hidden"))) void *name params; \
	void *name params

/*
 * Defines the stub of @name: calls plan(arg0, arg1, return address) and jumps to its result. All argument
 * registers and the stack arguments are preserved.
 */
#if defined(__x86_64__)
#define JUMP_STUB(name, plan)                                                           \
	__asm__(".pushsection .text\n"                                                  \
		".globl " #name "\n.type " #name ",@function\n.p2align 4\n" #name ":\n" \
		".cfi_startproc\n"                                                      \
		"endbr64\n"                                                             \
		"push %rdi\n.cfi_adjust_cfa_offset 8\n"                                 \
		"push %rsi\n.cfi_adjust_cfa_offset 8\n"                                 \
		"push %rdx\n.cfi_adjust_cfa_offset 8\n"                                 \
		"push %rcx\n.cfi_adjust_cfa_offset 8\n"                                 \
		"push %r8\n.cfi_adjust_cfa_offset 8\n"                                  \
		"push %r9\n.cfi_adjust_cfa_offset 8\n"                                  \
		"push %rax\n.cfi_adjust_cfa_offset 8\n"                                 \
		"mov 56(%rsp), %rdx\n"                                                  \
		"call " #plan "\n"                                                      \
		"mov %rax, %r11\n"                                                      \
		"pop %rax\n.cfi_adjust_cfa_offset -8\n"                                 \
		"pop %r9\n.cfi_adjust_cfa_offset -8\n"                                  \
		"pop %r8\n.cfi_adjust_cfa_offset -8\n"                                  \
		"pop %rcx\n.cfi_adjust_cfa_offset -8\n"                                 \
		"pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                 \
		"pop %rsi\n.cfi_adjust_cfa_offset -8\n"                                 \
		"pop %rdi\n.cfi_adjust_cfa_offset -8\n"                                 \
		"jmp *%r11\n"                                                           \
		".cfi_endproc\n.size " #name ",.-" #name "\n.popsection\n")
#elif defined(__aarch64__)
#define JUMP_STUB(name, plan)                                                           \
	__asm__(".pushsection .text\n"                                                  \
		".globl " #name "\n.type " #name ",%function\n.p2align 4\n" #name ":\n" \
		".cfi_startproc\n"                                                      \
		"stp x29, x30, [sp, #-80]!\n.cfi_adjust_cfa_offset 80\n"                \
		".cfi_rel_offset x30, 8\n"                                              \
		"stp x0, x1, [sp, #16]\n"                                               \
		"stp x2, x3, [sp, #32]\n"                                               \
		"stp x4, x5, [sp, #48]\n"                                               \
		"stp x6, x7, [sp, #64]\n"                                               \
		"mov x2, x30\n"                                                         \
		"bl " #plan "\n"                                                        \
		"mov x16, x0\n"                                                         \
		"ldp x6, x7, [sp, #64]\n"                                               \
		"ldp x4, x5, [sp, #48]\n"                                               \
		"ldp x2, x3, [sp, #32]\n"                                               \
		"ldp x0, x1, [sp, #16]\n"                                               \
		"ldp x29, x30, [sp], #80\n.cfi_adjust_cfa_offset -80\n"                 \
		"br x16\n"                                                              \
		".cfi_endproc\n.size " #name ",.-" #name "\n.popsection\n")
#endif
