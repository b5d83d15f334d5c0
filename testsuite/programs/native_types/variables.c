// SPDX-License-Identifier: Apache-2.0
// Blocks that variables of C lead to, each by one word.
#include "types.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
	long number;
	char text[40];
};

struct node {
	struct node *next;
	struct entry *entry;
	long key;
};

struct table {
	struct node *rows[8];
};

struct pair {
	long first;
	struct entry *second;
};

typedef struct {
	long x, y, z;
} point;

typedef struct entry entry_alias;

union value {
	long number;
	struct entry *entry;
	char bytes[32];
};

/* No type says where a word of `either' or `variant' leads. */
struct holder {
	unsigned int flags : 3, mode : 5;
	struct node *first;
	union {
		struct entry *entry;
		struct table *table;
	} either;
	struct {
		long kind;
		union value value;
	} variant;
	void *any;
	const struct entry *constant;
};

USED static struct node *list;
struct table *shared_table;
USED static struct entry *entries[4];
USED static struct holder holder;
USED static struct holder holders[2];
USED static struct entry *middle, *too_large;
USED static point *a_point;
USED static entry_alias *alias;
USED static struct opaque *handle;
USED static struct entry **rows;
USED static struct pair *pairs;
USED static union value *value;
USED static void *untyped;
USED static char *text;
USED static struct {
	struct node *node;
} nameless, *nameless_block;

enum { TRUTHS = 128, NPAIRS = 10, NROWS = 8 };
static struct truth truths[TRUTHS];
static int ntruths;

void *note(const char *name, void *block, const char *type)
{
	if (!block || ntruths == TRUTHS)
		abort();
	truths[ntruths++] = (struct truth){ name, ~(unsigned long)block, type };
	return block;
}

struct truth *truth_at(int i)
{
	return i < ntruths ? &truths[i] : NULL;
}

static struct entry *new_entry(const char *name, const char *type)
{
	return note(name, calloc(1, sizeof(struct entry)), type);
}

static struct node *new_node(const char *name, struct node *next)
{
	struct node *node = note(name, calloc(1, sizeof(*node)), "struct node");

	node->entry = new_entry("entry of node", "struct entry");
	node->next = next;
	return node;
}

static void fill_holder(struct holder *h)
{
	h->flags = 1;
	h->first = new_node("node of holder", NULL);
	h->either.entry = new_entry("either", "");
	h->variant.value.entry = new_entry("variant", "");
	h->any = new_entry("any", "");
	h->constant = new_entry("constant", "struct entry");
}

static void make_wrong(void)
{
	char *block = note("middle", calloc(1, 3 * sizeof(struct entry)), "");

	middle = (struct entry *)(block + sizeof(struct entry));
	too_large = note("too large", calloc(1, 24), "");
	untyped = new_entry("untyped", "");
}

static void make_arrays(void)
{
	rows = note("rows", calloc(NROWS, sizeof(*rows)), "[]*struct entry");
	for (int i = 0; i < NROWS; i++)
		rows[i] = new_entry("row", "struct entry");
	pairs = note("pairs", calloc(NPAIRS, sizeof(*pairs)), "[]struct pair");
	for (int i = 0; i < NPAIRS; i++)
		pairs[i].second = new_entry("second", "struct entry");
	for (int i = 0; i < 4; i++)
		entries[i] = new_entry("of array", "struct entry");
}

/* A variable of a function. */
static void keep_last(void)
{
	USED static struct entry *last;

	last = new_entry("last", "struct entry");
}

void make_variables(void)
{
	list = new_node("node", new_node("node", new_node("node", NULL)));
	shared_table =
		note("table", calloc(1, sizeof(*shared_table)), "struct table");
	shared_table->rows[3] = new_node("node of table", NULL);
	fill_holder(&holder);
	fill_holder(&holders[1]);
	make_wrong();
	make_arrays();
	keep_last();
	a_point = note("point", calloc(1, sizeof(point)), "point");
	alias = new_entry("alias", "struct entry");
	handle = note("opaque", opaque_create(), "struct opaque");
	value = note("value", calloc(1, sizeof(*value)), "union value");
	value->entry = new_entry("of value", "");
	text = note("text", calloc(1, 100), "[]char");
	nameless.node = new_node("of nameless", NULL);
	nameless_block =
		note("nameless", calloc(1, sizeof(*nameless_block)), "");
}

void load_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*fill)(void *(*)(const char *, void *, const char *)) =
		library ? dlsym(library, "fill") : NULL;

	if (!fill) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	fill(note);
}
