/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * blockio.bpf.c - requests to block devices: which thread made them, when they were handed to the device, when they were done.
 *
 * A request is known by its address, from the thread that makes it (block_io_start; before Linux 6.5 block_rq_insert, where it
 * waits for its turn, else block_rq_issue) to its end. Requests of programs outside of the tree are left out there and cost
 * no more than a look at each. Devices without requests of their own (zram, device mapper, md) are seen in those below them.
 *
 * Raw tracepoints, and offsets that ctxsw.bpf.c has found: libbpf then has no BTF to parse.
 *
 * Not seen when it ends: a request that the kernel has merged into another one. Its record is
 * overwritten by the next request at its address; without block_io_start, the kernel's stamp in the
 * request distinguishes the two.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "collector/kernel/bpf/blockio.h"
#include "collector/kernel/bpf/maps.h"
#include "collector/kernel/bpf/tree.h"

/* A member of one of the kernel's structs. */
#define READ(type, base, offset)                                                   \
	({                                                                         \
		type value = 0;                                                    \
		bpf_probe_read_kernel(&value, sizeof(value),                       \
				      (void *)((__u64)(base) + config.at.offset)); \
		value;                                                             \
	})
#define PF_KTHREAD 0x200000u
#define OP_MASK    0xffu
#define OP_FLUSH   2u

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct block_config config;
struct block_shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_REQUESTS);
	__type(key, __u64);
	__type(value, struct block_record);
} requests SEC(".maps");
/* The ring's size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

static __always_inline int is_kernel(void)
{
	return (READ(__u32, bpf_get_current_task(), task_flags) & PF_KTHREAD) != 0;
}

static __always_inline int is_wanted(void)
{
	if (*(volatile __u32 *)&shared.is_paused)
		return 0;
	return config.system_wide || is_in_tree((__u32)bpf_get_current_pid_tgid()) || is_kernel();
}

static __always_inline __u64 disk_of(__u64 rq)
{
	if (config.at.rq_disk)
		return READ(__u64, rq, rq_disk);
	return READ(__u64, READ(__u64, rq, rq_queue), queue_disk);
}

static __always_inline void describe(struct block_record *r, __u64 rq)
{
	__u32 bytes = READ(__u32, rq, rq_bytes);
	__u64 disk = disk_of(rq);

	r->sector = READ(__u64, rq, rq_sector);
	if (bytes > r->bytes) /* a request that comes again, for its rest */
		r->bytes = bytes;
	r->operation = READ(__u32, rq, rq_flags) & OP_MASK;
	r->is_known = 1;
	if (!disk)
		return;
	r->major = READ(__u32, disk, disk_major);
	r->minor = READ(__u32, disk, disk_minor);
	bpf_probe_read_kernel_str(r->disk, BLOCK_NAME, (void *)(disk + config.at.disk_name));
}

/* Another request is at that address: the one before was done, or merged before it was handed to the device. */
static __always_inline void count_unended(const struct block_record *r)
{
	if (r && r->issued)
		__sync_fetch_and_add(&shared.lost_end, 1);
}

/* The current thread makes the request at @rq. */
static __noinline struct block_record *begin(__u64 rq, __u64 stamp)
{
	struct block_record r = {.start = bpf_ktime_get_ns(), .stamp = stamp};
	struct bpf_pidns_info id;
	__u64 key = rq;

	if (stamp && stamp < r.start)
		r.start = stamp;
	if (!is_kernel() &&
	    !bpf_get_ns_current_pid_tgid(config.ns_dev, config.ns_ino, &id, sizeof(id))) {
		r.pid = id.tgid;
		r.tid = id.pid;
	}
	bpf_get_current_comm(r.comm, sizeof(r.comm));
	if (bpf_map_update_elem(&requests, &key, &r, BPF_ANY)) {
		__sync_fetch_and_add(&shared.lost_crowd, 1);
		return 0;
	}
	return bpf_map_lookup_elem(&requests, &key);
}

SEC("raw_tp/block_io_start")
int on_start(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0];

	count_unended(bpf_map_lookup_elem(&requests, &key));
	if (is_wanted())
		begin(key, 0);
	else
		bpf_map_delete_elem(&requests, &key); /* of one that was merged */
	return 0;
}

static __always_inline __u64 request_of(struct bpf_raw_tracepoint_args *ctx)
{
	return config.queue_first ? ctx->args[1] : ctx->args[0];
}

/* Returns the request's record, making it if needed; 0: the request is not wanted. */
static __always_inline struct block_record *record_of(__u64 rq)
{
	__u64 key = rq, stamp;
	struct block_record *r = bpf_map_lookup_elem(&requests, &key);

	if (config.has_start) {
		/* The kernel's own request to flush is made without. */
		if (!r && (READ(__u32, rq, rq_flags) & OP_MASK) == OP_FLUSH && is_wanted())
			r = begin(rq, READ(__u64, rq, rq_start));
		return r;
	}
	stamp = READ(__u64, rq, rq_start);
	if (r && r->stamp == stamp)
		return r;
	count_unended(r);
	if (is_wanted())
		return begin(rq, stamp);
	if (r)
		bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("raw_tp/block_rq_insert")
int on_insert(struct bpf_raw_tracepoint_args *ctx)
{
	record_of(request_of(ctx));
	return 0;
}

SEC("raw_tp/block_rq_issue")
int on_issue(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 rq = request_of(ctx);
	struct block_record *r = record_of(rq);

	if (r) {
		describe(r, rq);
		r->issued = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("raw_tp/block_rq_complete")
int on_done(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0];
	struct block_record *r = bpf_map_lookup_elem(&requests, &key);

	if (!r)
		return 0;
	/* A part of it. */
	if ((__u32)ctx->args[2] < READ(__u32, key, rq_bytes))
		return 0;
	if (!r->is_known)
		describe(r, key);
	r->has_failed = (__u8)ctx->args[1] != 0; /* a blk_status_t; before, -errno */
	r->end = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&ring, r, sizeof(*r),
			       bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes
				       ? BPF_RB_FORCE_WAKEUP
				       : BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&shared.lost_full, 1);
	else
		__sync_fetch_and_add(&shared.sent, 1);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
