// SPDX-License-Identifier: Apache-2.0
#include "goroutines/call_variables.h"

#include "goroutines/call_values.h"

enum {
	MAX_VALUE_BYTES = 1 << 20, /* text of one value */
	MAX_TEXT_BYTES = 1 << 26,  /* of all values of a backtrace */
};

/** The variables of one goroutine, as text. */
struct query {
	struct gr_program *program;
	const struct gr_show_limits *limits;
	struct gr_call_values values;
	struct gr_backtrace_call *call; /* that is being filled */
	char *text;			/* MAX_VALUE_BYTES */
	size_t text_bytes;		/* of all values so far */
};

static void query_deinit(struct query *q)
{
	gr_call_values_deinit(&q->values);
	free(q->text);
}

void gr_call_variables_free(struct gr_backtrace_call *call)
{
	for (size_t i = 0; i < call->nvariables; i++)
		free(call->variables[i].value);
	free(call->variables);
}

static struct gr_error *put_value(struct query *q,
				  const struct gr_call_value *value,
				  struct gr_text *text)
{
	switch (value->state) {
	case GR_CALL_VALUE_OPTIMIZED_OUT:
		gr_text_put(text, "(optimized out)");
		return NULL;
	case GR_CALL_VALUE_NO_POINTER:
		gr_text_put(text, "(unreadable pointer to the variable)");
		return NULL;
	case GR_CALL_VALUE_THERE:
		break;
	}
	return gr_show_value(q->program->types, q->limits, &value->shown, text);
}

static struct gr_error *add_variable(void *ctx,
				     const struct gr_call_value *value)
{
	struct query *q = ctx;
	struct gr_backtrace_call *call = q->call;
	size_t left = MAX_TEXT_BYTES - q->text_bytes;
	struct gr_text text = gr_text_begin(
		q->text, left < MAX_VALUE_BYTES ? left + 4 : MAX_VALUE_BYTES);
	struct gr_error *err = put_value(q, value, &text);

	if (err)
		return err;
	struct gr_call_variable *all =
		realloc(call->variables, (call->nvariables + 1) * sizeof(*all));
	if (!all)
		return &gr_enomem;
	call->variables = all;
	all[call->nvariables] = (struct gr_call_variable){
		.name = value->name,
		.type = value->type == GR_TYPE_NONE ?
				"" :
				gr_types_get(q->program->types, value->type)
					->name,
		.value = strdup(text.data),
		.is_argument = value->is_argument,
		.line = value->line,
	};
	if (!all[call->nvariables].value)
		return &gr_enomem;
	call->nvariables++;
	q->text_bytes += text.bytes;
	return NULL;
}

struct gr_error *gr_call_variables_add(struct gr_program *program,
				       const struct gr_goroutine *g,
				       const struct gr_backtrace_query *query,
				       struct gr_backtrace *backtrace)
{
	_cleanup_(query_deinit) struct query q = {
		.program = program,
		.limits = &query->limits,
		.text = malloc(MAX_VALUE_BYTES),
	};
	size_t end = query->ncalls ? (size_t)query->first_call + query->ncalls :
				     SIZE_MAX;
	struct gr_error *err;

	if (!q.text)
		return &gr_enomem;
	err = gr_call_values_init(program, g, &q.values);
	for (size_t i = query->first_call;
	     !err && i < backtrace->ncalls && i < end; i++) {
		q.call = &backtrace->calls[i];
		err = gr_call_values_each(&q.values, q.call, add_variable, &q);
	}
	return err;
}
