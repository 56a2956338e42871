/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ctxsw.h - records and maps shared by the kernel half (ctxsw.bpf.c) and its user half (sched_bpf.c).
 *
 * Every id in here is global (of the initial PID namespace); only struct rec_task carries ids of the
 * collector's namespace as well, once per thread, so that a switch pays nothing for containers.
 * Both halves are always built together: the layout may change freely.
 */
#pragma once

#ifdef __bpf__
typedef __u8 ctxsw_u8;
typedef __u16 ctxsw_u16;
typedef __u32 ctxsw_u32;
typedef __u64 ctxsw_u64;
#else
#include <stdint.h>
typedef uint8_t ctxsw_u8;
typedef uint16_t ctxsw_u16;
typedef uint32_t ctxsw_u32;
typedef uint64_t ctxsw_u64;
#endif

#define CTXSW_PID_LIMIT  (4 << 20) /* the kernel's PID_MAX_LIMIT */
#define CTXSW_FLAG_BLOCK 4096      /* threads per value of the map "flags" */
#define CTXSW_WAKE_SLOTS 16384     /* of the map "wakes"; a power of two */
#define CTXSW_COMM_LEN   16

enum ctxsw_flag {
	CTXSW_MEMBER = 1,    /* the thread is recorded */
	CTXSW_ANNOUNCED = 2, /* user space has its struct rec_task */
	CTXSW_TREE = 4,      /* it belongs to the tree, though all threads are recorded */
	CTXSW_LIFE = 8,      /* in place of both: its process's begin, names and end are recorded */
};

enum ctxsw_kind {
	CTXSW_SWITCH = 1,
	CTXSW_TASK,
	CTXSW_EXEC,
	CTXSW_RENAME,
	CTXSW_EXIT
};
/* In "side" of TASK and EXEC. */
enum ctxsw_life {
	CTXSW_BORN = 1,  /* TASK: just now */
	CTXSW_HIDDEN = 2 /* it has CTXSW_LIFE */
};
enum ctxsw_side {
	CTXSW_OUT = 1,
	CTXSW_IN = 2
};

/* Every record starts like this. */
struct rec_head {
	ctxsw_u64 ns; /* CLOCK_MONOTONIC */
	ctxsw_u8 kind;
	ctxsw_u8 side; /* SWITCH: which sides are wanted; TASK, EXEC: enum ctxsw_life */
	ctxsw_u16 cpu;
};

struct rec_switch {
	ctxsw_u64 ns;
	ctxsw_u8 kind, side;
	ctxsw_u16 cpu;
	ctxsw_u16 state; /* of the thread that leaves: the kernel's bits, 0 = still runnable */
	ctxsw_u8 prev_prio, next_prio;
	ctxsw_u32 prev_tid, prev_pid, next_tid, next_pid;
	ctxsw_u64 wake_ns; /* of the thread that enters; may be left over from an earlier sleep */
	ctxsw_u32 waker_tid, waker_pid;
};
_Static_assert(sizeof(struct rec_switch) == 48, "rec_switch");

/* One per CPU; counts of records since the start, never wrapped. */
struct ctxsw_ring {
	ctxsw_u64 head;     /* written by the kernel half: records put in */
	ctxsw_u64 lost;     /* likewise: rows (a record has up to two) that found no room */
	ctxsw_u64 stack;    /* likewise: kernel stack, */
	ctxsw_u32 tid, pid; /* and ids of the thread that has this CPU, also while paused */
	ctxsw_u64 reserved1[4];
	ctxsw_u64 tail; /* written by the user half: records taken out */
	ctxsw_u64 reserved2[7];
};
_Static_assert(sizeof(struct ctxsw_ring) == 128, "writer and reader on cache lines of their own");

struct rec_task {
	ctxsw_u64 ns;
	ctxsw_u8 kind, side;
	ctxsw_u16 cpu;
	ctxsw_u32 tid, pid;
	ctxsw_u32 ns_tid, ns_pid; /* in the collector's PID namespace, 0 = not in it */
	ctxsw_u32 parent_tid, parent_pid;
	ctxsw_u32 reserved;
	char comm[CTXSW_COMM_LEN];
};
_Static_assert(sizeof(struct rec_task) == 56, "rec_task");

