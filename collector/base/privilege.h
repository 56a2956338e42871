/* privilege.h - rights of this process, and the processes that it may watch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool privilege_has(int cap);
/* The same where it is not one that a user namespace gives over its own things only. */
bool privilege_has_on_machine(int cap);

/*
 * With capabilities of its file (setcap) this program can watch every process, though its user may not: then only
 * processes are watched that the user could trace, those of the same user ids. Without, the kernel decides. From an exec of
 * another user's program on: ctxsw.bpf.c.
 */
bool privilege_may_watch(uint32_t pid);
/* Likewise, by the kernel's own rule of ptrace; which also refuses a child of this program that has not run the user's yet. */
bool privilege_may_trace(uint32_t pid);
/* Likewise, all processes of the machine. */
bool privilege_may_watch_all(void);

/* The commands that give this binary @caps ("cap_a,cap_b") for members of a group. */
void privilege_fix(const char *caps, char *fix, size_t fix_len);
