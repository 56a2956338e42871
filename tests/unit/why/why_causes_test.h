/* why_causes_test.h - a main thread that waits once, and stacks that give something away. After why_test.h. */
#pragma once

#define LINE_1 "f /me/a.py:1"
#define LINE_2 "f /me/a.py:2"
#define IMPORT "f <frozen importlib._bootstrap>:1; f /me/a.py:3"
#define TRACER "f /lib/libcupti.so.13; g /lib/libcuda.so.1; f /me/a.py:4"

/* It leaves the CPU from 10 to 30, and ends at 40. */
static inline void main_waits(void)
{
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 40);
}
