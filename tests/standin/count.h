/* count.h - between the stand-ins and libstandin.so, which counts their calls. */
#pragma once

extern int standin_counting;
void standin_count_enter(void *function);
void standin_count_exit(void *function);
/* The GPU does it: 0 a kernel, 1 a copy, 2 a memset, 3 a graph; is_node: as a part of a graph. */
void standin_count_work(unsigned kind, int is_node);
