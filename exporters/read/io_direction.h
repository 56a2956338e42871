/* io_direction.h - which way bytes go in a function of the C library, by its name. */
#ifndef SL_IO_WAY_H
#define SL_IO_WAY_H

enum io_way {
	IO_NONE,
	IO_IN,
	IO_OUT
};

enum io_way io_way_of(const char *function);

#endif
