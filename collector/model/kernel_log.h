/*
 * kernel_log.h - the kernel's log about a process: a segmentation fault with its address, the OOM killer with its reason.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Passes the newest lines that name the process, at most KERNEL_LOG_LINES, the oldest first; those before @since (CLOCK_MONOTONIC, ns, as far
 * as the log has it) are of another process with this number. Does nothing where the log cannot be read, and in a PID namespace, whose
 * numbers the log does not have.
 */
typedef void kernel_log_line(void *ctx, const char *line);
void kernel_log_lines(uint32_t pid, int64_t since, kernel_log_line *line, void *ctx);

#define KERNEL_LOG_LINES 4

/* Does the text of a record name the process? "a.out[17]: segfault", "Killed process 17 (a.out)", "pid=17,". */
int kernel_log_names(const char *text, uint32_t pid);
/* The text of a record of /dev/kmsg, up to its first newline; NULL: it is none, or older than @since. It is changed. */
char *kernel_log_text(char *record, int64_t since);
