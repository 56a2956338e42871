/*
 * glibc.h - versions of the C library's functions that systems since glibc 2.31 have: put before
 * each file of sl-gpu, so that it runs there wherever it was built. Functions that moved from
 * libpthread and libdl into libc (2.34) have their old version in both.
 */
#pragma once

#include <fcntl.h>
#include <features.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
#define PROBE_OLDEST    "GLIBC_2.2.5"
#define PROBE_SCANF     "GLIBC_2.7"
#define PROBE_SETCLOCK  "GLIBC_2.3.3"
#define PROBE_TIMEDJOIN "GLIBC_2.3.3"
#else
#define PROBE_OLDEST    "GLIBC_2.17"
#define PROBE_SCANF     "GLIBC_2.17"
#define PROBE_SETCLOCK  "GLIBC_2.17"
#define PROBE_TIMEDJOIN "GLIBC_2.17"
#endif
#define PROBE_VERSION_OF(name, version) __asm__(".symver " #name ", " #name "@" version)
PROBE_VERSION_OF(dlopen, PROBE_OLDEST);
PROBE_VERSION_OF(dlsym, PROBE_OLDEST);
PROBE_VERSION_OF(dlclose, PROBE_OLDEST);
PROBE_VERSION_OF(dlerror, PROBE_OLDEST);
PROBE_VERSION_OF(pthread_create, PROBE_OLDEST);
PROBE_VERSION_OF(pthread_detach, PROBE_OLDEST);
PROBE_VERSION_OF(pthread_join, PROBE_OLDEST);
PROBE_VERSION_OF(pthread_sigmask, PROBE_OLDEST);
PROBE_VERSION_OF(pthread_condattr_setclock, PROBE_SETCLOCK);
PROBE_VERSION_OF(pthread_timedjoin_np, PROBE_TIMEDJOIN);
PROBE_VERSION_OF(__libc_start_main, PROBE_OLDEST);
/* Headers since 2.38 have other names for these. */
__asm__(".symver __isoc23_strtol, strtol@" PROBE_OLDEST);
__asm__(".symver __isoc23_strtoll, strtoll@" PROBE_OLDEST);
__asm__(".symver __isoc23_strtoul, strtoul@" PROBE_OLDEST);
__asm__(".symver __isoc23_strtoull, strtoull@" PROBE_OLDEST);
__asm__(".symver __isoc23_sscanf, __isoc99_sscanf@" PROBE_SCANF);

/* Functions since 2.33 only; the system call has the structure of the headers on both processors. */
#define stat(path, to)  ((int)syscall(SYS_newfstatat, AT_FDCWD, path, to, 0))
#define fstat(file, to) ((int)syscall(SYS_newfstatat, file, "", to, AT_EMPTY_PATH))
#endif
