// SPDX-License-Identifier: Apache-2.0
/*
 * heapgraph: the same graph with any number of threads, and what ends one:
 * limits of memory, interrupts, a file that shrinks. Gaps are counted once.
 */
#include "base/cleanup.h"
#include "inferior/sigbus.h"

#include <sys/mman.h>
#include <unistd.h>

#include "heapgraph_service.h"

static struct gr_error *fill_bad_span(const struct gr_heap *heap,
				      const struct gr_span *span,
				      uint64_t *words)
{
	gr_gap_add(heap->rt->gaps, GR_GAP_BAD_SPANS, 1);
	return fill_words(heap, span, words);
}

/* The walk has counted what makes no sense; the graph does not do so again. */
TEST(gaps)
{
	static const struct gr_ptrmap_ops bad_maps = { .name = "bad",
						       .fill = fill_bad_span };
	struct service s;
	struct gr_heap_graph *hg;

	service_init(&s, 3);
	struct gr_gaps before = s.w.f->gaps;
	s.w.heap->ptrmap = &bad_maps;
	assert_null(create(&s, 2, 0, &hg));
	assert_memory_equal(&s.w.f->gaps, &before, sizeof(before));
	gr_heap_graph_destroy(hg);
	service_deinit(&s);
}

TEST(threads)
{
	for (uint64_t seed = 70; seed < 90; seed++) {
		struct service s;
		struct gr_heap_graph *one, *many;

		service_init(&s, seed);
		assert_null(create(&s, 1, 0, &one));
		const struct gr_graph *g = one->graph;
		for (unsigned int n = 2; n <= 7; n++) {
			assert_null(create(&s, n, 0, &many));
			assert_int_equal(many->graph->nvertices, g->nvertices);
			assert_memory_equal(many->graph->first, g->first,
					    (g->nvertices + 1) *
						    sizeof(*g->first));
			assert_memory_equal(many->graph->to, g->to,
					    g->first[g->nvertices] *
						    sizeof(*g->to));
			assert_int_equal(many->left_out, one->left_out);
			gr_heap_graph_destroy(many);
		}
		gr_heap_graph_destroy(one);
		service_deinit(&s);
	}
}

TEST(poll_ends_it)
{
	for (unsigned int n = 1; n <= 4; n++) {
		struct service s;
		struct gr_heap_graph *hg;
		struct gr_error *err;
		uint64_t allowed = 0, left;

		service_init(&s, 5);
		s.w.f->rt.poll = suite_refuse;
		s.w.f->rt.poll_ctx = &left;
		do {
			left = allowed;
			s.w.f->rt.steps = GR_POLL_STEPS;
			err = create(&s, n, 0, &hg);
			assert_true(!err == !!hg);
			if (err)
				assert_string_equal(err->message,
						    "interrupted");
			gr_error_destroy(err);
		} while (!hg && allowed++ < 100);
		assert_true(allowed && hg);
		gr_heap_graph_destroy(hg);
		service_deinit(&s);
	}
}

TEST(limit)
{
	struct service s;
	struct gr_heap_graph *hg;
	struct gr_error *err;
	uint64_t limit = 1;

	service_init(&s, 6);
	do {
		err = create(&s, 2, limit, &hg);
		assert_true(!err == !!hg);
		gr_error_destroy(err);
		limit *= 2;
	} while (!hg && limit < UINT64_C(1) << 40);
	assert_true(limit > 1024 && hg);
	assert_true(hg->budget.held_bytes && hg->budget.peak_bytes < limit);
	gr_heap_graph_destroy(hg);
	service_deinit(&s);
}

/* Have the heap's memory in a file that was cut off since it was mapped. */
static struct gr_bytes map_file(struct service *s)
{
	size_t size = NPAGES * PAGE;
	_cleanup_close_ int fd = memfd_create("heap", 0);
	uint8_t *map;

	assert_true(fd >= 0 && !ftruncate(fd, size));
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED && !ftruncate(fd, 0));
	for (uint32_t i = 0; i < s->w.heap->nspans; i++) {
		struct gr_span *span = &s->w.heap->spans[i];
		if (span->host)
			span->host = map + (span->base_addr - HEAP);
	}
	return (struct gr_bytes){ map, size };
}

TEST(file_shrinks)
{
	for (unsigned int n = 1; n <= 4; n++) {
		struct service s;
		struct gr_heap_graph *hg;
		struct gr_sigbus_guard guard;

		service_init(&s, 4);
		struct gr_bytes file = map_file(&s);
		struct gr_sigbus_area *area = gr_sigbus_watch(file, "a core");
		gr_sigbus_guard_begin(&guard);
		struct gr_error *err = create(&s, n, 0, &hg);
		assert_fails(gr_sigbus_guard_end(&guard, err), GR_ERROR_IO,
			     NULL);
		gr_heap_graph_destroy(hg);
		gr_sigbus_forget(area);
		munmap((void *)file.data, file.size);
		service_deinit(&s);
	}
}

GR_SUITE("heapgraph limits")
