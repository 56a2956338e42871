/* compiler.h - attributes and hints for the compiler: exported, inlined and cold functions. */
#pragma once

#define SL_EXPORT __attribute__((visibility("default")))
/* Code on the path of every call: without the attribute gcc shares one copy between hundreds of wrappers. */
#define SL_HOT  static inline __attribute__((always_inline))
#define SL_COLD __attribute__((cold, noinline))
/* Large buffers that few processes use, behind the other variables: these take few pages (the Makefile sorts sections). */
#define SL_APART       __attribute__((section(".bss.large")))
#define sl_likely(x)   __builtin_expect(!!(x), 1)
#define sl_unlikely(x) __builtin_expect(!!(x), 0)

/* Defines sl_w_NAME under the hooked symbol NAME, so that prototypes of system headers do not conflict. */
#define SL_WRAPPER(ret, name, params)                    \
	SL_EXPORT ret sl_w_##name params __asm__(#name); \
	SL_EXPORT ret sl_w_##name params

/* The compiler must not move ring writes out of the busy section; the CPU needs no fence for that. */
#define sl_barrier() __asm__ volatile("" ::: "memory")

/*
 * Fetches the line of the address for writing: it may be in the cache of a CPU that has read it. The builtin function asks for
 * a line to read, unless the compiler may use instructions of later CPUs; those before ignore prefetchw.
 */
#ifdef __x86_64__
#define sl_prefetch_write(at) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(at)))
#else
#define sl_prefetch_write(at) __builtin_prefetch((at), 1)
#endif

/*
 * For a function that calls a function of libc which the program has not called: libc may want its stack aligned, as the ABI
 * has it, and that of the program, which this library's code does not mind (-mno-sse), may not be.
 */
#ifdef __x86_64__
#define SL_ALIGNS_STACK __attribute__((force_align_arg_pointer, noinline))
#else
#define SL_ALIGNS_STACK
#endif
