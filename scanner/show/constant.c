// SPDX-License-Identifier: Apache-2.0
/*
 * Names of the constants of a named type: `Tuesday`, `ModeDir|ModePerm`. They
 * are those that the debug information has for the type.
 */
#include "show/show_internal.h"

#include <inttypes.h>

enum { NBITS = 64 };

/** Constants of one type that may make up a value. */
struct names {
	const char *exact;	 /* the whole value */
	const char *bits[NBITS]; /* one bit each */
};

/* The debug information that has the type, and its index there. */
static const struct gr_dwarf *find_type(const struct gr_show *s,
					const char *name, uint32_t *ret)
{
	for (size_t i = 0; i < s->rt->nmodules; i++) {
		const struct gr_dwarf *dwarf = s->rt->modules[i].dwarf;

		*ret = dwarf ? gr_dwarf_find_type(dwarf, name) : GR_DWARF_NONE;
		if (*ret != GR_DWARF_NONE)
			return dwarf;
	}
	return NULL;
}

static void note(const struct gr_dwarf_constant *constant, int64_t value,
		 struct names *names)
{
	uint64_t bits = (uint64_t)constant->value;

	if (constant->value == value && !names->exact)
		names->exact = constant->name;
	if (bits && !(bits & (bits - 1)) && !names->bits[__builtin_ctzll(bits)])
		names->bits[__builtin_ctzll(bits)] = constant->name;
}

static struct gr_error *collect(struct gr_show *s, const char *type,
				int64_t value, struct names *names)
{
	struct gr_error *err = NULL;
	size_t count;
	uint32_t id;
	const struct gr_dwarf *dwarf = find_type(s, type, &id);

	if (!dwarf)
		return NULL;
	const struct gr_dwarf_constant *constants =
		gr_dwarf_constants(dwarf, &count);
	for (size_t i = 0; !err && i < count; i++) {
		if (constants[i].type == id)
			note(&constants[i], value, names);
		if (i % NBITS == 0)
			err = gr_runtime_step(s->rt, 1);
	}
	return err;
}

/* Bytes of `main.` in the name of a type, or 0. */
static size_t package_bytes(const char *type)
{
	const char *slash = strrchr(type, '/');
	const char *dot = strchr(slash ? slash : type, '.');

	return dot ? (size_t)(dot + 1 - type) : 0;
}

static void put_name(struct gr_show *s, const char *type, const char *name)
{
	size_t n = package_bytes(type);

	gr_text_put(s->text, "%s", strncmp(name, type, n) ? name : name + n);
}

/* Is the value a combination of bits that all have names? */
static bool is_combined(const struct names *names, uint64_t value)
{
	for (int i = 0; i < NBITS; i++)
		if (value >> i & 1 && !names->bits[i])
			return false;
	return value != 0;
}

static void put_bits(struct gr_show *s, const char *type,
		     const struct names *names, uint64_t value)
{
	const char *between = "";

	// The sign bit is the least of all values.
	for (int i = 0; i < NBITS; i++) {
		int bit = (i + NBITS - 1) % NBITS;

		if (!(value >> bit & 1))
			continue;
		gr_text_put(s->text, "%s", between);
		put_name(s, type, names->bits[bit]);
		between = "|";
	}
}

struct gr_error *gr_show_put_constant(struct gr_show *s,
				      const struct gr_show_at *at,
				      int64_t value, bool *ret)
{
	const char *type = gr_show_type(s, at)->name;
	struct names names = { 0 };
	struct gr_error *err;

	*ret = false;
	if (!package_bytes(type) || !strncmp(type, "C.", 2))
		return NULL;
	err = collect(s, type, value, &names);
	if (err)
		return err;
	*ret = names.exact || is_combined(&names, (uint64_t)value);
	if (names.exact)
		put_name(s, type, names.exact);
	else if (*ret)
		put_bits(s, type, &names, (uint64_t)value);
	return NULL;
}
