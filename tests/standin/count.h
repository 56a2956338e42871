/* count.h - between the stand-ins and libstandin.so, which counts their calls. */
#ifndef STANDIN_COUNT_H
#define STANDIN_COUNT_H

extern int standin_counting;
void standin_count_enter(void *function);
void standin_count_exit(void *function);

#endif
