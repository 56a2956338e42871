/*
 * cuda_image.h - what is in a module's image: the names of PTX and of machine code (ELF), as public tools show them. A fat
 * binary, and the images of tests that have nothing in them, say nothing: there every kernel is found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_symbol {
	struct image_symbol *next;
	bool is_kernel;   /* else a variable */
	size_t bytes;     /* of a variable */
	void *initial;    /* its content, or NULL: zeroes */
	uint64_t address; /* device memory of a variable, once asked for */
	char name[];
};

bool image_is_ptx(const char *image);
/* The symbols in @list, to be freed by image_free. false: the contents cannot be read. */
bool image_read(const void *image, struct image_symbol **list);
struct image_symbol *image_find(struct image_symbol *list, const char *name, bool is_kernel);
void image_free(struct image_symbol *list);
