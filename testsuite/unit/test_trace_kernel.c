// SPDX-License-Identifier: Apache-2.0
/* The names of the kernel's functions, and the arguments of its tracepoints. */
#include <bpf/btf.h>

#include "helpers/trace/kallsyms.h"
#include "helpers/trace/layout.h"
#include "helpers/trace/outstanding.h"

#include "suite.h"

static struct gr_kallsyms *read_text(const char *text)
{
	struct gr_kallsyms *names;
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	assert_null(gr_kallsyms_read(file, &names));
	fclose(file);
	return names;
}

TEST(functions_have_names)
{
	struct gr_kallsyms *names =
		read_text("ffffffff81000200 t later\n"
			  "ffffffff81000100 T first\n"
			  "ffffffff81000180 D data\n"
			  "not a line\n"
			  "ffffffffc0000000 t in_module\t[mod]\n");

	assert_int_equal(gr_kallsyms_count(names), 3);
	assert_null(gr_kallsyms_find(names, 0xffffffff810000ff));
	assert_string_equal(gr_kallsyms_find(names, 0xffffffff81000100),
			    "first");
	assert_string_equal(gr_kallsyms_find(names, 0xffffffff810001ff),
			    "first");
	assert_string_equal(gr_kallsyms_find(names, 0xffffffff81000200),
			    "later");
	assert_string_equal(gr_kallsyms_find(names, 0xffffffffc0000010),
			    "in_module [mod]");
	gr_kallsyms_destroy(names);
}

TEST(hidden_addresses_are_no_names)
{
	struct gr_kallsyms *names = read_text("0000000000000000 T first\n"
					      "0000000000000000 T second\n");

	assert_int_equal(gr_kallsyms_count(names), 0);
	assert_null(gr_kallsyms_find(names, UINT64_MAX));
	gr_kallsyms_destroy(names);
}

TEST(a_long_line_is_no_function)
{
	char text[3000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct gr_kallsyms *names = read_text(text);
	assert_int_equal(gr_kallsyms_count(names), 0);
	gr_kallsyms_destroy(names);
}

TEST(functions_of_the_tracing_are_known)
{
	assert_true(gr_outstanding_is_own("bpf_trace_run6"));
	assert_true(gr_outstanding_is_own("__traceiter_kmalloc"));
	assert_false(gr_outstanding_is_own("__kmalloc_noprof"));
	assert_true(gr_outstanding_is_allocator("allocate_slab"));
	assert_true(gr_outstanding_is_allocator("___kmalloc_large_node"));
	assert_false(gr_outstanding_is_allocator("alloc_pages_noprof"));
}

/** The types of tracepoints of a kernel that never was. */
struct types {
	struct btf *btf;
	int size, number, pointer, cache;
};

static struct types new_types(void)
{
	struct types t = { .btf = btf__new_empty() };

	assert_non_null(t.btf);
	t.number = btf__add_int(t.btf, "unsigned long", 8, 0);
	t.size = btf__add_typedef(t.btf, "size_t", t.number);
	t.pointer = btf__add_ptr(t.btf, 0);
	t.cache = btf__add_ptr(t.btf, btf__add_struct(t.btf, "kmem_cache", 64));
	return t;
}

/** Add a tracepoint whose arguments have the given types, up to 0. */
static void add_tracepoint(struct types *t, const char *name, const int *args)
{
	int function = btf__add_func_proto(t->btf, 0);

	assert_true(function > 0);
	assert_int_equal(btf__add_func_param(t->btf, "", t->pointer), 0);
	for (; *args; args++)
		assert_int_equal(btf__add_func_param(t->btf, "", *args), 0);
	int pointer = btf__add_ptr(t->btf, function);
	assert_true(btf__add_typedef(t->btf, name, pointer) > 0);
}

TEST(newer_tracepoints)
{
	struct types t = new_types();

	add_tracepoint(&t, "btf_trace_kmalloc",
		       (int[]){ t.number, t.pointer, t.size, t.size, t.number,
				t.number, 0 });
	add_tracepoint(&t, "btf_trace_kmem_cache_alloc",
		       (int[]){ t.number, t.pointer, t.cache, t.number,
				t.number, 0 });
	add_tracepoint(&t, "btf_trace_percpu_alloc_percpu",
		       (int[]){ t.number, t.number, t.number, t.size, t.size,
				t.pointer, t.number, t.pointer, t.size,
				t.number, 0 });
	struct gr_kernel_layout layout = gr_layout_find(t.btf);
	assert_int_equal(layout.kmalloc_bytes, 3);
	assert_int_equal(layout.cache_bytes, 0);
	assert_int_equal(layout.percpu_size, 3);
	assert_true(gr_layout_has(t.btf, "kmalloc"));
	assert_false(gr_layout_has(t.btf, "kmalloc_node"));
	btf__free(t.btf);
}

TEST(older_tracepoints)
{
	struct types t = new_types();
	const int with_cache[] = { t.number, t.pointer, t.cache, t.size,
				   t.size,   t.number,	0 };

	add_tracepoint(&t, "btf_trace_kmalloc", with_cache);
	add_tracepoint(&t, "btf_trace_kmem_cache_alloc", with_cache);
	add_tracepoint(&t, "btf_trace_percpu_alloc_percpu",
		       (int[]){ t.number, t.number, t.size, t.size, t.pointer,
				t.number, t.pointer, 0 });
	struct gr_kernel_layout layout = gr_layout_find(t.btf);
	assert_int_equal(layout.kmalloc_bytes, 4);
	assert_int_equal(layout.cache_bytes, 4);
	assert_int_equal(layout.percpu_size, 2);
	btf__free(t.btf);
}

TEST(a_function_of_another_kernel)
{
	struct types t = new_types();

	int newer = btf__add_func_proto(t.btf, 0);
	btf__add_func_param(t.btf, "head", t.pointer);
	btf__add_func_param(t.btf, "ptr", t.pointer);
	btf__add_func(t.btf, "kvfree_call_rcu", BTF_FUNC_STATIC, newer);
	int older = btf__add_func_proto(t.btf, 0);
	btf__add_func_param(t.btf, "head", t.pointer);
	btf__add_func_param(t.btf, "func", t.size);
	btf__add_func(t.btf, "kfree_call_rcu", BTF_FUNC_STATIC, older);
	assert_true(gr_layout_takes_pointer(t.btf, "kvfree_call_rcu", 1));
	assert_false(gr_layout_takes_pointer(t.btf, "kvfree_call_rcu", 2));
	assert_false(gr_layout_takes_pointer(t.btf, "kfree_call_rcu", 1));
	assert_false(gr_layout_takes_pointer(t.btf, "absent", 1));
	btf__free(t.btf);
}

GR_SUITE("memory of the kernel")
