/* find_program.h - where a program is. */
#pragma once

/* The file that execvp() would run: in PATH, or the name itself where it has a slash. malloc'd; NULL: errno. */
char *sl_find_program(const char *name);
