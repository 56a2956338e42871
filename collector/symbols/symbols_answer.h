/*
 * symbols_answer.h - messages between the collector and the process that reads another user's files. The collector takes that
 * process for hostile: an answer is sound in every length and text, or it is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/symbols/symbols.h"

#define SYMBOLS_ID_MOST      64u
#define SYMBOLS_PATH_MOST    4352u /* bytes of a path and " (deleted)" */
#define SYMBOLS_ANSWER_BYTES (128u << 10)

enum symbols_what {
	SYMBOLS_OPEN = 1, /* of a file; with its descriptor, if there is one */
	SYMBOLS_ASK,      /* an address in it */
};

/* A file is known by its number, in the order of SYMBOLS_OPEN from 0 on. */
struct symbols_request {
	uint32_t what, file;
	uint64_t address;
	uint32_t id_len; /* of the build id; 0: none */
	uint8_t id[SYMBOLS_ID_MOST];
	char path[SYMBOLS_PATH_MOST];
};

/* Of SYMBOLS_OPEN. */
#define SYMBOLS_HAS_IMAGE 1u /* it is the file that was mapped */
#define SYMBOLS_HAS_NAMES 2u

/* An answer: this head, then @cnt frames with their texts. */
struct symbols_answer {
	uint32_t what, file; /* as asked */
	uint32_t state;      /* SYMBOLS_HAS_... */
	uint32_t cnt;
};

/* Bytes of the answer in @to. Where not all frames have room, the innermost are left out. */
size_t symbols_answer_write(uint8_t *to, size_t room, const struct symbols_answer *head,
			    const struct symbols_frame *frame);
/* False: not sound, or of another question than @file and @what. Texts of @frame are those of the message. */
bool symbols_answer_read(const uint8_t *from, size_t len, uint32_t what, uint32_t file,
			 struct symbols_answer *head, struct symbols_frame *frame, size_t most);
