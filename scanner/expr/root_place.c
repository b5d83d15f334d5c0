// SPDX-License-Identifier: Apache-2.0
/*
 * Roots by the names that answers print: local variables (`main.handle.r`), and
 * words that no variable covers (`main.f.$stack+0x18`, `$data+0x1f40`). Many
 * goroutines may run one function: `main.handle.r@17` is that of goroutine 17.
 */
#include "expr/place_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

/* To suggest what a root of a common name holds. */
enum { MOST_TRIED = 64, LOOKED_AT_BYTES = 4096 };

/* A name, taken apart. */
struct root_name {
	const char *text;
	size_t len;    /* without the goroutine */
	bool has_goid; /* a goroutine is named */
	uint64_t goid;
	uint64_t offset; /* behind `$stack+`, `$data+` ... */
};

/* The roots that have the name. */
struct found {
	struct gr_place place; /* the first one of a goroutine */
	struct gr_place other; /* the first one of no goroutine */
	uint32_t first, last;  /* goroutines */
	size_t ngoroutines;
	size_t nothers; /* roots that belong to no goroutine */
};

static bool parse_digits(const char *text, int base, uint64_t *ret)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret = strtoull(text, &end, base);
	return !*end && !errno;
}

static struct root_name parse_name(const char *text)
{
	const char *at = strrchr(text, '@');
	struct root_name name = { .text = text, .len = strlen(text) };

	if (at && parse_digits(at + 1, 10, &name.goid)) {
		name.has_goid = true;
		name.len = at - text;
	}
	return name;
}

/* Cut `$stack+0x18` off a name. */
static bool cut_offset(struct root_name *name, const char *area)
{
	const size_t n = strlen(area);
	char digits[20];

	for (size_t i = name->len; i >= n; i--) {
		const char *begin = name->text + i - n;
		size_t left = name->len - i;

		if (memcmp(begin, area, n) != 0)
			continue;
		if (left < 3 || left >= sizeof(digits) ||
		    memcmp(begin + n, "0x", 2) != 0)
			return false;
		memcpy(digits, begin + n + 2, left - 2);
		digits[left - 2] = '\0';
		name->len = i - n;
		return parse_digits(digits, 16, &name->offset);
	}
	return false;
}

static bool is_called(const struct root_name *name, const char *text)
{
	return !strncmp(name->text, text, name->len) && !text[name->len];
}

static bool is_of_goroutine(const struct gr_sched *sched,
			    const struct root_name *name, uint32_t goroutine)
{
	return goroutine < sched->ngoroutines &&
	       (!name->has_goid ||
		sched->goroutines[goroutine].goid == name->goid);
}

/* Innermost calls come first, and each goroutine is looked at once. */
static void find(struct found *found, uint32_t goroutine,
		 const struct gr_place *place)
{
	if (found->ngoroutines && found->last == goroutine)
		return;
	if (!found->ngoroutines) {
		found->place = *place;
		found->first = goroutine;
	}
	found->last = goroutine;
	found->ngoroutines++;
}

// ------------------------------------------------------------ local variables

/* The pointer in the words of a variable that lies in registers or in pieces:
 * of an interface the second one. */
static uint64_t assembled_pointer(const struct gr_root *root)
{
	size_t nwords = root->bytes / GR_WORD_BYTES;

	for (size_t i = 0; i < nwords && i < 64; i++)
		if (root->live >> i & 1)
			return gr_load_u64(root->bytes_at + i * GR_WORD_BYTES);
	return 0;
}

/* A word at the begin of the object at @p addr that leads to another one; or
 * 0. */
static uint64_t pointer_out_of(struct gr_heap *heap, uint64_t addr)
{
	const struct gr_span *span, *other;
	gr_obj obj = gr_heap_object_at(heap, addr, &span);

	if (obj == GR_OBJ_NONE || span->is_noscan || !span->host)
		return 0;
	uint64_t off = (obj - span->first_obj) * span->elem_bytes;
	uint64_t end = span->elem_bytes < LOOKED_AT_BYTES ? span->elem_bytes :
							    LOOKED_AT_BYTES;
	// Bounded by LOOKED_AT_BYTES.
	for (uint64_t i = span->header_bytes; i < end; i += GR_WORD_BYTES) {
		uint64_t value = gr_load_u64(span->host + off + i);
		gr_obj to = gr_heap_object_at(heap, value, &other);

		if (to != GR_OBJ_NONE && to != obj)
			return value;
	}
	return 0;
}

static struct gr_place place_of(struct gr_stop *stop,
				const struct gr_root *root)
{
	struct gr_program *program = stop->program;
	struct gr_place place = { .type = GR_TYPE_NONE };

	if (root->form == GR_ROOT_REGION && !root->bytes_at) {
		place.addr = root->addr;
		place.type = root->type;
		place.is_variable = root->type != GR_TYPE_NONE;
		place.value = gr_place_pointee(program, root->addr, root->type);
		return place;
	}
	// It has no address of its own: it is what it points to.
	place.addr = root->bytes_at ? assembled_pointer(root) : root->addr;
	place.value = root->form == GR_ROOT_CONTENTS ?
			      pointer_out_of(stop->heap, root->addr) :
			      place.addr;
	return place;
}

