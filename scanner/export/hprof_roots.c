// SPDX-License-Identifier: Apache-2.0
/* Roots that are no package variables of the program, one for each pointer. */
#include "export/hprof_internal.h"

/* A root as the file has it. */
struct place {
	enum gr_hprof_dump tag;
	uint32_t goroutine;   /* UINT32_MAX: none */
	uint64_t addr;	      /* on its stack, in a frame; 0: elsewhere */
	const char *variable; /* of that frame, or NULL */
};

static enum gr_hprof_dump tag_of(enum gr_root_kind kind)
{
	if (kind == GR_ROOT_FINALIZER || kind == GR_ROOT_CLEANUP)
		return GR_HPROF_ROOT_JNI_GLOBAL;
	return kind == GR_ROOT_TIMER ? GR_HPROF_ROOT_MONITOR :
				       GR_HPROF_ROOT_UNKNOWN;
}

static struct place place_of(const struct gr_stop *stop,
			     const struct gr_root_vertex *root)
{
	const struct gr_root *listed;
	uint32_t owner;

	switch ((enum gr_root_source)root->source) {
	case GR_FROM_SCHEDULER:
		return (struct place){ GR_HPROF_ROOT_JNI_LOCAL, root->index, 0,
				       NULL };
	case GR_FROM_AREA:
		owner = stop->roots.areas.owners[root->index];
		return (struct place){ GR_HPROF_ROOT_FRAME, owner, root->addr,
				       NULL };
	case GR_FROM_C:
	case GR_FROM_C_REGISTERS:
		return (struct place){ GR_HPROF_ROOT_JNI_GLOBAL, UINT32_MAX, 0,
				       NULL };
	case GR_FROM_LIST:
		break;
	}
	listed = &stop->roots.list.data[root->index];
	if (listed->goroutine >= stop->sched.ngoroutines)
		return (struct place){ tag_of(listed->kind), UINT32_MAX, 0,
				       NULL };
	// A variable in pieces or a register has no address, but a frame.
	bool is_on_stack = listed->form == GR_ROOT_REGION && !listed->bytes_at;
	uint64_t addr = is_on_stack ? listed->addr : listed->frame_sp;
	return (struct place){ addr ? GR_HPROF_ROOT_FRAME :
				      GR_HPROF_ROOT_JNI_LOCAL,
			       listed->goroutine, addr, listed->name };
}

static void put_root(struct gr_hprof *h, const struct place *place,
		     int32_t call, uint64_t id)
{
	bool is_handle = place->tag == GR_HPROF_ROOT_JNI_GLOBAL;
	bool has_thread = place->goroutine != UINT32_MAX;
	struct gr_stream *to = gr_hprof_dump(h, place->tag,
					     1 + GR_HPROF_ID_BYTES +
						     (is_handle	 ? 8 :
						      has_thread ? 8 :
								   0));

	gr_stream_put_u64(to, id);
	if (is_handle)
		gr_stream_put_u64(to, 0);
	if (!has_thread)
		return;
	gr_stream_put_u32(to, gr_hprof_thread_serial(place->goroutine));
	gr_stream_put_u32(to, (uint32_t)call);
}

static struct gr_error *put_vertex(struct gr_hprof *h,
				   struct gr_hprof_calls *calls, uint32_t index)
{
	const struct gr_heap_graph *hg = h->answers->graph;
	const struct gr_graph *g = hg->graph;
	gr_vertex v = gr_graph_first_root(g) + index;
	struct place place = place_of(h->answers->stop, &hg->roots.data[index]);
	int32_t call = -1;
	struct gr_error *err = NULL;

	if (place.addr)
		err = gr_hprof_call_at(calls, place.goroutine, place.addr,
				       place.variable, &call);
	for (uint32_t i = g->first[v]; !err && i < g->first[v + 1]; i++)
		put_root(h, &place, call,
			 gr_objects_addr(g->objects, g->to[i]));
	return err;
}

struct gr_error *gr_hprof_put_roots(struct gr_hprof *h)
{
	const struct gr_heap_graph *hg = h->answers->graph;
	_cleanup_(
		gr_hprof_calls_deinit) struct gr_hprof_calls calls = { .h = h };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		err = gr_runtime_step(&h->answers->stop->program->rt, 1);
		if (!err &&
		    !gr_hprof_is_static(h->answers->stop, &hg->roots.data[i]))
			err = put_vertex(h, &calls, i);
	}
	return err;
}
