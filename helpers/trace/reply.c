// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/reply.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

static void check(struct gr_reply *out, bool is_fine)
{
	out->is_broken = out->is_broken || !is_fine;
}

static void write_records(struct gr_reply *out, const char *name,
			  const void *records, size_t *n, size_t bytes)
{
	if (!*n)
		return;
	check(out, fprintf(out->file, "%s %zu\n", name, *n) > 0 &&
			   fwrite(records, bytes, *n, out->file) == *n);
	*n = 0;
}

static void write_all(struct gr_reply *out)
{
	write_records(out, "events", out->events, &out->nevents,
		      sizeof(out->events[0]));
	write_records(out, "samples", out->samples, &out->nsamples,
		      sizeof(out->samples[0]));
	write_records(out, "labels", out->labels, &out->nlabels,
		      sizeof(out->labels[0]));
	write_records(out, "each", out->each, &out->neach,
		      sizeof(out->each[0]));
}

void gr_reply_line(struct gr_reply *out, const char *fmt, ...)
{
	va_list args;

	write_all(out);
	va_start(args, fmt);
	check(out, vfprintf(out->file, fmt, args) >= 0);
	va_end(args);
	check(out, fputc('\n', out->file) != EOF);
}

/* Names and paths are the process's own, and could hold a line of ours. */
static void write_text(struct gr_reply *out, const char *text)
{
	for (; *text; text++)
		fputc(iscntrl((unsigned char)*text) ? '?' : *text, out->file);
}

void gr_reply_place(struct gr_reply *out, const struct gr_trace_place *place,
		    uint64_t pc)
{
	if (place->is_new_file) {
		fprintf(out->file, "file %" PRIu32 " ", place->file);
		write_text(out, place->path);
		fputc('\n', out->file);
	}
	fprintf(out->file,
		"place %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu32 " ",
		place->id, pc, place->off, place->file);
	write_text(out, place->name);
	check(out, fputc('\n', out->file) != EOF);
}

void gr_reply_stack(struct gr_reply *out, uint32_t id,
		    const struct gr_walked *walked, const uint32_t *places)
{
	fprintf(out->file, "stack %" PRIu32 " %d %zu", id, !walked->is_finished,
		walked->count);
	for (size_t i = 0; i < walked->count; i++)
		fprintf(out->file, " %" PRIu32, places[i]);
	check(out, fputc('\n', out->file) != EOF);
}

void gr_reply_event(struct gr_reply *out, const struct gr_out_event *event)
{
	out->events[out->nevents++] = *event;
	if (out->nevents == GR_BATCH)
		write_all(out);
}

void gr_reply_sample(struct gr_reply *out, const struct gr_out_sample *sample)
{
	out->samples[out->nsamples++] = *sample;
	if (out->nsamples == GR_BATCH)
		write_all(out);
}

void gr_reply_labels(struct gr_reply *out, const struct gr_out_labels *labels)
{
	out->labels[out->nlabels++] = *labels;
	if (out->nlabels == GR_BATCH)
		write_all(out);
}

void gr_reply_each(struct gr_reply *out, const struct gr_out_block *block)
{
	out->each[out->neach++] = *block;
	if (out->neach == GR_BATCH)
		write_all(out);
}

void gr_reply_block(struct gr_reply *out, const struct gr_out_block *block)
{
	check(out, fwrite(block, sizeof(*block), 1, out->file) == 1);
}

bool gr_reply_is_urgent(const struct gr_reply *out)
{
	return out->nsamples || out->nlabels || out->neach;
}

void gr_reply_kernel_place(struct gr_reply *out, uint64_t pc, const char *name)
{
	fprintf(out->file, "kplace %" PRIu64 " ", pc);
	write_text(out, name);
	check(out, fputc('\n', out->file) != EOF);
}

void gr_reply_kernel_stack(struct gr_reply *out, uint32_t id,
			   const struct gr_walked *walked)
{
	fprintf(out->file, "kstack %" PRIu32 " %d %zu", id,
		!walked->is_finished, walked->count);
	for (size_t i = 0; i < walked->count; i++)
		fprintf(out->file, " %" PRIu64, walked->pc[i]);
	check(out, fputc('\n', out->file) != EOF);
}

void gr_reply_kernel(struct gr_reply *out, const struct gr_out_kernel *records,
		     size_t n)
{
	gr_reply_line(out, "kernel %zu", n);
	check(out, fwrite(records, sizeof(*records), n, out->file) == n);
}

void gr_reply_flush(struct gr_reply *out)
{
	write_all(out);
	check(out, fflush(out->file) == 0 && !ferror(out->file));
}
