// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/input.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>

enum { WORDS_MAX = 8, PPM_MAX = 1000000 };

/** Names of offsets, in the order of struct gr_event_offsets. */
static const struct {
	const char *name;
	size_t at;
	bool is_needed; // for the stack of the goroutine
} offset_rows[] = {
	{ "g_m", offsetof(struct gr_event_offsets, g_m), true },
	{ "g_stack_lo", offsetof(struct gr_event_offsets, g_stack_lo), true },
	{ "g_stack_hi", offsetof(struct gr_event_offsets, g_stack_hi), true },
	{ "g_sched_sp", offsetof(struct gr_event_offsets, g_sched_sp), true },
	{ "g_sched_pc", offsetof(struct gr_event_offsets, g_sched_pc), true },
	{ "g_sched_bp", offsetof(struct gr_event_offsets, g_sched_bp), true },
	{ "g_goid", offsetof(struct gr_event_offsets, g_goid), false },
	{ "g_labels", offsetof(struct gr_event_offsets, g_labels), false },
	{ "m_g0", offsetof(struct gr_event_offsets, m_g0), true },
	{ "m_curg", offsetof(struct gr_event_offsets, m_curg), true },
};

/** The words of a line. */
struct gr_words {
	char *word[WORDS_MAX];
	size_t count;
	bool are_fine;
};

static struct gr_words split(char *line)
{
	struct gr_words w = { .count = 0, .are_fine = true };
	char *rest = NULL;

	for (char *p = strtok_r(line, " ", &rest); p;
	     p = strtok_r(NULL, " ", &rest)) {
		if (w.count == WORDS_MAX) {
			w.are_fine = false;
			break;
		}
		w.word[w.count++] = p;
	}
	return w;
}

/** The number of a word, from @p least to @p most. */
static int64_t number(struct gr_words *w, size_t i, int64_t least, int64_t most)
{
	char *end;

	if (i >= w->count) {
		w->are_fine = false;
		return 0;
	}
	const char *digits = w->word[i] + (*w->word[i] == '-');
	int base = strncmp(digits, "0x", 2) ? 10 : 16;
	errno = 0;
	int64_t n = strtoll(w->word[i], &end, base);
	if (!isdigit((unsigned char)*digits) || *end || errno || n < least ||
	    n > most) {
		w->are_fine = false;
		return 0;
	}
	return n;
}

static uint64_t address(struct gr_words *w, size_t i)
{
	return (uint64_t)number(w, i, 0, INT64_MAX);
}

// ------------------------------------------------------------------ the lines

static enum gr_input_kind take_mode(struct gr_request *req, struct gr_words *w)
{
	const char *name = w->count == 2 ? w->word[1] : "";

