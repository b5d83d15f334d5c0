// SPDX-License-Identifier: Apache-2.0
#include "values/local_values.h"

#include "goroutines/call_values.h"
#include "scan/enter.h"

GR_DEFINE_CLEANUP(backtrace, struct gr_backtrace, gr_backtrace_destroy)

void gr_local_values_deinit(struct gr_local_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		free(values->values[i].bytes);
	free(values->values);
	memset(values, 0, sizeof(*values));
}

static const char *state_name(enum gr_call_value_state state)
{
	static const char *const names[] = {
		[GR_CALL_VALUE_THERE] = "there",
		[GR_CALL_VALUE_OPTIMIZED_OUT] = "optimized out",
		[GR_CALL_VALUE_NO_POINTER] = "unreadable",
	};

	return names[state];
}

static struct gr_error *copy_bytes(const struct gr_shown *shown,
				   struct gr_local_value *ret)
{
	if (!shown->host)
		return NULL;
	ret->bytes = malloc(shown->host_bytes + 1);
	if (!ret->bytes)
		return &gr_enomem;
	memcpy(ret->bytes, shown->host, shown->host_bytes);
	ret->nbytes = shown->host_bytes;
	return NULL;
}

/* The variables so far, and the call whose variables come. */
struct listing {
	struct gr_local_values *list;
	uint32_t call;
};

static struct gr_error *add_value(void *ctx, const struct gr_call_value *value)
{
	const struct listing *listing = ctx;
	struct gr_local_values *list = listing->list;
	struct gr_local_value *grown =
		realloc(list->values, (list->count + 1) * sizeof(*grown));

	if (!grown)
		return &gr_enomem;
	list->values = grown;
	grown += list->count++;
	*grown = (struct gr_local_value){
		.call = listing->call,
		.name = value->name,
		.type = value->type,
		.state = state_name(value->state),
		.is_argument = value->is_argument,
		.line = value->line,
	};
	if (value->state != GR_CALL_VALUE_THERE)
		return NULL;
	grown->addr = value->shown.host ? 0 : value->shown.addr;
	return copy_bytes(&value->shown, grown);
}

static struct gr_error *list_values(struct gr_stop *stop, uint64_t id,
				    uint32_t first, uint32_t count,
				    struct gr_local_values *ret)
{
	const struct gr_backtrace_query query = { .goroutine_id = id };
	_cleanup_(gr_call_values_deinit) struct gr_call_values values = { 0 };
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace = NULL;
	struct listing listing = { .list = ret };
	const struct gr_goroutine *g;
	struct gr_error *err = gr_backtrace_make(stop, &query, &backtrace);

	if (!err)
		err = gr_stop_need_goroutine(stop, id, &g);
	if (!err)
		err = gr_call_values_init(stop->program, g, &values);
	for (uint64_t i = first;
	     !err && i < backtrace->ncalls && i - first < count; i++) {
		listing.call = (uint32_t)i;
		err = gr_call_values_each(&values, &backtrace->calls[i],
					  add_value, &listing);
	}
	return err;
}

struct gr_error *gr_scan_local_values(struct gr_scan *scan,
				      uint64_t goroutine_id, uint32_t first,
				      uint32_t count,
				      struct gr_local_values *ret)
{
	struct gr_stop *stop;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard, &stop);

	memset(ret, 0, sizeof(*ret));
	if (!err && !gr_stop_may_have_values(stop))
		err = gr_error_not_saved();
	if (!err)
		err = list_values(stop, goroutine_id, first, count, ret);
	return gr_sigbus_guard_end(&guard, err);
}
