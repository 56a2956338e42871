/* pylines.h - from an instruction of a Python code object to its line, by the table that came with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at @offset (bytes; SL_PYLINES_NOT_BEGUN: the first line). @version: 0x030b for 3.11. @table:
 * as much of it as there is. 0: it belongs to no line, or the table does not say.
 */
int pylines_at(int version, const uint8_t *table, size_t len, int first_line, uint32_t offset);

#define SL_PYLINES_NOT_BEGUN (2 * 0xffffffu) /* as sl_frame_offset() has it */
