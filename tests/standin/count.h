/* count.h - between the stand-ins and libstandin.so, which counts their calls. */
#pragma once

extern int standin_counting;
void standin_count_enter(void *function);
void standin_count_exit(void *function);
