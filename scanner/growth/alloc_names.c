// SPDX-License-Identifier: Apache-2.0
#include "growth/alloc_names.h"

#include <string.h>

enum { MAX_NAME_BYTES = 48 };

#define NAME(family_, kind_, text_)                                       \
	{                                                                 \
		.text = (text_), .bytes = sizeof(text_) - 1,              \
		.kind = GR_ALLOC_##kind_, .family = GR_ALLOC_OF_##family_ \
	}

const struct gr_alloc_name gr_alloc_names[] = {
	// C23, POSIX, BSD, and the GNU C library
	NAME(C, MALLOC, "malloc"),
	NAME(C, CALLOC, "calloc"),
	NAME(C, REALLOC, "realloc"),
	NAME(C, FREE, "free"),
	NAME(C, POSIX_MEMALIGN, "posix_memalign"),
	NAME(C, ALIGNED, "aligned_alloc"),
	NAME(C, ALIGNED, "memalign"),
	NAME(C, MALLOC, "valloc"),
	NAME(C, MALLOC, "pvalloc"),
	NAME(C, REALLOCARRAY, "reallocarray"),
	NAME(C, REALLOC, "reallocf"),
	NAME(C, FREE, "cfree"),
	NAME(C, FREE, "free_sized"),
	NAME(C, FREE, "free_aligned_sized"),
	// jemalloc's own, all with flags at the end
	NAME(C, MALLOC, "mallocx"),
	NAME(C, REALLOC, "rallocx"),
	NAME(C, FREE, "dallocx"),
	NAME(C, FREE, "sdallocx"),
	// operator new and new[]: plain, nothrow, aligned, both
	NAME(CXX, NEW, "_Znwm"),
	NAME(CXX, NEW, "_Znam"),
	NAME(CXX, NEW, "_ZnwmRKSt9nothrow_t"),
	NAME(CXX, NEW, "_ZnamRKSt9nothrow_t"),
	NAME(CXX, NEW, "_ZnwmSt11align_val_t"),
	NAME(CXX, NEW, "_ZnamSt11align_val_t"),
	NAME(CXX, NEW, "_ZnwmSt11align_val_tRKSt9nothrow_t"),
	NAME(CXX, NEW, "_ZnamSt11align_val_tRKSt9nothrow_t"),
	// operator delete and delete[]: the size may follow the address
	NAME(CXX, FREE, "_ZdlPv"),
	NAME(CXX, FREE, "_ZdaPv"),
	NAME(CXX, FREE, "_ZdlPvm"),
	NAME(CXX, FREE, "_ZdaPvm"),
	NAME(CXX, FREE, "_ZdlPvRKSt9nothrow_t"),
	NAME(CXX, FREE, "_ZdaPvRKSt9nothrow_t"),
	NAME(CXX, FREE, "_ZdlPvSt11align_val_t"),
	NAME(CXX, FREE, "_ZdaPvSt11align_val_t"),
	NAME(CXX, FREE, "_ZdlPvmSt11align_val_t"),
	NAME(CXX, FREE, "_ZdaPvmSt11align_val_t"),
	NAME(CXX, FREE, "_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	NAME(CXX, FREE, "_ZdaPvSt11align_val_tRKSt9nothrow_t"),
	// jemalloc with its usual prefix
	NAME(JEMALLOC, MALLOC, "je_malloc"),
	NAME(JEMALLOC, CALLOC, "je_calloc"),
	NAME(JEMALLOC, REALLOC, "je_realloc"),
	NAME(JEMALLOC, FREE, "je_free"),
	NAME(JEMALLOC, POSIX_MEMALIGN, "je_posix_memalign"),
	NAME(JEMALLOC, ALIGNED, "je_aligned_alloc"),
	NAME(JEMALLOC, ALIGNED, "je_memalign"),
	NAME(JEMALLOC, MALLOC, "je_valloc"),
	NAME(JEMALLOC, MALLOC, "je_pvalloc"),
	NAME(JEMALLOC, MALLOC, "je_mallocx"),
	NAME(JEMALLOC, REALLOC, "je_rallocx"),
	NAME(JEMALLOC, FREE, "je_dallocx"),
	NAME(JEMALLOC, FREE, "je_sdallocx"),
	// tcmalloc
	NAME(TCMALLOC, MALLOC, "tc_malloc"),
	NAME(TCMALLOC, CALLOC, "tc_calloc"),
	NAME(TCMALLOC, REALLOC, "tc_realloc"),
	NAME(TCMALLOC, FREE, "tc_free"),
	NAME(TCMALLOC, POSIX_MEMALIGN, "tc_posix_memalign"),
	NAME(TCMALLOC, ALIGNED, "tc_memalign"),
	NAME(TCMALLOC, MALLOC, "tc_valloc"),
	NAME(TCMALLOC, MALLOC, "tc_pvalloc"),
	NAME(TCMALLOC, MALLOC, "tc_malloc_skip_new_handler"),
	NAME(TCMALLOC, FREE, "tc_cfree"),
	NAME(TCMALLOC, FREE, "tc_free_sized"),
	NAME(TCMALLOC, NEW, "tc_new"),
	NAME(TCMALLOC, NEW, "tc_newarray"),
	NAME(TCMALLOC, NEW, "tc_new_nothrow"),
	NAME(TCMALLOC, NEW, "tc_newarray_nothrow"),
	NAME(TCMALLOC, NEW, "tc_new_aligned"),
	NAME(TCMALLOC, NEW, "tc_newarray_aligned"),
	NAME(TCMALLOC, NEW, "tc_new_aligned_nothrow"),
	NAME(TCMALLOC, NEW, "tc_newarray_aligned_nothrow"),
	NAME(TCMALLOC, FREE, "tc_delete"),
	NAME(TCMALLOC, FREE, "tc_deletearray"),
	NAME(TCMALLOC, FREE, "tc_delete_sized"),
	NAME(TCMALLOC, FREE, "tc_deletearray_sized"),
	NAME(TCMALLOC, FREE, "tc_delete_nothrow"),
	NAME(TCMALLOC, FREE, "tc_deletearray_nothrow"),
	NAME(TCMALLOC, FREE, "tc_delete_aligned"),
	NAME(TCMALLOC, FREE, "tc_deletearray_aligned"),
	NAME(TCMALLOC, FREE, "tc_delete_sized_aligned"),
	NAME(TCMALLOC, FREE, "tc_deletearray_sized_aligned"),
	NAME(TCMALLOC, FREE, "tc_delete_aligned_nothrow"),
	NAME(TCMALLOC, FREE, "tc_deletearray_aligned_nothrow"),
	// mimalloc; not the functions with a heap (mi_heap_malloc)
	NAME(MIMALLOC, MALLOC, "mi_malloc"),
	NAME(MIMALLOC, MALLOC, "mi_zalloc"),
	NAME(MIMALLOC, MALLOC, "mi_malloc_small"),
	NAME(MIMALLOC, MALLOC, "mi_zalloc_small"),
	NAME(MIMALLOC, MALLOC, "mi_malloc_aligned"),
	NAME(MIMALLOC, MALLOC, "mi_malloc_aligned_at"),
	NAME(MIMALLOC, MALLOC, "mi_zalloc_aligned"),
	NAME(MIMALLOC, MALLOC, "mi_zalloc_aligned_at"),
	NAME(MIMALLOC, MALLOC, "mi_valloc"),
	NAME(MIMALLOC, MALLOC, "mi_pvalloc"),
	NAME(MIMALLOC, CALLOC, "mi_calloc"),
	NAME(MIMALLOC, CALLOC, "mi_mallocn"),
	NAME(MIMALLOC, CALLOC, "mi_calloc_aligned"),
	NAME(MIMALLOC, CALLOC, "mi_calloc_aligned_at"),
	NAME(MIMALLOC, REALLOC, "mi_realloc"),
	NAME(MIMALLOC, REALLOC, "mi_reallocf"),
	NAME(MIMALLOC, REALLOC, "mi_rezalloc"),
	NAME(MIMALLOC, REALLOC, "mi_realloc_aligned"),
	NAME(MIMALLOC, REALLOC, "mi_realloc_aligned_at"),
	NAME(MIMALLOC, REALLOC, "mi_rezalloc_aligned"),
	NAME(MIMALLOC, REALLOC, "mi_rezalloc_aligned_at"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_reallocarray"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_reallocn"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_recalloc"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_recalloc_aligned"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_recalloc_aligned_at"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_aligned_recalloc"),
	NAME(MIMALLOC, REALLOCARRAY, "mi_aligned_offset_recalloc"),
	NAME(MIMALLOC, ALIGNED, "mi_aligned_alloc"),
	NAME(MIMALLOC, ALIGNED, "mi_memalign"),
	NAME(MIMALLOC, POSIX_MEMALIGN, "mi_posix_memalign"),
	// not mi_new_n, mi_new_realloc and mi_new_reallocn, which may throw
	NAME(MIMALLOC, NEW, "mi_new"),
	NAME(MIMALLOC, NEW, "mi_new_aligned"),
	NAME(MIMALLOC, NEW, "mi_new_nothrow"),
	NAME(MIMALLOC, NEW, "mi_new_aligned_nothrow"),
	NAME(MIMALLOC, FREE, "mi_free"),
	NAME(MIMALLOC, FREE, "mi_free_size"),
	NAME(MIMALLOC, FREE, "mi_free_size_aligned"),
	NAME(MIMALLOC, FREE, "mi_free_aligned"),
	NAME(MIMALLOC, FREE, "mi_cfree"),
	// the kernel's, by the C library
	NAME(MAPPINGS, MMAP, "mmap"),
	NAME(MAPPINGS, MMAP, "mmap64"),
	NAME(MAPPINGS, MUNMAP, "munmap"),
};
const size_t gr_nalloc_names = GR_ARRAY_SIZE(gr_alloc_names);

const char *gr_alloc_kind_name(enum gr_alloc_kind kind)
{
	static const char *const names[] = {
		[GR_ALLOC_MALLOC] = "malloc",
		[GR_ALLOC_CALLOC] = "calloc",
		[GR_ALLOC_REALLOC] = "realloc",
		[GR_ALLOC_REALLOCARRAY] = "reallocarray",
		[GR_ALLOC_ALIGNED] = "aligned",
		[GR_ALLOC_POSIX_MEMALIGN] = "posix_memalign",
		[GR_ALLOC_NEW] = "new",
		[GR_ALLOC_FREE] = "free",
		[GR_ALLOC_MMAP] = "mmap",
		[GR_ALLOC_MUNMAP] = "munmap",
	};

	return names[kind];
}

static const struct gr_alloc_name *find(const char *text, size_t bytes)
{
	for (size_t i = 0; bytes <= MAX_NAME_BYTES && i < gr_nalloc_names; i++)
		if (gr_alloc_names[i].bytes == bytes &&
		    !memcmp(gr_alloc_names[i].text, text, bytes))
			return &gr_alloc_names[i];
	return NULL;
}

const struct gr_alloc_name *gr_alloc_name_find(const char *symbol,
					       const char *prefix,
					       enum gr_alloc_family *family)
{
	size_t bytes = strcspn(symbol, "@"), before = strlen(prefix);
	const struct gr_alloc_name *name = find(symbol, bytes);

	if (name) {
		*family = name->family;
		return name;
	}
	if (!before || bytes <= before || memcmp(symbol, prefix, before))
		return NULL;
	name = find(symbol + before, bytes - before);
	*family = GR_ALLOC_OF_PREFIX;
	return name && name->family == GR_ALLOC_OF_C ? name : NULL;
}

bool gr_alloc_symbol_is(const char *symbol, const char *name)
{
	size_t bytes = strlen(name);

	return !strncmp(symbol, name, bytes) &&
	       (!symbol[bytes] || symbol[bytes] == '@');
}
