// SPDX-License-Identifier: Apache-2.0
/* Resolving expressions of the user: addresses, Delve's casts, package
 * variables. */
#include "expr/place.h"

#include "expr/near_variable.h"
#include "expr/place_internal.h"
#include "scan/enter.h"

#include "goruntime/layout/symbols.h"
#include "goruntime/types/near_names.h"

#include <ctype.h>
#include <errno.h>

enum { MAX_TEXT_BYTES = 4096 };

/* Find a package variable and its module; NULL if there is none. */
static const struct gr_dwarf_variable *
find_variable(struct gr_runtime *rt, const char *name,
	      const struct gr_module **ret)
{
	for (size_t i = 0; i < rt->nmodules; i++) {
		const struct gr_module *m = &rt->modules[i];
		size_t count;
		if (!m->dwarf)
			continue;
		uint32_t index = gr_dwarf_find_variable(m->dwarf, name);
		const struct gr_dwarf_variable *table =
			gr_dwarf_variables(m->dwarf, &count);
		if (index >= count)
			continue;
		*ret = m;
		return &table[index];
	}
	return NULL;
}

/* Look a name up in the symbol table, if there is no debug information, and
 * then among the roots. The type of a symbol is not known. If the first word
 * leads to an object of the heap, it is probably a pointer. */
static struct gr_error *resolve_symbol(struct gr_stop *stop, const char *name,
				       struct gr_place *ret)
{
	const struct gr_symbol *found = NULL;
	const struct gr_span *span;
	struct gr_error *err;
	uint64_t value;

	for (size_t i = 0; i < stop->program->rt.nsymbols && !found; i++)
		if (!strcmp(stop->program->rt.symbols[i].name, name))
			found = &stop->program->rt.symbols[i];
	if (!found)
		return gr_place_of_root(stop, name, ret);
	ret->addr = found->addr;
	if (found->bytes < GR_WORD_BYTES)
		return NULL;
	err = gr_image_read_u64(stop->image, found->addr, &value);
	if (!err && gr_heap_object_at(stop->heap, value, &span) != GR_OBJ_NONE)
		ret->value = value;
	gr_error_destroy(err);
	return NULL;
}

static struct gr_error *resolve_variable(struct gr_stop *stop, const char *name,
					 struct gr_place *ret)
{
	const struct gr_module *m;
	const struct gr_dwarf_variable *v =
		find_variable(&stop->program->rt, name, &m);

	if (!v)
		return resolve_symbol(stop, name, ret);
	ret->addr = v->addr + m->bias;
	ret->type = gr_types_from_dwarf(stop->program->types, m, v->type);
	ret->is_variable = true;
	ret->value = gr_place_pointee(stop->program, ret->addr, ret->type);
	return NULL;
}

/* Resolve a variable, or a path behind the longest part that names one. */
static struct gr_error *resolve_path(struct gr_stop *stop, char *name,
				     struct gr_place *ret)
{
	struct gr_error *err = resolve_variable(stop, name, ret);
	char *end = name + strlen(name);

	// Bounded by the letters of the name.
	while (err && err->code == GR_ERROR_NOT_FOUND) {
		do
			end--;
		while (end > name && *end != '.' && *end != '[');
		if (end <= name)
			break;
		char border = *end;
		*end = '\0';
		struct gr_error *shorter = resolve_variable(stop, name, ret);
		*end = border;
		if (!shorter && ret->type != GR_TYPE_NONE) {
			gr_error_destroy(err);
			return gr_place_walk(stop, name, end, ret);
		}
		// It is clear what was meant.
		if (shorter && shorter->code == GR_ERROR_ARGUMENT) {
			gr_error_destroy(err);
			return shorter;
		}
		gr_error_destroy(shorter);
	}
	if (!err || err->code != GR_ERROR_NOT_FOUND)
		return err;
	// The error is about the name, without indexes.
	gr_error_destroy(err);
	name[strcspn(name, "[")] = '\0';
	return gr_place_no_variable(stop, name);
}

/* Parse a text that is one number, with C's prefixes; false if it is not. */
static bool parse_number(const char *text, size_t len, uint64_t *ret)
{
	char buf[32], *end;

	if (!len || len >= sizeof(buf) || !isdigit((unsigned char)*text))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	errno = 0;
	*ret = strtoull(buf, &end, 0);
	return !*end && !errno;
}

/* Is the text one word that begins with a digit? It was meant as a number. */
static bool is_number_alone(const char *text)
{
	return isdigit((unsigned char)*text) &&
	       !text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")];
}

/* The bracket that closes the one at @open, or NULL. */
static const char *closing(const char *open)
{
	size_t depth = 0;

	for (; *open; open++) {
		depth += *open == '(';
		if (*open == ')' && !--depth)
			return open;
	}
	return NULL;
}

/* Copy @text without quotes, which Delve puts around import paths. */
static char *without_quotes(struct gr_runtime *rt, const char *text, size_t len)
{
	char *name = gr_arena_alloc(rt->arena, len + 1);
	size_t n = 0;

	for (size_t i = 0; name && i < len; i++)
		if (text[i] != '"' && text[i] != '\'')
			name[n++] = text[i];
	if (name)
		name[n] = '\0';
	return name;
}

/* Resolve `(*T)(0x…)`, as Delve prints it, with or without a leading star,
 * and with fields and indexes behind it. */
static struct gr_error *resolve_cast(struct gr_stop *stop, const char *text,
				     struct gr_place *ret)
{
	const char *open = *text == '*' ? text + 1 : text;
	const char *middle = closing(open);
	const char *number = middle ? middle + 1 : open;
	const char *end;

