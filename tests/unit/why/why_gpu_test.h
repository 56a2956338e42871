/* why_gpu_test.h - a main thread that launches once, and waits. After why_test.h. */
#pragma once

#define LAUNCHES "f /me/a.py:2"
#define WAITS    "f /me/a.py:3"
#define SECOND   "g /me/a.py:8"

/* The main thread launches from 10 to 11, and waits from 12 to 31. Its parts without the 19 of the wait: 41. */
static inline void program(void)
{
	report(60);
	runs(MAIN, 0, 12);
	runs(MAIN, 31, 60);
	cuda(MAIN, "cudaLaunchKernel", 10, 11, LAUNCHES, 1);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 31, WAITS, 2);
}
