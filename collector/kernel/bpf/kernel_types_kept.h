/*
 * kernel_types_kept.h - types of this kernel that an earlier recording has taken out, in a file of the user's cache folder.
 *
 * To look through 5 MB of BTF takes a millisecond or more of each recording; the result is the same for a kernel of the same build
 * id, read by the same program for the same names.
 */
#pragma once

#include "collector/kernel/bpf/kernel_types.h"

struct kernel_types_key {
	char magic[8];
	uint8_t build_id[64]; /* of the kernel */
	uint32_t build_id_len, reserved;
	uint64_t btf_bytes, names;                  /* size of its BTF; hash of the names */
	uint64_t device, inode, modified, exe_size; /* of this program */
};

/* False: the kernel has no build id that can be read. @notes: as /sys/kernel/notes. */
bool kernel_types_key(struct kernel_types_key *key, const char *notes, size_t btf_bytes,
		      const char *const *names, size_t name_cnt);
/* True: @t is filled. */
bool kernel_types_recall(struct kernel_types *t, const struct kernel_types_key *key);
void kernel_types_keep(const struct kernel_types *t, const struct kernel_types_key *key);
