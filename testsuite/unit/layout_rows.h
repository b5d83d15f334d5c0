/* SPDX-License-Identifier: Apache-2.0 */
/** layout_rows: the layout's own table, and debug information made of it. */
#pragma once

#include "fake_dwarf.h"

enum { ALL = 99 };

#define BIAS UINT64_C(0x555500000000)
// ------------------------------------------------------- the table's own rows

enum kind { STRUCT, FIELD, END, VARIABLE, CONSTANT };
enum need { OPTIONAL, REQUIRED };

struct row {
	enum kind kind;
	enum need need;
	const char *id;
	const char *names;
	int64_t fallback;
};

static const struct row rows[] = {
#define STRUCT_ROW(id_, need_, names_) { STRUCT, need_, #id_, names_, 0 },
#define FIELD_ROW(id_, need_, names_) { FIELD, need_, #id_, names_, 0 },
#define END_ROW(id_) { END, OPTIONAL, #id_, "", 0 },
#define VARIABLE_ROW(id_, need_, names_) { VARIABLE, need_, #id_, names_, 0 },
#define CONSTANT_ROW(id_, fallback_, names_) \
	{ CONSTANT, OPTIONAL, #id_, names_, fallback_ },
	GR_LAYOUT_TABLE(STRUCT_ROW, FIELD_ROW, END_ROW)
		GR_LAYOUT_VARIABLES(VARIABLE_ROW)
			GR_LAYOUT_CONSTANTS(CONSTANT_ROW)
};
enum { NROWS = GR_ARRAY_SIZE(rows) };

static inline const struct row *owner_of(size_t i)
{
	while (rows[i].kind != STRUCT)
		i--;
	return &rows[i];
}

/* Alternative `n` of a list of names; NULL past the last. */
static inline const char *alternative(const char *names, unsigned int n,
				      size_t *len)
{
	for (; n; n--) {
		names = strchr(names, '|');
		if (!names)
			return NULL;
		names++;
	}
	*len = strcspn(names, "|");
	return names;
}

/* The tests give these to row `i`: its place among the rows makes it unique. */
static inline uint64_t want_size(size_t i)
{
	return 8192 + 8 * i;
}

static inline uint64_t want_off(size_t i)
{
	return 64 + 8 * i;
}

static inline uint64_t want_addr(size_t i)
{
	return 0x500000 + 16 * i;
}

static inline int64_t want_value(size_t i)
{
	return -1000 - (int64_t)i;
}

/** How the debug information differs from "every row, by its newest name". */
struct change {
	size_t row;
	bool is_missing;
	unsigned int alternative; /* ALL: under every name, newest first */
};

static const struct change no_change = { SIZE_MAX, false, 0 };

static inline void add_row_as(struct gr_dwarf *d, size_t i, uint32_t *owner,
			      const char *name, size_t len, uint64_t shift)
{
	switch (rows[i].kind) {
	case STRUCT:
		*owner = add_type(d, name, len, want_size(i) + shift);
		break;
	case FIELD:
		if (*owner != GR_DWARF_NONE)
			add_path(d, *owner, name, len, want_off(i) + shift, 8);
		break;
	case VARIABLE:
		d->variables[d->nvariables++] =
			(struct gr_dwarf_variable){ keep_name(d, name, len),
						    want_addr(i) + shift, 0 };
		break;
	case CONSTANT:
		d->constants[d->nconstants++] = (struct gr_dwarf_constant){
			keep_name(d, name, len), want_value(i) + (int64_t)shift,
			GR_DWARF_NONE
		};
		break;
	case END:
		break;
	}
}

/* Does field row `i` lead through the field of row `above`? */
static inline bool is_through(size_t i, size_t above)
{
	size_t len = strcspn(rows[above].names, "|");

	return rows[i].kind == FIELD && rows[above].kind == FIELD &&
	       owner_of(i) == owner_of(above) &&
	       !strncmp(rows[i].names, rows[above].names, len) &&
	       rows[i].names[len] == '.';
}

static inline struct gr_dwarf *dwarf_create(const struct change *change)
{
	struct gr_dwarf *d = suite_alloc(sizeof(*d));
	uint32_t owner = GR_DWARF_NONE;

	for (size_t i = 0; i < NROWS; i++) {
		bool is_changed = i == change->row;
		unsigned int n = is_changed ? change->alternative : 0;
		size_t len = 0;

		if (rows[i].kind == STRUCT)
			owner = GR_DWARF_NONE;
		if (change->is_missing &&
		    (is_changed || is_through(i, change->row)))
			continue;
		if (n != ALL) {
			const char *name = alternative(rows[i].names, n, &len);
			add_row_as(d, i, &owner, name, len, 0);
			continue;
		}
		uint32_t newest = owner;
		for (n = 0;; n++) {
			const char *name = alternative(rows[i].names, n, &len);
			if (!name)
				break;
			add_row_as(d, i, &owner, name, len, n * 4096);
			if (!n)
				newest = owner;
			if (rows[i].kind == FIELD)
				owner = newest;
		}
		owner = newest;
	}
	finish(d);
	return d;
}

static inline struct gr_dwarf *setup(void)
{
	return dwarf_create(&no_change);
}

static inline void teardown(struct gr_dwarf *d)
{
	free(d);
}

#define FIXTURE struct gr_dwarf *d, setup, teardown
