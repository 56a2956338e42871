/* scope.h - why the kernel does not let this user trace a process. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Of the security module Yama (Documentation/admin-guide/LSM/Yama.rst); there is none without that module. */
#define SCOPE_FILE "/proc/sys/kernel/yama/ptrace_scope"

/* After a refusal: a sentence that names the rule, by the number in @file (SCOPE_FILE), and the remedy. */
void scope_explain(const char *file, pid_t pid, char *why, size_t why_len);
