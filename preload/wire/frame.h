/*
 * frame.h - one frame of a stack in 64 bits, from the unwinder to the symbolizer.
 *
 * The top byte holds flags; the rest is the address, or a Python code object and an offset. Frames of a stack: the
 * innermost first, native ones before those of Python. Nothing is symbolized when a stack is taken.
 */
#pragma once

#include <stdint.h>

#define SL_FRAME_EXACT \
	(UINT64_C(1) << 63) /* the interrupted instruction itself, not a return address */
#define SL_FRAME_BY_FP \
	(UINT64_C(1) << 62) /* found by the frame pointer; else by an unwinding table */
#define SL_FRAME_REMARK \
	(UINT64_C(1) << 61) /* no frame but an enum sl_remark: why the stack is incomplete */
/* Python: code id | instruction's offset in bytes / 2 << 32 (24 bits). 0xffffff: it has not begun. Code id 0, with ENTRY:
 * the interpreter's loop runs without a Python frame (it releases references): stands for one native frame. */
#define SL_FRAME_PYTHON (UINT64_C(1) << 60)
/* Python: C code entered the interpreter for this frame: one native frame of the interpreter's loop covers this frame and
 * the frames before it without this flag. */
#define SL_FRAME_ENTRY  (UINT64_C(1) << 59)
#define SL_FRAME_KERNEL (UINT64_C(1) << 58) /* address in the kernel: sign-extend from bit 55 */
#define SL_FRAME_MARKS  (UINT64_C(0xff) << 56)

#define SL_FRAME_MAX 512u /* words of one stack at most, remarks included */

/* Numbers are stored: append only. Texts are in collector/remarks. */
enum sl_remark {
	SL_REMARK_NONE = 0,
	SL_REMARK_DEPTH, /* the depth limit was reached */
	SL_REMARK_NO_TABLE, /* this code has no unwinding table and no frame pointer: the callers are unknown */
	SL_REMARK_BROKEN, /* the caller's frame is at an impossible address: the stack is damaged, or the table wrong */
	SL_REMARK_MEMORY,        /* the stack's memory cannot be read further */
	SL_REMARK_PYTHON,        /* a Python of unknown layout: its frames are missing */
	SL_REMARK_PYTHON_BROKEN, /* Python's frames are inconsistent from here on */
	SL_REMARK_LOST,          /* the stack's record was lost */
};

static inline uint64_t sl_frame_address(uint64_t frame)
{
	uint64_t address = frame & ~SL_FRAME_MARKS;

	return frame & SL_FRAME_KERNEL ? address | SL_FRAME_MARKS : address;
}
static inline uint64_t sl_frame_python(uint32_t code, uint32_t offset_bytes)
{
	return SL_FRAME_PYTHON | code | (uint64_t)(offset_bytes / 2 & 0xffffff) << 32;
}
static inline uint32_t sl_frame_code(uint64_t frame)
{
	return (uint32_t)frame;
}
static inline uint32_t sl_frame_offset(uint64_t frame) /* bytes; 2 * 0xffffff: not begun */
{
	return (uint32_t)(frame >> 32 & 0xffffff) * 2;
}
