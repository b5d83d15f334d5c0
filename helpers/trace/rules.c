// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/rules.h"

#include "base/hash.h"

enum {
	SLOTS = 1 << 15,
	MAX_RULES = SLOTS / 2, // 1.6 MB
	MAX_OPERATIONS = 1 << 16,
	// A rule has an expression for each register, and for the CFA.
	RULE_OPERATIONS = (GR_SAMPLE_REGS + 1) * GR_MAX_OPERATIONS,
};

void gr_rules_deinit(struct gr_rules *rules)
{
	free(rules->slots);
	gr_rule_vector_deinit(&rules->list);
	gr_operation_vector_deinit(&rules->operations);
	rules->slots = NULL;
}

void gr_rules_clear(struct gr_rules *rules)
{
	if (rules->slots)
		memset(rules->slots, 0, SLOTS * sizeof(*rules->slots));
	rules->list.size = 0;
	rules->operations.size = 0;
}

/* The slot that holds @p pc, or the free one where it belongs. Half of the slots
 * are free. */
static uint32_t *slot_of(const struct gr_rules *rules, uint64_t pc)
{
	uint64_t i = gr_hash_number(pc) % SLOTS;

	// Bounded by SLOTS: at least half of them are free.
	while (rules->slots[i] &&
	       rules->list.data[rules->slots[i] - 1].pc != pc)
		i = (i + 1) % SLOTS;
	return &rules->slots[i];
}

const struct gr_rule *gr_rules_find(const struct gr_rules *rules, uint64_t pc)
{
	if (!rules->slots)
		return NULL;
	uint32_t index = *slot_of(rules, pc);
	return index ? &rules->list.data[index - 1] : NULL;
}

void gr_rules_make_room(struct gr_rules *rules)
{
	if (rules->list.size >= MAX_RULES ||
	    rules->operations.size + RULE_OPERATIONS > MAX_OPERATIONS)
		gr_rules_clear(rules);
}

const struct gr_rule *gr_rules_add(struct gr_rules *rules,
				   const struct gr_rule *rule)
{
	if (!rules->slots)
		rules->slots = calloc(SLOTS, sizeof(*rules->slots));
	if (!rules->slots || rules->list.size >= MAX_RULES ||
	    !gr_rule_vector_append(&rules->list, *rule))
		return NULL;
	*slot_of(rules, rule->pc) = rules->list.size;
	return &rules->list.data[rules->list.size - 1];
}

int32_t gr_rules_add_expression(struct gr_rules *rules,
				const struct gr_operation *ops, size_t count)
{
	struct gr_operation_vector *all = &rules->operations;
	size_t start = all->size;

	if (count >= GR_MAX_OPERATIONS || start + count >= MAX_OPERATIONS ||
	    !gr_operation_vector_reserve(all, start + count + 1))
		return -1;
	for (size_t i = 0; i < count; i++)
		all->data[start + i] = ops[i];
	all->data[start + count] = (struct gr_operation){ 0 };
	all->size = start + count + 1;
	return start;
}
