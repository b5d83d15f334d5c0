// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/layout.h"

#include <bpf/btf.h>

/** A function of the type of a tracepoint. Its first parameter is that of the
 * tracepoint's machinery. */
static const struct btf_type *tracepoint_type(const struct btf *btf,
					      const char *name)
{
	char text[96];

	snprintf(text, sizeof(text), "btf_trace_%s", name);
	int id = btf__find_by_name_kind(btf, text, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) :
					    NULL;
	if (t)
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

bool gr_layout_has(const struct btf *btf, const char *tracepoint)
{
	return tracepoint_type(btf, tracepoint) != NULL;
}

bool gr_layout_takes_pointer(const struct btf *btf, const char *function,
			     uint32_t argument)
{
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC);

	if (id <= 0)
		return false;
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)id);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_func_proto(t) || argument >= btf_vlen(t))
		return false;
	t = btf__type_by_id(btf, btf_params(t)[argument].type);
	return t && btf_is_ptr(t);
}

/** The argument that is the n-th size_t of a tracepoint, from 0; 0: none is. */
static uint32_t size_argument(const struct btf *btf, const char *tracepoint,
			      int n)
{
	const struct btf_type *t = tracepoint_type(btf, tracepoint);

	for (uint32_t i = 1; t && i < btf_vlen(t); i++) {
		const struct btf_type *of =
			btf__type_by_id(btf, btf_params(t)[i].type);
		const char *name = of ? btf__name_by_offset(btf, of->name_off) :
					NULL;
		if (name && !strcmp(name, "size_t") && n-- == 0)
			return i - 1;
	}
	return 0;
}

struct gr_kernel_layout gr_layout_find(const struct btf *btf)
{
	// The first size is what was asked for; the second one what is taken.
	return (struct gr_kernel_layout){
		.kmalloc_bytes = size_argument(btf, "kmalloc", 1),
		.cache_bytes = size_argument(btf, "kmem_cache_alloc", 1),
		.percpu_size = size_argument(btf, "percpu_alloc_percpu", 0),
	};
}