	// Go allows blanks between the two, too.
	while (isspace((unsigned char)*number))
		number++;
	end = *number == '(' ? strchr(number, ')') : NULL;
	if (!end || middle <= open + 2 ||
	    !parse_number(number + 1, (size_t)(end - number - 1), &ret->addr))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read \"%s\"; a cast is written "
				       "(*main.T)(0xc000782240)",
				       text);
	// The name is between "(*" and ")".
	char *name = without_quotes(&stop->program->rt, open + 2,
				    (size_t)(middle - open - 2));
	if (!name)
		return &gr_enomem;
	ret->type = gr_types_find(stop->program->types, name);
	struct gr_error *err = gr_types_take_error(stop->program->types);
	if (err)
		return err;
	if (ret->type == GR_TYPE_NONE) {
		err = gr_types_no_such(stop->program->types, name);
		// This is meant as a Go type: gdb need not be asked.
		if (err->code == GR_ERROR_NOT_FOUND)
			err->code = GR_ERROR_ARGUMENT;
		return err;
	}
	if (!end[1])
		return NULL;
	return gr_place_walk(stop, text, end + 1, ret);
}

/* The name of a variable and its path. `&main.cache`, `main.cache` in quotes
 * and `"path/to/pkg".Var` are names of variables, too. Quotes within brackets
 * belong to keys. */
static char *plain_name(struct gr_runtime *rt, const char *text, size_t len)
{
	bool is_address = *text == '&';

	text += is_address;
	len -= is_address;
	if (len > 1 && *text == '\'' && text[len - 1] == '\'') {
		text++;
		len -= 2;
	}
	size_t head = 0;
	while (head < len && text[head] != '[')
		head++;
	char *name = gr_arena_alloc(rt->arena, len + 1);
	char *start = name ? without_quotes(rt, text, head) : NULL;
	if (!start)
		return NULL;
	size_t n = strlen(start);
	memcpy(name, start, n);
	memcpy(name + n, text + head, len - head);
	name[n + len - head] = '\0';
	return name;
}

static struct gr_error *resolve_name(struct gr_stop *stop, const char *text,
				     size_t len, struct gr_place *ret)
{
	if (is_number_alone(ret->name))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read \"%s\": an address is "
				       "written 0xc000782240",
				       ret->name);
	if (*text == '"' && !strstr(ret->name, "\"."))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read %s: a quoted package is "
				       "followed by a variable, as "
				       "\"path/to/pkg\".Var",
				       ret->name);
	char *name = plain_name(&stop->program->rt, text, len);
	if (!name)
		return &gr_enomem;
	struct gr_error *err = resolve_path(stop, name, ret);
	if (!err && *text == '&')
		ret->value = 0;
	return err;
}

const char *gr_scan_keep_name(struct gr_scan *scan, const char *name)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	return gr_arena_intern(&answers->stop->program->arena, name,
			       strlen(name));
}

/* Drop the space around an expression of *@p len bytes, begin its place, and
 * read it if it is a number: that needs no target. */
static struct gr_error *begin(struct gr_arena *arena, const char **text,
			      size_t *len, struct gr_place *ret,
			      bool *is_number)
{
	memset(ret, 0, sizeof(*ret));
	ret->type = GR_TYPE_NONE;
	while (isspace((unsigned char)**text))
		++*text;
	*len = strlen(*text);
	while (*len && isspace((unsigned char)(*text)[*len - 1]))
		--*len;
	if (!*len || *len > MAX_TEXT_BYTES)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       *len ? "the expression is too long" :
					      "an address or expression is "
					      "missing");
	ret->name = gr_arena_intern(arena, *text, *len);
	if (!ret->name)
		return &gr_enomem;
	*is_number = parse_number(ret->name, *len, &ret->addr);
	return NULL;
}

static struct gr_error *resolve(struct gr_stop *stop, const char *text,
				size_t len, struct gr_place *ret)
{
	return !strncmp(text, "(*", 2) || !strncmp(text, "*(*", 3) ?
		       resolve_cast(stop, ret->name, ret) :
		       resolve_name(stop, text, len, ret);
}

struct gr_error *gr_place_resolve(struct gr_stop *stop, const char *text,
				  struct gr_place *ret)
{
	bool is_number = false;
	size_t len = 0;
	struct gr_error *err =
		begin(&stop->program->arena, &text, &len, ret, &is_number);

	return err || is_number ? err : resolve(stop, text, len, ret);
}

/* Resolve an expression, which may also be the name of a root of C. */
static struct gr_error *resolve_any(struct gr_answers *answers,
				    const char *text, size_t len,
				    struct gr_place *ret)
{
	struct gr_error *err = resolve(answers->stop, text, len, ret);
	bool is_found = false;

	if (!err || err->code != GR_ERROR_NOT_FOUND)
		return err;
	struct gr_error *other =
		gr_place_of_c_root(answers, ret->name, &is_found, ret);
	if (!other && !is_found)
		return err;
	gr_error_destroy(err);
	return other;
}

struct gr_error *gr_scan_resolve(struct gr_scan *scan, const char *text,
				 struct gr_place *ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_sigbus_guard guard;
	bool is_number = false;
	size_t len = 0;
	struct gr_error *err = begin(&answers->stop->program->arena, &text,
				     &len, ret, &is_number);

	if (err || is_number)
		return err;
	err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = resolve_any(answers, text, len, ret);
	return gr_sigbus_guard_end(&guard, err);
}
