// SPDX-License-Identifier: Apache-2.0
/*
 * The input of the rule, as vertices of the object graph: what each candidate
 * holds (the roots on its stack; its g and its sudogs always count, because
 * runtime.allgs leads to them), and what it awaits. The edges from sudogs to
 * what is awaited are hidden, from those of all goroutines, as the runtime does
 * (setSyncObjectsUntraceable).
 */
#include "goroutines/leak_rule.h"

#include "goruntime/sched/waits.h"
#include "graph/liveness.h"

#define NO_CANDIDATE UINT32_MAX

GR_VECTOR(hidden_vector, struct gr_hidden_edge);

struct judge {
	struct gr_answers *answers;
	const struct gr_sched *sched;
	uint8_t *states;		    /* of goroutines */
	uint32_t *candidate_of;		    /* of goroutines; or NO_CANDIDATE */
	struct gr_u32_vector goroutines;    /* of candidates */
	struct gr_u32_vector first_awaited; /* of candidates */
	struct gr_u32_vector awaited;
	struct hidden_vector hidden;
	uint32_t *first_held; /* of candidates */
	gr_vertex *held;
	uint64_t *without; /* a bit a vertex: no root of the collector */
};

static void judge_deinit(struct judge *j)
{
	free(j->candidate_of);
	gr_u32_vector_deinit(&j->goroutines);
	gr_u32_vector_deinit(&j->first_awaited);
	gr_u32_vector_deinit(&j->awaited);
	hidden_vector_deinit(&j->hidden);
	free(j->first_held);
	free(j->held);
	free(j->without);
}

// ----------------------------------------------------------------- candidates

/* In a bubble of testing/synctest, goroutines wait `(durable)`, before Go 1.25
 * `(synctest)`. The runtime takes them for roots. */
static bool waits_in_bubble(const char *wait_reason)
{
	return strstr(wait_reason, " (durable)") ||
	       strstr(wait_reason, " (synctest)");
}

static enum gr_leak_state state_of_kind(enum gr_wait_kind kind)
{
	switch (kind) {
	case GR_WAIT_CHAN_SEND:
	case GR_WAIT_CHAN_RECEIVE:
	case GR_WAIT_SELECT_SEND:
	case GR_WAIT_SELECT_RECEIVE:
	case GR_WAIT_MUTEX:
	case GR_WAIT_RWMUTEX_READ:
	case GR_WAIT_RWMUTEX_WRITE:
	case GR_WAIT_WAITGROUP:
	case GR_WAIT_COND:
	case GR_WAIT_NIL_CHAN:
	case GR_WAIT_EMPTY_SELECT:
		return GR_LEAK_LEAKED;
	case GR_WAIT_UNKNOWN:
		return GR_LEAK_UNKNOWN_WAIT;
	case GR_WAIT_SEMAPHORE:
	case GR_WAIT_SLEEP:
	case GR_WAIT_NETWORK:
	case GR_WAIT_SYSCALL:
	case GR_WAIT_SIGNAL:
	case GR_WAIT_COROUTINE:
	case GR_WAIT_SYNCTEST:
	case GR_WAIT_RUNTIME:
	case GR_NWAIT_KINDS:
		break;
	}
	return GR_LEAK_NO_CANDIDATE;
}

/* Does no record of what it awaits belong to the wait? A select has none if the
 * channels of all its cases are nil. */
static bool awaits_nothing(const struct gr_goroutine *g, uint8_t kind)
{
	return kind == GR_WAIT_NIL_CHAN || kind == GR_WAIT_EMPTY_SELECT ||
	       ((kind == GR_WAIT_SELECT_SEND ||
		 kind == GR_WAIT_SELECT_RECEIVE) &&
		!g->waiting_addr);
}

/* The object of an address, as a vertex; GR_VERTEX_NONE: nothing has reached
 * it, or there is none. */
static gr_vertex vertex_at(const struct judge *j, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(j->answers->stop->heap, addr, &span);

	return obj == GR_OBJ_NONE ?
		       GR_VERTEX_NONE :
		       gr_object_vertex(j->answers->graph->graph->objects, obj);
}

static struct gr_error *hide(struct judge *j, const struct gr_wait *wait,
			     gr_vertex to)
{
	const struct gr_hidden_edge edge = { vertex_at(j, wait->sudog), to };

	return edge.from == GR_VERTEX_NONE ||
			       hidden_vector_append(&j->hidden, edge) ?
		       NULL :
		       &gr_enomem;
}

/* One case of a select that somebody can use is enough. */
static void note_unknown(enum gr_leak_state *state)
{
	if (*state == GR_LEAK_LEAKED)
		*state = GR_LEAK_UNKNOWN_WAIT;
}