static void find_listed(struct gr_stop *stop, const struct root_name *name,
			struct found *found)
{
	for (size_t i = 0; i < stop->roots.list.size; i++) {
		const struct gr_root *root = &stop->roots.list.data[i];

		bool is_of_none = root->goroutine >= stop->sched.ngoroutines;

		if (is_of_none ? name->has_goid :
				 !is_of_goroutine(&stop->sched, name,
						  root->goroutine))
			continue;
		if (!is_called(name, root->name))
			continue;
		struct gr_place place = { 0 };
		bool is_wanted =
			!found->nothers ||
			(!found->other.value && found->nothers < MOST_TRIED);
		if (!is_of_none || is_wanted)
			place = place_of(stop, root);
		if (!is_of_none)
			find(found, root->goroutine, &place);
		else if (is_wanted)
			found->other = place;
		found->nothers += is_of_none;
	}
}

// ---------------------------------------------------------------------- words

/* A word, and what it points to if it is an object. */
static struct gr_place word_at(struct gr_heap *heap, uint64_t addr)
{
	struct gr_place place = { .addr = addr, .type = GR_TYPE_NONE };
	const struct gr_span *span;
	uint64_t value;
	struct gr_error *err = gr_image_read_u64(heap->rt->image, addr, &value);

	if (!err && gr_heap_object_at(heap, value, &span) != GR_OBJ_NONE)
		place.value = value;
	gr_error_destroy(err);
	return place;
}

static void find_stack_words(struct gr_stop *stop, const struct root_name *name,
			     struct found *found)
{
	for (uint32_t i = 0; i < stop->sched.ngoroutines; i++) {
		const struct gr_goroutine *g = &stop->sched.goroutines[i];

		for (size_t j = 0; j < g->nframes; j++) {
			const struct gr_frame *frame = &g->frames[j];
			uint64_t end = j + 1 < g->nframes ? frame[1].sp :
							    g->stack_hi;
			if (!is_of_goroutine(&stop->sched, name, i) ||
			    name->offset >= end - frame->sp ||
			    !is_called(name, frame->func->name))
				continue;
			struct gr_place place =
				word_at(stop->heap, frame->sp + name->offset);
			find(found, i, &place);
		}
	}
}

/* A word of the data or bss of the first module that has it. */
static bool find_data_word(struct gr_heap *heap, const struct root_name *name,
			   bool is_data, struct gr_place *ret)
{
	for (size_t i = 0; i < heap->rt->nmodules; i++) {
		const struct gr_module *m = &heap->rt->modules[i];
		uint64_t start = is_data ? m->data : m->bss;
		uint64_t end = is_data ? m->edata : m->ebss;

		if (name->len || name->offset >= end - start)
			continue;
		*ret = word_at(heap, start + name->offset);
		return true;
	}
	return false;
}

// --------------------------------------------------------------------- answer

static struct gr_error *answer(struct gr_sched *sched,
			       const struct root_name *name,
			       const struct found *found, struct gr_place *ret)
{
	const char *written = ret->name;
	int len = name->len;

	if (!found->ngoroutines && found->nothers > 1)
		return gr_error_format(
			GR_ERROR_ARGUMENT,
			"%zu roots are called \"%s\": ask for an address "
			"that one holds, such as 0x%" PRIx64,
			found->nothers, name->text,
			found->other.value ? found->other.value :
					     found->other.addr);
	if (!found->ngoroutines && !found->nothers)
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "no root is called \"%s\"", name->text);
	if (found->ngoroutines > 1)
		return gr_error_format(
			GR_ERROR_ARGUMENT,
			"%zu goroutines have a \"%.*s\": name one of them, as "
			"in %.*s@%" PRIu64,
			found->ngoroutines, len, name->text, len, name->text,
			sched->goroutines[found->first].goid);
	*ret = found->ngoroutines ? found->place : found->other;
	ret->name = written;
	return NULL;
}

struct gr_error *gr_place_of_root(struct gr_stop *stop, const char *text,
				  struct gr_place *ret)
{
	struct root_name name = parse_name(text);
	struct root_name word = name;
	struct found found = { 0 };

	if (cut_offset(&word, "$data+") &&
	    find_data_word(stop->heap, &word, true, &found.place))
		found.ngoroutines = 1;
	word = name;
	if (cut_offset(&word, "$bss+") &&
	    find_data_word(stop->heap, &word, false, &found.place))
		found.ngoroutines = 1;
	word = name;
	if (cut_offset(&word, ".$stack+"))
		find_stack_words(stop, &word, &found);
	if (!found.ngoroutines)
		find_listed(stop, &name, &found);
	return answer(&stop->sched, &name, &found, ret);
}
