// SPDX-License-Identifier: Apache-2.0
#include "index.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *block_create(size_t size, struct sum *sum)
{
	void *block = calloc(1, size);

	if (!block)
		abort();
	sum->blocks++;
	sum->bytes += malloc_usable_size(block) + 8;
	return block;
}

struct table *table_create(void)
{
	return calloc(1, sizeof(struct table));
}

// A balanced tree of the keys in [begin, end).
static struct node *make_nodes(long begin, long end, struct sum *sum)
{
	struct node *node;
	long middle = begin + (end - begin) / 2;

	if (begin == end)
		return NULL;
	node = block_create(sizeof(*node), sum);
	node->key = middle;
	node->entry = block_create(sizeof(*node->entry), sum);
	node->entry->number = middle;
	strcpy(node->entry->text, "an entry");
	node->left = make_nodes(begin, middle, sum);
	node->right = make_nodes(middle + 1, end, sum);
	return node;
}

// Old words of the stack would hold nodes, too.
__attribute__((noinline)) static void clear_stack(void)
{
	volatile char words[1 << 14];

	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = 0;
}

struct index *index_create(struct table *table, long count, struct sum *sum)
{
	struct index *index = block_create(sizeof(*index), sum);

	index->label = block_create(72, sum);
	strcpy(index->label, "a label");
	index->table = table;
	index->count = count;
	index->root = make_nodes(0, count, sum);
	clear_stack();
	return index;
}

struct node *index_first(struct index *index)
{
	struct node *node = index->root;

	while (node->left)
		node = node->left;
	return node;
}
