/* SPDX-License-Identifier: Apache-2.0 */
/** root_kinds: the kinds of roots and their names. */
#ifndef GR_ROOT_KINDS_H
#define GR_ROOT_KINDS_H

#define GR_ROOT_KINDS(X)          \
	X(GLOBAL, "global")       \
	X(LOCAL, "local")         \
	X(STACK, "stack")         \
	X(REGISTER, "register")   \
	X(DEFER, "defer")         \
	X(FINALIZER, "finalizer") \
	X(CLEANUP, "cleanup")     \
	X(TIMER, "timer")         \
	X(TINY, "tiny")           \
	X(RUNTIME, "runtime")     \
	X(ADDRESS, "address")

enum gr_root_kind {
#define X(id, name) GR_ROOT_##id,
	GR_ROOT_KINDS(X)
#undef X
};

/** The number of kinds. */
#define X(id, name) +1
enum { GR_NROOT_KINDS = 0 GR_ROOT_KINDS(X) };
#undef X

/** Return the static name of a kind: `global`, `local` ... */
const char *gr_root_kind_name(enum gr_root_kind kind);

#endif /* GR_ROOT_KINDS_H */
