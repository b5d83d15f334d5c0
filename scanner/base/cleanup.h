/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scope-bound cleanup (the compiler's cleanup attribute) and ownership
 * hand-over. No `goto out` in this project.
 */
#ifndef GR_CLEANUP_H
#define GR_CLEANUP_H

#include "base/base.h"

#include <stdlib.h>
#include <unistd.h>

/** Call @p fn with the address of the variable when it leaves its scope. */
#define _cleanup_(fn) __attribute__((__cleanup__(fn)))

static inline void gr_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void gr_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void gr_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

/** free() at the end of the scope. */
#define _cleanup_free_ _cleanup_(gr_cleanup_free)
/** close() at the end of the scope, unless negative. */
#define _cleanup_close_ _cleanup_(gr_cleanup_close)

/** fclose() at the end of the scope. */
#define _cleanup_fclose_ _cleanup_(gr_cleanup_fclose)

/** The pointer's value. The variable becomes NULL and owns nothing any more. */
#define steal_ptr(p)                       \
	({                                 \
		__typeof__(p) *_pp = &(p); \
		__typeof__(p) _v = *_pp;   \
		*_pp = NULL;               \
		_v;                        \
	})
/** Return a pointer whose variable has a cleanup. */
#define return_ptr(p) return steal_ptr(p)

/** Define `gr_cleanup_<name>` for a type whose destroy function is @p fn. */
#define GR_DEFINE_CLEANUP(name, type, fn)              \
	static inline void gr_cleanup_##name(type **p) \
	{                                              \
		fn(*p);                                \
	}

#endif /* GR_CLEANUP_H */
