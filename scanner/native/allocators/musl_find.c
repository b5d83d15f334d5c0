// SPDX-License-Identifier: Apache-2.0
/*
 * malloc_context lies in bss of the C library, or of a static program. Its
 * symbol is hidden, and most files lack it. Nobody needs it: the context has a
 * secret of 64 random bits, which each meta area has, too.
 */
#include "native/allocators/musl.h"

#include "native/allocators/module_search.h"

#include <ctype.h>

enum { MOST_VERSION_BYTES = 32 };

/* The usage text of the dynamic loader, which is the library. */
#define LOADER_MARK "musl libc ("
#define VERSION_MARK "1."
/* bin_tab of the malloc before 1.2.1 (malloc/oldmalloc/malloc.c). Bytes of
 * it are the numbers of bins. */
#define OLD_MARK                        \
	" !\"#$$%%&&''(((())))****++++" \
	",,,,,,,,--------........////////"

// ------------------------------------------------------------------- context

static bool is_context(struct gr_view *view, uint64_t addr)
{
	uint64_t context[GR_MUSL_NWORDS];

	if (!gr_view_copy(view, addr, context, sizeof(context)))
		return false;
	uint64_t secret = context[GR_MUSL_SECRET];
	uint64_t tail = context[GR_MUSL_META_AREA_TAIL];

	// A thread may be about to write the last area.
	return secret && (uint32_t)context[GR_MUSL_INIT_DONE] == 1 &&
	       context[GR_MUSL_AVAIL_META_COUNT] <= GR_MUSL_NMETAS &&
	       gr_musl_is_area(view, context[GR_MUSL_META_AREA_HEAD], secret) &&
	       tail && tail % GR_MUSL_AREA_BYTES == 0;
}

/* Record what a context was told by. The list of areas may not lead to the last
 * one. */
static void record(struct gr_native_reader *r, uint64_t addr)
{
	static const enum gr_musl_word words[] = { GR_MUSL_META_AREA_HEAD,
						   GR_MUSL_META_AREA_TAIL };
	struct gr_recorder *recorder = r->spec->rt->recorder;
	uint64_t area;

	if (!recorder)
		return;
	gr_recorder_add(recorder, addr, GR_MUSL_NWORDS * GR_WORD_BYTES);
	for (size_t i = 0; i < GR_ARRAY_SIZE(words); i++)
		if (gr_view_word(&r->view, addr + words[i] * GR_WORD_BYTES,
				 &area))
			gr_recorder_add(recorder, area, GR_MUSL_AREA_METAS);
}

static void add_hit(struct gr_native_reader *r, struct gr_musl_hits *ret,
		    uint64_t addr, const char *path)
{
	if (ret->count == GR_ARRAY_SIZE(ret->data))
		return;
	ret->data[ret->count++] = (struct gr_musl_hit){ addr, path };
	record(r, addr);
}

/* Search one piece of data. Few words are addresses of pages. */
static struct gr_error *search_piece(struct gr_native_reader *r,
				     const struct gr_range *piece,
				     const char *path, struct gr_musl_hits *ret)
{
	const uint64_t back = GR_MUSL_META_AREA_HEAD * GR_WORD_BYTES;
	uint64_t n = (piece->end - piece->start) / GR_WORD_BYTES;
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < n; i++) {
		uint64_t word = gr_load_u64(piece->host + i * GR_WORD_BYTES);
		uint64_t at = piece->start + i * GR_WORD_BYTES;

		if (GR_LIKELY(!word || word % GR_MUSL_AREA_BYTES))
			continue;
		if (at >= back && is_context(&r->view, at - back))
			add_hit(r, ret, at - back, path);
		err = gr_runtime_step(r->spec->rt, 16);
	}
	return err ? err : gr_runtime_step(r->spec->rt, n / 16);
}

struct gr_error *gr_musl_find(struct gr_native_reader *r,
			      struct gr_musl_hits *ret)
{
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;
	struct gr_range piece;