	req->has_mode = true;
	if (!strcmp(name, "go"))
		req->mode = GR_TRACE_GO;
	else if (!strcmp(name, "rss"))
		req->mode = GR_TRACE_RSS;
	else if (!strcmp(name, "kernel"))
		req->mode = GR_TRACE_KERNEL;
	else if (!strcmp(name, "native"))
		req->mode = GR_TRACE_NATIVE;
	else
		w->are_fine = false;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_budget(struct gr_request *req,
				      struct gr_words *w)
{
	req->budget_ppm = (uint64_t)number(w, 1, 0, PPM_MAX);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_tls_g(struct gr_request *req, struct gr_words *w)
{
	req->tls_g = number(w, 1, INT32_MIN, INT32_MAX);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_sweepgen(struct gr_request *req,
					struct gr_words *w)
{
	req->sweepgen_address = address(w, 1);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_offset(struct gr_request *req,
				      struct gr_words *w)
{
	uint32_t bytes = (uint32_t)number(w, 2, 0, GR_EVENT_PART - 8);
	size_t i = 0;

	while (w->count == 3 && i < GR_ARRAY_SIZE(offset_rows) &&
	       strcmp(offset_rows[i].name, w->word[1]) != 0)
		i++;
	if (w->count != 3 || i == GR_ARRAY_SIZE(offset_rows)) {
		w->are_fine = false;
		return GR_INPUT_FACT;
	}
	memcpy((char *)&req->offsets + offset_rows[i].at, &bytes,
	       sizeof(bytes));
	req->offsets_given |= UINT32_C(1) << i;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_module(struct gr_request *req,
				      struct gr_words *w)
{
	req->module = (struct gr_go_module){
		.text = address(w, 1),
		.etext = address(w, 2),
		.pclntable = address(w, 3),
		.pclntable_bytes = address(w, 4),
		.ftab = address(w, 5),
		.ftab_count = address(w, 6),
		.text_start = address(w, 7),
	};
	return GR_INPUT_GO_MODULE;
}

static enum gr_input_kind take_probe(struct gr_request *req, struct gr_words *w)
{
	req->probe_address = address(w, 1);
	req->pointer_register = (uint32_t)number(w, 2, 0, 15);
	req->size_register = (uint32_t)number(w, 3, 0, 15);
	return GR_INPUT_FACT;
}

static enum gr_alloc_kind kind_of(const char *name)
{
	static const char *const names[GR_ALLOC_KINDS] = {
		[GR_ALLOC_NONE] = "",
		[GR_ALLOC_MALLOC] = "malloc",
		[GR_ALLOC_CALLOC] = "calloc",
		[GR_ALLOC_REALLOC] = "realloc",
		[GR_ALLOC_REALLOCARRAY] = "reallocarray",
		[GR_ALLOC_ALIGNED] = "aligned",
		[GR_ALLOC_POSIX_MEMALIGN] = "posix_memalign",
		[GR_ALLOC_NEW] = "new",
		[GR_ALLOC_MMAP] = "mmap",
		[GR_ALLOC_FREE] = "free",
		[GR_ALLOC_MUNMAP] = "munmap",
	};

	for (size_t i = GR_ALLOC_MALLOC; i < GR_ALLOC_KINDS; i++)
		if (!strcmp(names[i], name))
			return (enum gr_alloc_kind)i;
	return GR_ALLOC_NONE;
}

static enum gr_input_kind take_alloc_function(struct gr_request *req,
					      struct gr_words *w)
{
	struct gr_alloc_request *a = &req->alloc;
	struct gr_probed_function f = {
		.kind = w->count == 3 ? kind_of(w->word[1]) : GR_ALLOC_NONE,
		.address = address(w, 2),
	};

	if (f.kind == GR_ALLOC_NONE || a->nfunctions == GR_MAX_ALLOC_FUNCTIONS)
		w->are_fine = false;
	if (w->are_fine)
		a->functions[a->nfunctions++] = f;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_alloc_sampler(struct gr_request *req,
					     struct gr_words *w)
{
	struct gr_alloc_request *a = &req->alloc;
	uint64_t addr = address(w, 1);

	if (a->nsamplers == GR_MAX_SAMPLERS)
		w->are_fine = false;
	if (w->are_fine)
		a->samplers[a->nsamplers++] = addr;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_period(struct gr_request *req,
				      struct gr_words *w)
{
	req->alloc.period_ms = (uint64_t)number(w, 1, 1, INT32_MAX);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_full(struct gr_request *req, struct gr_words *w)
{
	req->alloc.is_full = true;
	req->alloc.full_ms = address(w, 1);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_each(struct gr_request *req, struct gr_words *w)
{
	(void)w;
	req->alloc.is_each = true;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_one_of(struct gr_request *req,
				      struct gr_words *w)
{
	req->alloc.sample = (uint32_t)number(w, 1, 1, INT32_MAX);
	return GR_INPUT_FACT;
}

/* The largest size: 0 is none. */
static enum gr_input_kind take_sizes(struct gr_request *req, struct gr_words *w)
{
	req->alloc.min_bytes = address(w, 1);
	req->alloc.max_bytes = address(w, 2);
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_wait(struct gr_request *req, struct gr_words *w)
{
	(void)w;
	req->is_waiting = true;
	return GR_INPUT_FACT;
}

static enum gr_input_kind take_start(struct gr_request *req, struct gr_words *w)
{
	const struct gr_alloc_request *a = &req->alloc;
	bool has_place = a->nfunctions || a->nsamplers;

	w->are_fine = w->are_fine && req->has_mode &&
		      (req->mode != GR_TRACE_GO || req->probe_address) &&
		      (req->mode != GR_TRACE_NATIVE || has_place);
	return GR_INPUT_START;
}

static enum gr_input_kind take_tick(struct gr_request *req, struct gr_words *w)
{
	req->tick = address(w, 1);
	return GR_INPUT_TICK;
}

static enum gr_input_kind take_end(struct gr_request *req, struct gr_words *w)
{
	(void)req, (void)w;
	return GR_INPUT_END;
}

static const struct {
	const char *name;
	size_t words;
	enum gr_input_kind (*take)(struct gr_request *req, struct gr_words *w);
} line_rows[] = {
	{ "mode", 2, take_mode },
	{ "budget", 2, take_budget },
	{ "tls_g", 2, take_tls_g },
	{ "offset", 3, take_offset },
	{ "go_module", 8, take_module },
	{ "sample_probe", 4, take_probe },
	{ "wait", 1, take_wait },
	{ "start", 1, take_start },
	{ "tick", 2, take_tick },
	{ "end", 1, take_end },
	{ "sweepgen", 2, take_sweepgen },
	{ "alloc_function", 3, take_alloc_function },
	{ "alloc_sampler", 2, take_alloc_sampler },
	{ "period", 2, take_period },
	{ "full", 2, take_full },
	{ "each", 1, take_each },
	{ "sample", 2, take_one_of },
	{ "sizes", 3, take_sizes },
};

struct gr_error *gr_input_parse(struct gr_request *req, char *line,
				enum gr_input_kind *ret)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s", line);
	struct gr_words w = split(line);
	for (size_t i = 0; w.count && i < GR_ARRAY_SIZE(line_rows); i++) {
		if (strcmp(line_rows[i].name, w.word[0]) != 0)
			continue;
		w.are_fine = w.are_fine && w.count == line_rows[i].words;
		*ret = line_rows[i].take(req, &w);
		if (w.are_fine)
			return NULL;
	}
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "goref-trace does not understand the line '%s'",
			       whole);
}

bool gr_input_has_offsets(const struct gr_request *req)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(offset_rows); i++)
		if (offset_rows[i].is_needed && !(req->offsets_given >> i & 1))
			return false;
	return true;
}

// ------------------------------------------------------------------- the file

struct gr_error *gr_input_read(struct gr_input *in, int fd)
{
	memmove(in->data, in->data + in->begin, in->size - in->begin);
	in->size -= in->begin;
	in->begin = 0;
	if (in->size == sizeof(in->data))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "a line of the input is too long");
	ssize_t n = read(fd, in->data + in->size, sizeof(in->data) - in->size);
	if (n > 0)
		in->size += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		in->has_ended = true;
	return NULL;
}

char *gr_input_line(struct gr_input *in)
{
	char *line = in->data + in->begin;
	char *end = memchr(line, '\n', in->size - in->begin);

	if (!end)
		return NULL;
	*end = '\0';
	in->begin = (size_t)(end + 1 - in->data);
	return line;
}
