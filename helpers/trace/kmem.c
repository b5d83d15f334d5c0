// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/kmem.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "helpers/trace/kernel.skel.h"
#include "helpers/trace/layout.h"
#include "helpers/trace/outstanding.h"
#include "helpers/trace/probes.h"
#include "helpers/trace/rights.h"

enum {
	PROGRAMS = 13,
	TEXTS = 16,
	TEXT_BYTES = 160,
	INITIAL_PID_NS = 0xeffffffc, // PROC_PID_INIT_INO of Linux
};

enum need {
	NEED_MUST, // without it, its kind is not seen
	NEED_OLD,  // only older kernels have it
	NEED_WISH,
	NEED_BLIND, // tells of frees that no tracepoint tells of
};

/** A program. kind: what it is needed for. */
struct row {
	struct bpf_program *program;
	struct bpf_link **link;
	const char *name; // of the tracepoint, or of the function
	enum gr_kernel_kind kind;
	enum need need;
	uint32_t argument; // of a function: it has to be a pointer
	bool is_wanted;
};

struct gr_kmem {
	struct gr_kernel *skel;
	struct gr_outstanding *outstanding;
	struct btf *btf;
	struct row rows[PROGRAMS];
	char texts[TEXTS][TEXT_BYTES];
	size_t ntexts;
	int ncpus;
};

static const char *const kind_texts[GR_KERNEL_KINDS] = {
	[GR_KERNEL_KMALLOC] = "allocations by kmalloc",
	[GR_KERNEL_SLAB] = "allocations of slab objects",
	[GR_KERNEL_PAGES] = "allocations of pages by the kernel",
	[GR_KERNEL_PERCPU] = "allocations of percpu memory",
};

static void add_text(struct gr_kmem *k, const char *fmt, ...) GR_PRINTF(2, 3);

static void add_text(struct gr_kmem *k, const char *fmt, ...)
{
	va_list args;

	if (k->ntexts == TEXTS)
		return;
	va_start(args, fmt);
	vsnprintf(k->texts[k->ntexts++], TEXT_BYTES, fmt, args);
	va_end(args);
}

// -------------------------------------------------------------------- loading

#define FULL_ROW(program, name, kind, need, argument)                        \
	{                                                                    \
		s->progs.program, &s->links.program, name, GR_KERNEL_##kind, \
			NEED_##need, argument, true                          \
	}
#define ROW(program, name, kind, need) FULL_ROW(program, name, kind, need, 0)
#define BLIND_ROW(program, name, kind, argument) \
	FULL_ROW(program, name, kind, BLIND, argument)

/** Frees come first: what is seen to begin has to be seen to end. */
static void set_rows(struct gr_kmem *k)
{
	struct gr_kernel *s = k->skel;
	const struct row rows[PROGRAMS] = {
		ROW(freed_kmalloc, "kfree", KMALLOC, MUST),
		ROW(freed_slab, "kmem_cache_free", SLAB, MUST),
		ROW(freed_pages, "mm_page_free", PAGES, MUST),
		ROW(freed_pages_batched, "mm_page_free_batched", PAGES, WISH),
		ROW(freed_percpu, "percpu_free_percpu", PERCPU, MUST),
		BLIND_ROW(freed_later, "kvfree_call_rcu", KMALLOC, 1),
		BLIND_ROW(freed_many, "kmem_cache_free_bulk", SLAB, 2),
		ROW(made_kmalloc, "kmalloc", KMALLOC, MUST),
		ROW(made_kmalloc_node, "kmalloc_node", KMALLOC, OLD),
		ROW(made_slab, "kmem_cache_alloc", SLAB, MUST),
		ROW(made_slab_node, "kmem_cache_alloc_node", SLAB, OLD),
		ROW(made_pages, "mm_page_alloc", PAGES, MUST),
		ROW(made_percpu, "percpu_alloc_percpu", PERCPU, MUST),
	};
	memcpy(k->rows, rows, sizeof(rows));
}

static void leave_out(struct gr_kmem *k, enum gr_kernel_kind kind,
		      const char *name)
{
	add_text(k, "%s are not seen: the tracepoint %s is missing or refused",
		 kind_texts[kind], name);
	for (size_t i = 0; i < PROGRAMS; i++)
		if (k->rows[i].kind == kind)
			k->rows[i].is_wanted = false;
}

/** Take the programs that fit the kernel. */
static void choose(struct gr_kmem *k, bool with_functions)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct row *row = &k->rows[i];
		bool is_there = gr_layout_has(k->btf, row->name);
		if (row->need == NEED_BLIND)
			is_there = with_functions &&
				   gr_layout_takes_pointer(k->btf, row->name,
							   row->argument);
		if (!is_there && row->need == NEED_MUST && row->is_wanted)
			leave_out(k, row->kind, row->name);
		row->is_wanted = row->is_wanted && is_there;
	}
	for (size_t i = 0; i < PROGRAMS; i++)
		bpf_program__set_autoload(k->rows[i].program,
					  k->rows[i].is_wanted);
}

static struct gr_error *try_load(struct gr_kmem *k, bool with_functions)
{
	k->ntexts = 0;
	k->skel = gr_kernel__open();
	if (!k->skel)
		return gr_rights_error("opening BPF programs", errno);
	set_rows(k);
	choose(k, with_functions);
	struct gr_kernel_layout layout = gr_layout_find(k->btf);
	layout.cpus = (uint32_t)k->ncpus;
	// It is read-only for the program, and for us as soon as it is loaded.
	memcpy((void *)(uintptr_t)&k->skel->rodata->layout, &layout,
	       sizeof(layout));
	int number = gr_kernel__load(k->skel);
	if (!number)
		return NULL;
	gr_kernel__destroy(k->skel);
	k->skel = NULL;
	return gr_rights_error("loading BPF programs", -number);
}

