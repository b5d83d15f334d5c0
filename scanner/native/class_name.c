// SPDX-License-Identifier: Apache-2.0
#include "native/class_name.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	POOL_BYTES = 1 << 16, /* of all texts on the way to a name */
	SYMBOL_BYTES = 4096,
	NAME_BYTES = 1024,
	MAX_SUBSTITUTIONS = 256,
	MAX_DEPTH = 64,
};

/* The text of a type. A pointer to it is written at the hole. */
struct piece {
	const char *text;
	size_t hole;
	bool is_open; /* a function or an array: pointers need parentheses */
};

struct parser {
	const char *at;
	struct piece substitutions[MAX_SUBSTITUTIONS];
	size_t nsubstitutions;
	size_t used; /* of the pool */
	unsigned int depth;
	bool has_failed;
	char pool[POOL_BYTES];
};

static struct piece read_type(struct parser *p);
static const char *read_encoding(struct parser *p);

/* Give up. The rest is read as an empty text. */
static const char *fail(struct parser *p)
{
	p->has_failed = true;
	p->at = "";
	return "";
}

static const char *put(struct parser *p, const char *fmt, ...) GR_PRINTF(2, 3);

static const char *put(struct parser *p, const char *fmt, ...)
{
	char *text = p->pool + p->used;
	size_t left = sizeof(p->pool) - p->used;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= left)
		return fail(p);
	p->used += (size_t)n + 1;
	return text;
}

static bool accept(struct parser *p, char c)
{
	if (*p->at != c || !c)
		return false;
	p->at++;
	return true;
}