	ret->count = 0;
	while (!err && gr_module_data_next(r, &data)) {
		uint64_t start = data.mapping.start;

		while (!err && gr_view_part(&r->view, start, data.mapping.end,
					    &piece)) {
			err = search_piece(r, &piece, data.path, ret);
			start = piece.end;
		}
		if (!err)
			err = gr_runtime_step(r->spec->rt, 1);
	}
	return err;
}

// ------------------------------------------------------------------- version

static size_t skip_digits(const char *text, size_t bytes, size_t at)
{
	while (at < bytes && at < MOST_VERSION_BYTES &&
	       isdigit((unsigned char)text[at]))
		at++;
	return at;
}

/* The end of "1.2.5" in a text; 0: it does not begin so. */
static size_t skip_numbers(const char *text, size_t bytes)
{
	size_t at = 0;

	for (unsigned int i = 0; i < 3; i++) {
		size_t from = at;

		at = skip_digits(text, bytes, from);
		if (at == from || at >= bytes || (i < 2 && text[at] != '.'))
			return 0;
		at += i < 2;
	}
	return at;
}

/* A whole string such as "1.2.5" or "1.2.4_git20230717". */
static size_t match_version(const char *text, size_t bytes, bool is_first)
{
	static const char git[] = "_git";
	size_t n = skip_numbers(text, bytes);

	if (is_first || text[-1] || !n)
		return 0;
	if (bytes - n > strlen(git) && !memcmp(text + n, git, strlen(git)))
		n = skip_digits(text, bytes, n + strlen(git));
	return n < bytes && !text[n] ? n : 0;
}

static size_t match_loader(const char *text, size_t bytes, bool is_first)
{
	(void)is_first;
	return bytes >= strlen(LOADER_MARK) &&
			       !memcmp(text, LOADER_MARK, strlen(LOADER_MARK)) ?
		       strlen(LOADER_MARK) :
		       0;
}

/* Nothing in a static program refers to the text of the version. */
struct gr_error *gr_musl_find_version(struct gr_native_reader *r,
				      const struct gr_musl_hit *hit,
				      const char **ret)
{
	const char *loader, *version = NULL;
	struct gr_error *err = gr_module_find_text(
		r, hit->path, hit->addr, LOADER_MARK, 0, match_loader, &loader);

	if (!err && loader)
		err = gr_module_find_text(r, hit->path, hit->addr, VERSION_MARK,
					  0, match_version, &version);
	*ret = version ? version : "";
	return err;
}

// ---------------------------------------------------------------- old malloc

static size_t match_old(const char *text, size_t bytes, bool is_first)
{
	(void)is_first;
	return bytes >= strlen(OLD_MARK) &&
			       !memcmp(text, OLD_MARK, strlen(OLD_MARK)) ?
		       strlen(OLD_MARK) :
		       0;
}

/* May the file be musl's library, by its name? Debian's is libc.so, Alpine's
 * ld-musl-x86_64.so.1. Else it may be a static program, which is the only
 * file. */
static bool may_be_musl(const struct gr_native_reader *r, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return r->spec->target->nmodules == 1 || !strcmp(name, "libc.so") ||
	       !strncmp(name, "ld-musl", strlen("ld-musl")) ||
	       !strncmp(name, "libc.musl", strlen("libc.musl"));
}

struct gr_error *gr_musl_find_old(struct gr_native_reader *r)
{
	static const char refusal[] = "has the malloc of releases before 1.2.1 "
				      "(goref reads 1.2.1 to 1.2.5)";
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;
	const char *version, *text = NULL, *before = "";

	while (!err && !text && gr_module_data_next(r, &data)) {
		// Bss follows data of the same file.
		if (!may_be_musl(r, data.path) || !strcmp(data.path, before))
			continue;
		before = data.path;
		err = gr_module_find_text(r, data.path, data.mapping.start,
					  OLD_MARK, 0, match_old, &text);
	}
	if (err || !text)
		return err;
	const struct gr_musl_hit hit = { data.mapping.start, data.path };

	err = gr_musl_find_version(r, &hit, &version);
	return err ? err : gr_reader_refuse(r, "musl", version, refusal);
}