/** Programs at functions may be refused where those at tracepoints are not. */
static struct gr_error *load(struct gr_kmem *k)
{
	struct gr_error *err = try_load(k, true);

	if (!err)
		return NULL;
	gr_error_destroy(err);
	return try_load(k, false);
}

struct gr_error *gr_kmem_load(pid_t pid, const struct gr_request *req,
			      struct gr_kmem **ret)
{
	struct gr_kmem *k = calloc(1, sizeof(*k));

	*ret = k;
	if (!k)
		return &gr_enomem;
	k->ncpus = libbpf_num_possible_cpus();
	if (k->ncpus < 1 || k->ncpus > GR_EVENT_MAX_CPUS)
		return gr_error_format(GR_ERROR_LIMIT,
				       "processors: 1 to 4,096 are supported");
	k->btf = btf__load_vmlinux_btf();
	if (!k->btf)
		return gr_rights_error("reading the kernel's BTF", errno);
	struct gr_error *err = load(k);
	if (!err)
		err = gr_probes_set_target(&k->skel->bss->config, pid);
	if (err)
		return err;
	// In the initial namespace, its number is known before it is seen.
	if (k->skel->bss->config.ns_ino == INITIAL_PID_NS)
		k->skel->bss->known_tgid = k->skel->bss->config.tgid;
	gr_kmem_configure(k, req);
	return gr_outstanding_new(bpf_map__fd(k->skel->maps.outstanding),
				  bpf_map__fd(k->skel->maps.stacks),
				  &k->outstanding);
}

void gr_kmem_configure(struct gr_kmem *k, const struct gr_request *req)
{
	gr_probes_set_budget(&k->skel->bss->config, req);
}

// ------------------------------------------------------------------ attaching

static bool is_attached(const struct gr_kmem *k, enum gr_kernel_kind kind,
			enum need need)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (k->rows[i].kind == kind && k->rows[i].need == need &&
		    !*k->rows[i].link)
			return false;
	return true;
}

static void attach_rows(struct gr_kmem *k)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct row *row = &k->rows[i];
		if (!row->is_wanted)
			continue;
		*row->link = bpf_program__attach(row->program);
		if (!*row->link && row->need == NEED_MUST)
			leave_out(k, row->kind, row->name);
	}
}

/** Say what is not as it should be. */
static void add_gaps(struct gr_kmem *k)
{
	bool is_blind = !is_attached(k, GR_KERNEL_KMALLOC, NEED_BLIND) ||
			!is_attached(k, GR_KERNEL_SLAB, NEED_BLIND);

	if (is_blind)
		add_text(k,
			 "frees by kfree_rcu() or in bulk are not seen: such a "
			 "block counts until its memory is allocated again");
	if (!gr_outstanding_has_names(k->outstanding))
		add_text(k, "the names of the kernel's functions are missing "
			    "(kernel.kptr_restrict), so pages of the slab "
			    "allocator count as pages");
}

struct gr_error *gr_kmem_attach(struct gr_kmem *k)
{
	size_t seen = 0;

	attach_rows(k);
	for (enum gr_kernel_kind kind = GR_KERNEL_KMALLOC;
	     kind <= GR_KERNEL_PERCPU; kind++) {
		if (!is_attached(k, kind, NEED_MUST))
			continue;
		add_text(k, "%s, and their frees", kind_texts[kind]);
		seen++;
	}
	if (!seen)
		return gr_error_format(
			GR_ERROR_PROCESS,
			"tracepoints for the kernel's allocations "
			"are missing or refused");
	add_text(k,
		 "these probes also run in all other processes of the machine; "
		 "goref says at the end what that cost");
	add_gaps(k);
	return NULL;
}

const char *gr_kmem_text(const struct gr_kmem *k, size_t i)
{
	return i < k->ntexts ? k->texts[i] : NULL;
}

void gr_kmem_detach(struct gr_kmem *k)
{
	for (size_t i = 0; k->skel && i < PROGRAMS; i++) {
		bpf_link__destroy(*k->rows[i].link);
		*k->rows[i].link = NULL;
	}
}

void gr_kmem_destroy(struct gr_kmem *k)
{
	if (!k)
		return;
	gr_outstanding_destroy(k->outstanding);
	gr_kernel__destroy(k->skel);
	btf__free(k->btf);
	free(k);
}

// -------------------------------------------------------------------- reading

struct gr_kernel_counts gr_kmem_counts(const struct gr_kmem *k)
{
	struct gr_kernel_counts sum = { 0 };
	uint32_t zero = 0;

	_cleanup_free_ struct gr_kernel_counts *all =
		calloc((size_t)k->ncpus, sizeof(*all));
	if (!all ||
	    bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.counts), &zero, all))
		return sum;
	for (int i = 0; i < k->ncpus; i++) {
		sum.events += all[i].events;
		sum.ns += all[i].ns;
		sum.others += all[i].others;
		sum.others_ns += all[i].others_ns;
		sum.table_full += all[i].table_full;
		sum.over_budget += all[i].over_budget;
		sum.no_stack += all[i].no_stack;
		sum.missed += all[i].missed;
	}
	for (size_t i = 0; i < PROGRAMS; i++)
		if (k->rows[i].is_wanted)
			sum.missed += gr_probes_missed_runs(k->rows[i].program);
	return sum;
}

bool gr_kmem_tell(struct gr_kmem *k, struct gr_reply *out)
{
	return gr_outstanding_tell(k->outstanding, out);
}
