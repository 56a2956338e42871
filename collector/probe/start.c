/*
 * start.c - where sl-gpu begins: as the C library's own first code does, but with that version of __libc_start_main which all
 * systems have (glibc.h). There are no constructors that it would have to run.
 */
int main(int argc, char **argv);

#if defined(__x86_64__)
__asm__(".text\n.globl _start\n.type _start, @function\n"
	"_start:\n\t.cfi_startproc\n\t.cfi_undefined rip\n"
	"\txorl %ebp, %ebp\n"
	"\tmovq %rdx, %r9\n" /* what the loader wants to be called at the end */
	"\tpopq %rsi\n"
	"\tmovq %rsp, %rdx\n"
	"\tandq $-16, %rsp\n"
	"\tpushq %rax\n"
	"\tpushq %rsp\n"
	"\txorl %r8d, %r8d\n"
	"\txorl %ecx, %ecx\n"
	"\tleaq main(%rip), %rdi\n"
	"\tcall *__libc_start_main@GOTPCREL(%rip)\n"
	"\thlt\n\t.cfi_endproc\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl _start\n.type _start, %function\n"
	"_start:\n\t.cfi_startproc\n\t.cfi_undefined x30\n"
	"\tmov x29, #0\n"
	"\tmov x30, #0\n"
	"\tmov x5, x0\n" /* what the loader wants to be called at the end */
	"\tldr x1, [sp]\n"
	"\tadd x2, sp, #8\n"
	"\tmov x6, sp\n"
	"\tadrp x0, main\n"
	"\tadd x0, x0, :lo12:main\n"
	"\tmov x3, #0\n"
	"\tmov x4, #0\n"
	"\tbl __libc_start_main\n"
	"\tbrk #0\n\t.cfi_endproc\n");
#endif
