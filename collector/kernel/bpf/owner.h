/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * owner.h - for ctxsw.bpf.c: whether the collector's user may trace a program, by the rule of ptrace. Capabilities of the
 * collector's file let it see more.
 */
#pragma once

#define NAMESPACES_MOST 8

typedef struct {
	unsigned int val;
} kuid_t;
typedef struct {
	unsigned int val;
} kgid_t;
typedef struct {
	__u64 val;
} kernel_cap_t;
struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
} RELOC;
struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
} RELOC;

static __always_inline __u64 caps_of(const struct cred *cred)
{
	__u64 caps = ~0ull;

	bpf_core_read(&caps, sizeof(caps), &cred->cap_permitted);
	return caps;
}

/* In a namespace that the user has made, capabilities reach no further than the user does. */
static __noinline int is_own_namespace(struct user_namespace *ns)
{
	for (int i = 0; i < NAMESPACES_MOST && ns; i++) {
		struct user_namespace *parent = BPF_CORE_READ(ns, parent);

		if ((__u64)parent == shared.user_ns)
			return BPF_CORE_READ(ns, owner.val) == shared.uid;
		ns = parent;
	}
	return 0;
}

static __always_inline int is_own(const struct cred *cred)
{
	struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	__u32 uid = shared.uid, gid = shared.gid;

	if (BPF_CORE_READ(cred, uid.val) != uid || BPF_CORE_READ(cred, euid.val) != uid ||
	    BPF_CORE_READ(cred, suid.val) != uid || BPF_CORE_READ(cred, gid.val) != gid ||
	    BPF_CORE_READ(cred, egid.val) != gid || BPF_CORE_READ(cred, sgid.val) != gid)
		return 0;
	if ((__u64)ns == shared.user_ns)
		return !(caps_of(cred) & ~shared.caps);
	return is_own_namespace(ns);
}

static __always_inline void note_user(const struct cred *cred)
{
	shared.uid = BPF_CORE_READ(cred, uid.val);
	shared.gid = BPF_CORE_READ(cred, gid.val);
	shared.caps = caps_of(cred);
	shared.user_ns = (__u64)BPF_CORE_READ(cred, user_ns);
}
