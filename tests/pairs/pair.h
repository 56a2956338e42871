/* pair.h - what the pairs in C share. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In the line that waits. */
#define wait_ms(ms) ((void)usleep((ms)*1000))

static inline bool is_bad(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "bad") == 0;
}
