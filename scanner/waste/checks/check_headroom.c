// SPDX-License-Identifier: Apache-2.0
/*
 * gc-headroom: how far the collector lets the heap grow. This is advice: it
 * saves nothing by itself.
 */
#include "base/text.h"
#include "scan/answers.h"
#include "waste/checks/checks.h"

#include <inttypes.h>

enum {
	DEFAULT_GOGC = 100,
	TEXT_BYTES = 32,
	SENTENCE_BYTES = 512,
};

/* Is there a row that will be printed? All others have their names. */
static bool has_rows(const struct gr_waste_run *run)
{
	const struct gr_finding_vector *rows = &run->findings.rows;

	for (uint32_t i = 0; i < rows->size; i++)
		if (rows->data[i].row == i && rows->data[i].bytes &&
		    !rows->data[i].is_left_out)
			return true;
	return false;
}

/* The settings of a process were read in its stop, if they were. */
static struct gr_error *read_settings(struct gr_waste_run *run,
				      struct gr_collector *ret)
{
	const struct gr_stop *stop = run->answers->stop;
	struct gr_error *err = NULL;

	*ret = stop->pages.collector;
	if (!stop->pages.has_residency)
		err = gr_collector_read(run->types, ret);
	if (gr_error_catch(&err, GR_ERROR_NOT_SAVED) ||
	    gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = (struct gr_collector){ INT64_MIN, INT64_MIN, INT64_MIN };
	return err;
}

/* Is there a GOMEMLIMIT? */
static bool has_limit(const struct gr_collector *c)
{
	return c->memory_limit > 0 && c->memory_limit < INT64_MAX;
}

/* Write the settings: `GOGC is 400 and GOMEMLIMIT is 2.0 GiB'. */
static void put_settings(struct gr_text *text, const struct gr_collector *c)
{
	char bytes[TEXT_BYTES];

	if (c->gogc < 0)
		gr_text_put(text, "GOGC is off");
	else
		gr_text_put(text, "GOGC is %" PRId64, c->gogc);
	if (has_limit(c))
		gr_text_put(text, " and GOMEMLIMIT is %s",
			    gr_text_bytes(c->memory_limit, bytes,
					  sizeof(bytes)));
}

/* Say at which heap the next cycle ends, as far as it is known. A memory limit
 * may end it at a smaller heap than GOGC does. */
static void put_goal(struct gr_text *text, const struct gr_collector *c)
{
	char bytes[TEXT_BYTES];

	if (c->gogc < 0 || c->goal_bytes <= 0 || c->goal_bytes == INT64_MAX)
		return;
	gr_text_put(text, ", and the next one ends at a heap of %s%s",
		    has_limit(c) ? "at most " : "",
		    gr_text_bytes(c->goal_bytes, bytes, sizeof(bytes)));
}

static void put_advice(struct gr_text *text, const struct gr_collector *c)
{
	if (c->gogc < 0)
		gr_text_put(text,
			    ". Setting GOGC, or a lower GOMEMLIMIT, takes "
			    "less memory and more processor time.");
	else if (c->gogc == DEFAULT_GOGC && !has_limit(c))
		gr_text_put(text, ". The heap grows to about twice the bytes "
				  "that are live, but to 4 MiB at least.");
	else if (c->gogc > DEFAULT_GOGC)
		gr_text_put(text, ". A lower GOGC takes less memory and more "
				  "processor time.");
	else if (c->gogc < DEFAULT_GOGC)
		gr_text_put(text, ". A higher GOGC takes more memory and less "
				  "processor time.");
	else
		gr_text_put(text, ". A lower GOMEMLIMIT makes the collector "
				  "run more often near the limit.");
}

static struct gr_error *add(struct gr_waste_run *run,
			    const struct gr_collector *c)
{
	uint64_t live = run->waste->heap_bytes;
	uint64_t allocated = run->heap->allocated_bytes;
	char sentence[SENTENCE_BYTES], bytes[TEXT_BYTES], garbage[TEXT_BYTES];
	struct gr_text text = gr_text_begin(sentence, sizeof(sentence));

	put_settings(&text, c);
	gr_text_put(&text,
		    ": %s of the heap is live, and a collection now would "
		    "free at least %s",
		    gr_text_bytes(live, bytes, sizeof(bytes)),
		    gr_text_bytes(allocated > live ? allocated - live : 0,
				  garbage, sizeof(garbage)));
	put_goal(&text, c);
	put_advice(&text, c);
	const struct gr_finding row = {
		.check = GR_WASTE_GC_HEADROOM,
		.type = "",
		.field = "",
		.advice = gr_arena_intern(&run->answers->stop->program->arena,
					  sentence, text.bytes),
		.is_advice = true,
	};
	return row.advice ? gr_findings_add(&run->findings, &row) : &gr_enomem;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	struct gr_collector c;

	// Then it is not known how much of the heap is live.
	if (!run->waste->heap_objects)
		return NULL;
	struct gr_error *err = read_settings(run, &c);

	// Without debug information, nothing is known.
	if (err || c.gogc == INT64_MIN || c.memory_limit == INT64_MIN)
		return err;
	if (c.gogc == DEFAULT_GOGC && c.memory_limit == INT64_MAX &&
	    !has_rows(run))
		return NULL;
	return add(run, &c);
}

const struct gr_check gr_check_headroom = {
	.id = GR_WASTE_GC_HEADROOM,
	.advice = "A lower GOGC takes less memory and more processor time.",
	.find = find,
};