/* Look at one thing that a goroutine awaits. What is no object of the heap, such
 * as a package variable, anybody may use. */
static struct gr_error *add_awaited(struct judge *j,
				    const struct gr_goroutine *g,
				    const struct gr_wait *wait,
				    enum gr_leak_state *state)
{
	const struct gr_heap *heap = j->answers->stop->heap;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(heap, wait->key, &span);
	gr_vertex v = vertex_at(j, wait->key);

	if (!wait->key && awaits_nothing(g, wait->kind))
		return NULL;
	if (wait->key && obj == GR_OBJ_NONE)
		*state = GR_LEAK_AWAKENABLE;
	else if (!wait->key || !gr_heap_is_allocated(heap, obj))
		note_unknown(state);
	if (v == GR_VERTEX_NONE)
		return NULL;
	struct gr_error *err = hide(j, wait, v);
	return err || gr_u32_vector_append(&j->awaited, v) ? err : &gr_enomem;
}

static bool may_be_candidate(const struct judge *j,
			     const struct gr_goroutine *g)
{
	return !g->is_g0 && !g->is_system &&
	       gr_status_is_waiting(&j->answers->stop->program->rt.layout,
				    g->status) &&
	       !waits_in_bubble(g->wait_reason);
}

/* @p first is the first of what it awaits. */
static struct gr_error *add_candidate(struct judge *j, uint32_t index,
				      uint32_t first)
{
	j->candidate_of[index] = j->goroutines.size;
	return gr_u32_vector_append(&j->goroutines, index) &&
			       gr_u32_vector_append(&j->first_awaited, first) ?
		       NULL :
		       &gr_enomem;
}

/* Note a goroutine and what it awaits if it is a candidate. */
static struct gr_error *look_at(struct judge *j, uint32_t index)
{
	const struct gr_waits *waits = j->sched->waits;
	const struct gr_goroutine *g = &j->sched->goroutines[index];
	enum gr_leak_state state = GR_LEAK_NO_CANDIDATE;
	uint32_t before = j->awaited.size;
	struct gr_error *err = NULL;

	if (may_be_candidate(j, g) &&
	    waits->first[index] < waits->first[index + 1] &&
	    !waits->rows[waits->first[index]].is_woken)
		state = state_of_kind(waits->rows[waits->first[index]].kind);
	if (state == GR_LEAK_LEAKED)
		for (uint32_t i = waits->first[index];
		     !err && i < waits->first[index + 1]; i++)
			err = add_awaited(j, g, &waits->rows[i], &state);
	j->states[index] = state;
	if (err || state == GR_LEAK_LEAKED)
		return err ? err : add_candidate(j, index, before);
	j->awaited.size = before;
	return NULL;
}

static struct gr_error *find_candidates(struct judge *j)
{
	size_t n = j->sched->ngoroutines;
	struct gr_error *err = NULL;

	j->candidate_of = calloc(n + 1, sizeof(*j->candidate_of));
	if (!j->candidate_of)
		return &gr_enomem;
	for (size_t i = 0; !err && i < n; i++) {
		j->candidate_of[i] = NO_CANDIDATE;
		err = gr_runtime_step(&j->answers->stop->program->rt, 1);
		if (!err)
			err = look_at(j, i);
	}
	if (!err && !gr_u32_vector_append(&j->first_awaited, j->awaited.size))
		err = &gr_enomem;
	return err;
}

// ----------------------------------------------------------------- their roots

/* The candidate on whose stack a root lies; or NO_CANDIDATE. */
static uint32_t holder_of(const struct judge *j,
			  const struct gr_root_vertex *root)
{
	uint32_t goroutine = root->holder - GR_NROOT_GROUPS;

	return root->source == GR_FROM_SCHEDULER ||
			       root->holder < GR_NROOT_GROUPS ||
			       goroutine >= j->sched->ngoroutines ?
		       NO_CANDIDATE :
		       j->candidate_of[goroutine];
}

/* Sort the roots on the stacks by candidate: count them, then place them. */
static struct gr_error *find_held(struct judge *j)
{
	const struct gr_heap_graph *hg = j->answers->graph;
	gr_vertex first_root = gr_graph_first_root(hg->graph);
	size_t n = j->goroutines.size, nroots = hg->roots.size;
	struct gr_error *err = NULL;