/* EXEC, RENAME, EXIT */
struct rec_life {
	ctxsw_u64 ns;
	ctxsw_u8 kind, side;
	ctxsw_u16 cpu;
	ctxsw_u32 tid, pid;
	ctxsw_u32 old_tid; /* EXEC: the thread's id before it took the process's over */
	int exit_code;     /* EXIT: wait status when this ends the process, else -1 */
	ctxsw_u32 reserved;
	char comm[CTXSW_COMM_LEN];
};
_Static_assert(sizeof(struct rec_life) == 48, "rec_life");

/* Bytes of a record in the map "lives", with the header that the kernel adds. */
#define CTXSW_LIFE_BYTES(bytes) (((bytes) + 7) / 8 * 8 + 8)

/* Behind the struct rec_life of an EXEC: the path of the executable, cut to this length. */
#define CTXSW_PATH_LEN 256
#define CTXSW_ARGS_LEN 2048 /* a power of two */
struct rec_exec {
	struct rec_life life;
	ctxsw_u16
		path_len; /* of the program, or of its script's interpreter, with its NUL; 0: unknown */
	ctxsw_u16 args_len;                         /* of the arguments, each with its NUL */
	char text[CTXSW_PATH_LEN + CTXSW_ARGS_LEN]; /* both */
};

/*
 * Offsets, in bytes, of the kernel's fields that blockio.bpf.c reads: found here, once, as libbpf
 * takes milliseconds to look for structs in another object.
 */
struct ctxsw_offsets {
	ctxsw_u32 rq_queue, rq_flags, rq_bytes, rq_sector, rq_start;
	ctxsw_u32 rq_disk;    /* before 5.17; else 0 */
	ctxsw_u32 queue_disk; /* else */
	ctxsw_u32 disk_major, disk_minor, disk_name;
	ctxsw_u32 task_flags; /* 0: none of them has been found */
};

/* Shared memory (.bss): the user half writes follow_pid and is_paused, the kernel half the rest. */
struct ctxsw_shared {
	ctxsw_u64 lost;  /* rows that found no room, those of full struct ctxsw_ring apart */
	ctxsw_u64 lives; /* bytes put into the map "lives", ever */
	ctxsw_u64
		regs_offset; /* x86: of the registers of user mode from the base of a kernel stack */
	ctxsw_u64 pid_ns;    /* address of the collector's PID namespace; 0: not asked yet */
	ctxsw_u32 ns_level;  /* its depth */
	ctxsw_u32
		follow_pid; /* process that the next run of the iterator adds; 0: just look for pid_ns */
	ctxsw_u32 found;     /* threads that the iterator added, ever */
	ctxsw_u32 present;   /* threads of follow_pid that the iterator met, ever */
	ctxsw_u32 is_paused; /* no records of switches and wake-ups */
	ctxsw_u32 uid, gid;  /* the collector's, as the initial user namespace has them, */
	ctxsw_u64 caps;      /* its permitted capabilities, */
	ctxsw_u64 user_ns;   /* address of its user namespace; 0: not asked yet */
	struct ctxsw_offsets offsets;
};

/* Constants (.rodata) that cut out code that a session does not need. */
struct ctxsw_config {
	ctxsw_u8 system_wide;    /* every thread is wanted */
	ctxsw_u8 map_ids;        /* the collector is in a PID namespace of its own */
	ctxsw_u8 state_argument; /* sched_switch passes the state as its fourth argument (5.18) */
	ctxsw_u8 slot_shift;     /* log2 of records per CPU */
	ctxsw_u8 own_only;       /* of programs that the user may not trace: CTXSW_LIFE */
	ctxsw_u32 regs_type;     /* the kernel's BTF id of struct pt_regs; not in ctxsw_old.bpf.c */
};
