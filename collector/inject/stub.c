/* stub.c - the code of stub.h, in assembly: it refers to nothing but its data. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/inject/stub.h"

#ifdef __x86_64__
#define AT(member, offset) _Static_assert(offsetof(struct stub_data, member) == (offset), #member)
AT(create, 0);
AT(attr_init, 8);
AT(attr_detach, 16);
AT(attr_stack, 24);
AT(dlopen, 32);
AT(dlsym, 40);
AT(munmap, 48);
AT(stack_bytes, 56);
AT(data_bytes, 64);
AT(created, 72);
AT(seen, 76);
AT(left, 80);
AT(entry, 144);
AT(late, 168);
AT(path, 404);
_Static_assert(sizeof(pthread_attr_t) <= sizeof(((struct stub_data *)0)->left), "attributes fit");
_Static_assert(offsetof(struct sl_late, state) == 0 && offsetof(struct sl_late, error) == 4,
	       "answers are two numbers");

/*
 * The first function: attributes of a detached thread with a small stack, at 0(%rsp); pthread_t at 64(%rsp). It ends by a jump to
 * pthread_attr_setdetachstate(), which sets a bit in `left` and returns behind it: the thread may have come to its end by then,
 * and does not unmap code that is still to be run.
 *
 * The thread: opens the library (RTLD_NOW), looks up its entry, calls it with &data->late. Where one of these fails, it writes why
 * and waits until the collector has read that, for two seconds (200 times nanosleep of 10 ms); likewise where the entry itself has
 * failed. Then it unmaps the data, and the code by a jump to munmap(), which returns to the C library. Where the interrupted thread
 * has not left the code within ten seconds, both stay.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl stub_code\nstub_code:\n"
	"endbr64\n"
	"push %rbx\n"
	"mov %rdi, %rbx\n"
	"sub $80, %rsp\n"
	"mov %rsp, %rdi\n"
	"call *8(%rbx)\n"
	"mov %rsp, %rdi\n"
	"mov $1, %esi\n" /* PTHREAD_CREATE_DETACHED */
	"call *16(%rbx)\n"
	"mov %rsp, %rdi\n"
	"mov 56(%rbx), %rsi\n"
	"call *24(%rbx)\n"
	"lea 64(%rsp), %rdi\n"
	"mov %rsp, %rsi\n"
	"lea 1f(%rip), %rdx\n"
	"mov %rbx, %rcx\n"
	"call *(%rbx)\n"
	"inc %eax\n"
	"mov %eax, 72(%rbx)\n"
	"add $80, %rsp\n"
	"mov 16(%rbx), %rax\n"
	"lea 80(%rbx), %rdi\n"
	"mov $1, %esi\n"
	"pop %rbx\n"
	"jmp *%rax\n"
	/* the thread */
	"1: endbr64\n"
	"push %rbx\n"
	"push %r12\n"
	"push %r13\n"
	"sub $16, %rsp\n"
	"mov %rdi, %rbx\n"
	"mov 48(%rbx), %r12\n"
	"movq $0, (%rsp)\n"
	"movq $10000000, 8(%rsp)\n"
	"mov $1, %r13d\n" /* SL_LATE_NO_LIBRARY */
	"lea 404(%rbx), %rdi\n"
	"mov $2, %esi\n"
	"call *32(%rbx)\n"
	"test %rax, %rax\n"
	"jz 2f\n"
	"mov $2, %r13d\n" /* SL_LATE_NO_ENTRY */
	"mov %rax, %rdi\n"
	"lea 144(%rbx), %rsi\n"
	"call *40(%rbx)\n"
	"test %rax, %rax\n"
	"jz 2f\n"
	"lea 168(%rbx), %rdi\n"
	"call *%rax\n"
	"test %eax, %eax\n"
	"jz 4f\n"
	"jmp 3f\n"
	"2: mov %r13d, 172(%rbx)\n"
	"movl $1, 168(%rbx)\n" /* SL_LATE_FAILED */
	"3: mov $200, %r13d\n"
	"5: cmpl $0, 76(%rbx)\n"
	"jne 4f\n"
	"mov $35, %eax\n" /* nanosleep */
	"mov %rsp, %rdi\n"
	"xor %esi, %esi\n"
	"syscall\n"
	"dec %r13d\n"
	"jnz 5b\n"
	"4: mov $1000, %r13d\n"
	"6: mov 80(%rbx), %rax\n"
	"or 88(%rbx), %rax\n"
	"or 96(%rbx), %rax\n"
	"or 104(%rbx), %rax\n"
	"or 112(%rbx), %rax\n"
	"or 120(%rbx), %rax\n"
	"or 128(%rbx), %rax\n"
	"or 136(%rbx), %rax\n"
	"jnz 7f\n"
	"mov $35, %eax\n"
	"mov %rsp, %rdi\n"
	"xor %esi, %esi\n"
	"syscall\n"
	"dec %r13d\n"
	"jnz 6b\n"
	"add $16, %rsp\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbx\n"
	"xor %eax, %eax\n"
	"ret\n"
	"7: mov %rbx, %rdi\n"
	"mov 64(%rbx), %rsi\n"
	"call *%r12\n"
	"lea stub_code(%rip), %rdi\n"
	"and $-4096, %rdi\n"
	"mov $4096, %esi\n"
	"mov %r12, %rax\n"
	"add $16, %rsp\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbx\n"
	"jmp *%rax\n"
	".globl stub_code_end\nstub_code_end:\n"
	".popsection\n");
#endif