static void expect(struct parser *p, char c)
{
	if (!accept(p, c))
		fail(p);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct piece plain(const char *text)
{
	return (struct piece){ text, strlen(text), false };
}

static struct piece note(struct parser *p, struct piece piece)
{
	if (p->nsubstitutions == MAX_SUBSTITUTIONS)
		fail(p);
	else
		p->substitutions[p->nsubstitutions++] = piece;
	return piece;
}

static size_t read_number(struct parser *p)
{
	size_t n = 0;

	if (!is_digit(*p->at))
		fail(p);
	while (is_digit(*p->at) && n < SYMBOL_BYTES)
		n = 10 * n + (size_t)(*p->at++ - '0');
	return n;
}

// --------------------------------------------------------------------- names

/* <source-name> */
static const char *read_source_name(struct parser *p)
{
	static const char nameless[] = "_GLOBAL_";
	size_t n = read_number(p);
	const char *text = p->at;

	if (!n || strnlen(text, n) < n)
		return fail(p);
	p->at += n;
	if (n > sizeof(nameless) && !strncmp(text, nameless, 8) &&
	    text[9] == 'N')
		return "(anonymous namespace)";
	return put(p, "%.*s", (int)n, text);
}

/* Types up to the end of a list, as parameters: `(int, long)`. */
static const char *read_parameters(struct parser *p)
{
	const char *list = "";

	while (*p->at && *p->at != 'E') {
		struct piece type = read_type(p);
		bool is_none = !*list && !strcmp(type.text, "void");

		if (is_none && (!*p->at || *p->at == 'E'))
			break;
		list = put(p, "%s%s%s", list, *list ? ", " : "", type.text);
	}
	return put(p, "(%s)", list);
}

/* The number of a type without a name in a function: [number] _ */
static size_t read_count(struct parser *p)
{
	size_t n = is_digit(*p->at) ? read_number(p) + 2 : 1;

	expect(p, '_');
	return n;
}

/* <unnamed-type-name>, behind its U */
static const char *read_unnamed(struct parser *p)
{
	if (accept(p, 't'))
		return put(p, "{unnamed type#%zu}", read_count(p));
	expect(p, 'l');
	const char *parameters = read_parameters(p);
	expect(p, 'E');
	return put(p, "{lambda%s#%zu}", parameters, read_count(p));
}

/* <unqualified-name>, except of operators */
static const char *read_unqualified(struct parser *p)
{
	const char *name;

	accept(p, 'L'); // of one file
	name = accept(p, 'U') ? read_unnamed(p) : read_source_name(p);
	while (accept(p, 'B'))
		name = put(p, "%s[abi:%s]", name, read_source_name(p));
	return name;
}

/* L <type> <value> E */
static const char *read_literal(struct parser *p)
{
	static const char *const ends[][2] = {
		{ "int", "" },	       { "unsigned int", "u" },
		{ "long", "l" },       { "unsigned long", "ul" },
		{ "long long", "ll" }, { "unsigned long long", "ull" },
	};
	const char *type = read_type(p).text;
	const char *minus = accept(p, 'n') ? "-" : "";
	const char *digits = p->at;

	while (is_digit(*p->at))
		p->at++;
	int n = (int)(p->at - digits);
	if (!n)
		return fail(p);
	expect(p, 'E');
	if (!strcmp(type, "bool") && n == 1)
		return *digits == '0' ? "false" : "true";
	for (size_t i = 0; i < GR_ARRAY_SIZE(ends); i++)
		if (!strcmp(type, ends[i][0]))
			return put(p, "%s%.*s%s", minus, n, digits, ends[i][1]);
	return put(p, "(%s)%s%.*s", type, minus, n, digits);
}

/* Template arguments up to the E. Those of a pack are in the list around it.
 * Recursion: MAX_DEPTH. */
static const char *read_arguments(struct parser *p, const char *list)
{
	if (++p->depth > MAX_DEPTH)
		return fail(p);
	while (*p->at && *p->at != 'E') {
		const char *one;

		if (accept(p, 'J')) {
			list = read_arguments(p, list);
			continue;
		}
		one = accept(p, 'L') ? read_literal(p) : read_type(p).text;
		list = put(p, "%s%s%s", list, *list ? ", " : "", one);
	}
	p->depth--;
	expect(p, 'E');
	return list;
}

static const char *read_template(struct parser *p, const char *name)
{
	const char *list = read_arguments(p, "");
	size_t n = strlen(list);

	return put(p, "%s<%s%s>", name, list,
		   n && list[n - 1] == '>' ? " " : "");
}

/* <substitution>, behind its S: one of those before, or a short name. */
static struct piece read_substitution(struct parser *p)
{
	static const char letters[] = "absiod";
	static const char *const names[] = {
		"std::allocator", "std::basic_string", "std::string",
		"std::istream",	  "std::ostream",      "std::iostream",
	};
	const char *letter = *p->at ? strchr(letters, *p->at) : NULL;
	size_t n = 0;

	if (letter) {
		p->at++;
		return plain(names[letter - letters]);
	}
	if (!accept(p, '_')) {
		while ((is_digit(*p->at) || (*p->at >= 'A' && *p->at <= 'Z')) &&
		       n < MAX_SUBSTITUTIONS) {
			n = 36 * n + (size_t)(is_digit(*p->at) ?
						      *p->at - '0' :
						      *p->at - 'A' + 10);
			p->at++;
		}
		n++;
		expect(p, '_');
	}
	return n < p->nsubstitutions ? p->substitutions[n] : plain(fail(p));
}

/* A constructor or destructor; @p last is the name of its class. */
static const char *read_structor(struct parser *p, const char *last)
{
	bool is_destructor = *p->at++ == 'D';

	if (!is_digit(*p->at) || !*last)
		return fail(p);
	p->at++;
	return put(p, "%s%s", is_destructor ? "~" : "", last);
}

/* The next part of <nested-name>, behind @p name. */
static const char *read_part(struct parser *p, const char *name,
			     const char **last)
{
	const char *link = *name ? "::" : "";

	if (accept(p, 'I'))
		return read_template(p, name);
	if (*p->at == 'C' || *p->at == 'D')
		return put(p, "%s%s%s", name, link, read_structor(p, *last));
	*last = read_unqualified(p);
	return put(p, "%s%s%s", name, link, *last);
}

/* <nested-name>, behind its N. @p ret_const: that of a method, or "". */
static const char *read_nested(struct parser *p, const char **ret_const)
{
	const char *name = "", *last = "";
	bool is_const = false;

	while (*p->at && strchr("rVKRO", *p->at))
		is_const |= *p->at++ == 'K';
	*ret_const = is_const ? " const" : "";
	while (*p->at && *p->at != 'E') {
		if (accept(p, 'S')) {
			name = accept(p, 't') ? "std" :
						read_substitution(p).text;
			continue;
		}
		name = read_part(p, name, &last);
		if (*p->at != 'E')
			note(p, plain(name));
	}
	expect(p, 'E');
	return name;
}

/* <local-name>, behind its Z: a class in a function. */
static const char *read_local(struct parser *p)
{
	const char *function = read_encoding(p);
	const char *unused, *name;

	expect(p, 'E');
	name = accept(p, 'N') ? read_nested(p, &unused) : read_unqualified(p);
	if (accept(p, '_')) {
		bool is_long = accept(p, '_');

		read_number(p);
		if (is_long)
			expect(p, '_');
	}
	return put(p, "%s::%s", function, name);
}

/* A function: its name and parameters. Recursion: MAX_DEPTH. */
static const char *read_encoding(struct parser *p)
{
	const char *name, *end = "";
	bool is_template = false;

	if (++p->depth > MAX_DEPTH)
		return fail(p);
	if (accept(p, 'Z')) {
		name = read_local(p);
	} else if (accept(p, 'N')) {
		name = read_nested(p, &end);
		is_template = *name && name[strlen(name) - 1] == '>';
	} else {
		name = p->at[0] == 'S' && p->at[1] == 't' ? "std::" : "";
		p->at += strlen(name) ? 2 : 0;
		name = put(p, "%s%s", name, read_unqualified(p));
	}
	// Those of templates have a type of their own, and depend on parameters.
	if (is_template || *p->at == 'I')
		return fail(p);
	p->depth--;
	return *p->at == 'E' ? name :
			       put(p, "%s%s%s", name, read_parameters(p), end);
}

// --------------------------------------------------------------------- types

static const char *builtin_name(char c)
{
	static const char letters[] = "vwbcahstijlmxynofdegz";
	static const char *const names[] = {
		"void",	       "wchar_t",
		"bool",	       "char",
		"signed char", "unsigned char",
		"short",       "unsigned short",
		"int",	       "unsigned int",
		"long",	       "unsigned long",
		"long long",   "unsigned long long",
		"__int128",    "unsigned __int128",
		"float",       "double",
		"long double", "__float128",
		"...",
	};
	const char *letter = c ? strchr(letters, c) : NULL;

	return letter ? names[letter - letters] : NULL;
}

/* Types with two letters, behind the D. */
static const char *read_later_builtin(struct parser *p)
{
	static const char letters[] = "nisua";
	static const char *const names[] = { "decltype(nullptr)", "char32_t",
					     "char16_t", "char8_t", "auto" };
	const char *letter = *p->at ? strchr(letters, *p->at) : NULL;

	if (!letter)
		return fail(p);
	p->at++;
	return names[letter - letters];
}

/* Write a pointer, a reference or a qualifier at the hole of a type. */
static struct piece declare(struct parser *p, struct piece type,
			    const char *mark)
{
	// The text may be empty now, and the hole is none of it.
	if (p->has_failed)
		return plain("");
	int before = (int)type.hole;
	const char *rest = type.text + type.hole;
	bool is_array = *rest == '[';

	return (struct piece){
		.text = type.is_open ? put(p, "%.*s(%s)%s%s", before, type.text,
					   mark, is_array ? " " : "", rest) :
				       put(p, "%.*s%s%s", before, type.text,
					   mark, rest),
		.hole = type.hole + type.is_open + strlen(mark),
	};
}

/* <CV-qualifiers> <type> */
static struct piece read_qualified(struct parser *p)
{
	bool is_const = false, is_volatile = false;

	while (*p->at && strchr("rVK", *p->at)) {
		is_const |= *p->at == 'K';
		is_volatile |= *p->at == 'V';
		p->at++;
	}
	struct piece type = read_type(p);
	if (type.is_open)
		return plain(fail(p));
	if (is_const)
		type = declare(p, type, " const");
	return is_volatile ? declare(p, type, " volatile") : type;
}

/* <function-type>, behind its F */
static struct piece read_function(struct parser *p)
{
	accept(p, 'Y');
	struct piece result = read_type(p);
	const char *parameters = read_parameters(p);
	size_t n = strlen(result.text);

	expect(p, 'E');
	if (result.is_open || result.hole != n)
		fail(p);
	return (struct piece){ put(p, "%s %s", result.text, parameters), n + 1,
			       true };
}

/* <array-type>, behind its A */
static struct piece read_array(struct parser *p)
{
	size_t count = read_number(p);

	expect(p, '_');
	struct piece type = read_type(p);
	size_t n = strlen(type.text);

	if (type.is_open || type.hole != n)
		fail(p);
	return (struct piece){ put(p, "%s [%zu]", type.text, count), n + 1,
			       true };
}

/* <pointer-to-member-type>, behind its M */
static struct piece read_member(struct parser *p)
{
	const char *name = read_type(p).text;
	struct piece member = read_type(p);

	return declare(p, member,
		       put(p, "%s%s::*", member.is_open ? "" : " ", name));
}

/* A type with a name, which may be that of a template. @p ret_is_known: it is
 * one of those before. */
static struct piece read_named(struct parser *p, bool *ret_is_known)
{
	const char *unused, *name;
	bool is_new = true;

	*ret_is_known = false;

	if (accept(p, 'N'))
		return plain(read_nested(p, &unused));
	if (accept(p, 'Z')) {
		name = read_local(p);
	} else if (p->at[0] == 'S' && p->at[1] != 't') {
		p->at++;
		struct piece known = read_substitution(p);
		*ret_is_known = *p->at != 'I';
		if (*ret_is_known)
			return known;
		name = known.text;
		is_new = false;
	} else {
		const char *space = accept(p, 'S') ? "std::" : "";
		p->at += *space != '\0';
		name = put(p, "%s%s", space, read_unqualified(p));
	}
	if (!accept(p, 'I'))
		return plain(name);
	if (is_new)
		note(p, plain(name));
	return plain(read_template(p, name));
}

/* Recursion: MAX_DEPTH. */
static struct piece read_type(struct parser *p)
{
	static const char *const marks[] = { "*", "&", "&&" };
	static const char letters[] = "PRO";
	const char *start = p->at, *builtin = builtin_name(*start);
	const char *letter = *start ? strchr(letters, *start) : NULL;
	bool is_known = false;
	struct piece ret;

	if (++p->depth > MAX_DEPTH)
		return plain(fail(p));
	if (builtin || *start == 'D') {
		p->at++;
		p->depth--;
		return plain(builtin ? builtin : read_later_builtin(p));
	}
	if (letter) {
		p->at++;
		ret = declare(p, read_type(p), marks[letter - letters]);
	} else if (*start && strchr("rVK", *start)) {
		ret = read_qualified(p);
	} else if (accept(p, 'F')) {
		ret = read_function(p);
	} else if (accept(p, 'A')) {
		ret = read_array(p);
	} else if (accept(p, 'M')) {
		ret = read_member(p);
	} else {
		ret = read_named(p, &is_known);
	}
	p->depth--;
	return is_known ? ret : note(p, ret);
}

/* Read a whole text by one of the rules above; "" if it cannot be told. The text
 * lives as long as the parser. */
static const char *read_whole(struct parser *p, const char *at,
			      struct piece (*read)(struct parser *p))
{
	p->at = at;
	p->nsubstitutions = p->used = p->depth = 0;
	p->has_failed = false;
	const char *name = read(p).text;

	return p->has_failed || *p->at || strlen(name) > NAME_BYTES ? "" : name;
}

struct gr_error *gr_class_name(struct gr_arena *arena, const char *symbol,
			       const char **ret)
{
	size_t skip = sizeof(GR_VTABLE_PREFIX) - 1;

	*ret = NULL;
	if (strncmp(symbol, GR_VTABLE_PREFIX, skip) ||
	    strnlen(symbol, SYMBOL_BYTES) == SYMBOL_BYTES)
		return NULL;
	_cleanup_free_ struct parser *p = malloc(sizeof(*p));
	if (!p)
		return &gr_enomem;
	const char *name = read_whole(p, symbol + skip, read_type);
	if (!*name)
		return NULL;
	*ret = gr_arena_intern(arena, name, strlen(name));
	return *ret ? NULL : &gr_enomem;
}

static struct piece read_variable(struct parser *p)
{
	bool unused;

	return read_named(p, &unused);
}

struct gr_error *gr_variable_name(struct gr_arena *arena, const char *symbol,
				  const char **ret)
{
	size_t n = strcspn(symbol, " ");

	*ret = symbol;
	if (strncmp(symbol, "_Z", 2) || n >= SYMBOL_BYTES)
		return NULL;
	_cleanup_free_ char *text = strndup(symbol, n);
	_cleanup_free_ struct parser *p = malloc(sizeof(*p));
	if (!p || !text)
		return &gr_enomem;
	const char *name = read_whole(p, text + 2, read_variable);
	if (!*name)
		return NULL;
	*ret = gr_arena_internf(arena, "%s%s", name, symbol + n);
	return *ret ? NULL : &gr_enomem;
}