	j->first_held = calloc(n + 2, sizeof(*j->first_held));
	j->held = calloc(nroots + 1, sizeof(*j->held));
	if (!j->first_held || !j->held)
		return &gr_enomem;
	for (size_t i = 0; !err && i < nroots; i++) {
		uint32_t candidate = holder_of(j, &hg->roots.data[i]);
		if (candidate != NO_CANDIDATE)
			j->first_held[candidate + 2]++;
		err = gr_runtime_step(&j->answers->stop->program->rt, 1);
	}
	for (size_t i = 2; i < n + 2; i++)
		j->first_held[i] += j->first_held[i - 1];
	for (size_t i = 0; !err && i < nroots; i++) {
		uint32_t candidate = holder_of(j, &hg->roots.data[i]);
		if (candidate != NO_CANDIDATE)
			j->held[j->first_held[candidate + 1]++] =
				first_root + i;
		err = gr_runtime_step(&j->answers->stop->program->rt, 1);
	}
	return err;
}

/* The blocks from which small objects are cut are roots of a walk, because the
 * program may be using them. A collection forgets them when it begins. */
static struct gr_error *leave_out_tiny_blocks(struct judge *j)
{
	const struct gr_heap_graph *hg = j->answers->graph;
	const struct gr_root_list *list = &j->answers->stop->roots.list;
	struct gr_error *err = NULL;

	j->without = gr_bitmap_alloc(hg->graph->nvertices);
	if (!j->without)
		return &gr_enomem;
	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		const struct gr_root_vertex *root = &hg->roots.data[i];
		if (root->source == GR_FROM_LIST &&
		    list->data[root->index].kind == GR_ROOT_TINY)
			gr_bitmap_set(j->without,
				      gr_graph_first_root(hg->graph) + i);
		err = gr_runtime_step(&j->answers->stop->program->rt, 1);
	}
	return err;
}

// --------------------------------------------------------------------- verdict

bool gr_leak_rule_lacks_memory(const struct gr_answers *answers)
{
	const uint64_t *count = answers->graph_gaps.count;

	return answers->stop->info.missing_bytes ||
	       answers->stop->info.bad_headers ||
	       count[GR_GAP_UNREADABLE_PAGES] || count[GR_GAP_BAD_SPANS] ||
	       count[GR_GAP_GOROUTINES_SKIPPED] || count[GR_GAP_BROKEN_LISTS];
}

/* Programs end their main() with `select {}` to go on for ever: that is no leak,
 * but what only this goroutine's stack leads to is no reason to be woken. The
 * runtime does the same since Go 1.27. */
static bool is_parked_main(const struct judge *j, uint32_t index)
{
	const struct gr_waits *waits = j->sched->waits;

	return j->sched->goroutines[index].goid == 1 &&
	       waits->rows[waits->first[index]].kind == GR_WAIT_EMPTY_SELECT;
}

/* The state of a candidate that nothing marked has led to. */
static enum gr_leak_state state_of_dead(const struct judge *j,
					uint32_t candidate, bool lacks)
{
	uint32_t index = j->goroutines.data[candidate];
	const struct gr_waits *waits = j->sched->waits;
	const struct gr_wait *wait = &waits->rows[waits->first[index]];

	if (is_parked_main(j, index))
		return GR_LEAK_NO_CANDIDATE;
	return lacks && wait->key ? GR_LEAK_MISSING_MEMORY : GR_LEAK_LEAKED;
}

static struct gr_error *mark(struct judge *j)
{
	const struct gr_poll poll =
		gr_runtime_poller(&j->answers->stop->program->rt);
	size_t n = j->goroutines.size;
	_cleanup_free_ uint64_t *alive = calloc(n / 64 + 1, sizeof(*alive));
	const struct gr_liveness_spec spec = {
		.without = j->without,
		.ncandidates = n,
		.first_held = j->first_held,
		.held = j->held,
		.first_awaited = j->first_awaited.data,
		.awaited = j->awaited.data,
		.hidden = j->hidden.data,
		.nhidden = j->hidden.size,
	};
	bool lacks = gr_leak_rule_lacks_memory(j->answers);

	if (!alive)
		return &gr_enomem;
	struct gr_error *err = gr_graph_liveness(j->answers->graph->graph,
						 &spec, &poll, alive, NULL);
	for (size_t i = 0; !err && i < n; i++)
		j->states[j->goroutines.data[i]] =
			gr_bitmap_test(alive, i) ? GR_LEAK_AWAKENABLE :
						   state_of_dead(j, i, lacks);
	return err;
}

struct gr_error *gr_leak_rule_apply(struct gr_answers *answers, uint8_t *states)
{
	_cleanup_(judge_deinit) struct judge j = {
		.answers = answers,
		.sched = &answers->stop->sched,
		.states = states,
	};
	struct gr_error *err = find_candidates(&j);

	if (!err)
		err = find_held(&j);
	if (!err)
		err = leave_out_tiny_blocks(&j);
	return err ? err : mark(&j);
}
