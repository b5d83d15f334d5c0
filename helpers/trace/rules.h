/* SPDX-License-Identifier: Apache-2.0 */
/**
 * rules: how to find the caller of a frame, by the pc. A rule is made once, from
 * call frame information or from tables of Go, and then kept.
 */
#ifndef GR_TRACE_RULES_H
#define GR_TRACE_RULES_H

#include "base/base.h"
#include "base/vector.h"
#include "helpers/trace/expression.h"

/** The part that a function plays for the stack. */
enum gr_role {
	GR_ROLE_CALL,	   /**< An ordinary frame. */
	GR_ROLE_UNKNOWN,   /**< Nothing says how to go on. */
	GR_ROLE_START,	   /**< The stack begins here. */
	GR_ROLE_SIGNAL,	   /**< The caller was interrupted: its pc is exact. */
	GR_ROLE_SWITCH,	   /**< It runs on the system stack for a goroutine. */
	GR_ROLE_LEAVE,	   /**< As SWITCH; without a goroutine, the start. */
	GR_ROLE_SCHEDULE,  /**< A call; the goroutine may be the next one. */
	GR_ROLE_CALL_C,	   /**< runtime.asmcgocall: SWITCH, or a plain call. */
	GR_ROLE_CALL_BACK, /**< runtime.cgocallback: C called, by FROM_C. */
	GR_ROLE_FROM_C,	   /**< crosscall2: a call, by C. */
	GR_ROLE_SWITCHED,  /**< Where a goroutine waits for such a call. */
	GR_ROLE_ALIGNS, /**< A call from an aligned rsp; rbx has the old one. */
	GR_ROLE_LOSES_STACK, /**< It moves rsp as its tables do not say. */
};

#define GR_CFA_EXPRESSION UINT8_MAX

/** Bit r of a mask stands for register r. */
struct gr_rule {
	uint64_t pc;
	uint8_t role; /**< enum gr_role */
	/** CFA = register + cfa_off, or GR_CFA_EXPRESSION: the expression at
	 * cfa_off. */
	uint8_t cfa_reg;
	int32_t cfa_off;
	/** GR_ROLE_CALL_C: bytes from rsp to the return address in the body, and
	 * those that the body then takes. */
	uint32_t body_bytes, taken_bytes;
	uint32_t saved;	    /**< At CFA + off[r]. */
	uint32_t expressed; /**< By the expression at off[r]. */
	uint32_t lost;	    /**< Undefined in the caller. */
	int32_t off[GR_SAMPLE_REGS];
};

GR_VECTOR(gr_rule_vector, struct gr_rule);
GR_VECTOR(gr_operation_vector, struct gr_operation);

/** Zero-initialised, the table is empty. */
struct gr_rules {
	uint32_t *slots; /**< Index in list + 1; 0: free. */
	struct gr_rule_vector list;
	struct gr_operation_vector operations;
};

void gr_rules_deinit(struct gr_rules *rules);

/** Forget all rules. */
void gr_rules_clear(struct gr_rules *rules);

/** The rule of @p pc, or NULL. It is valid until the next change. */
const struct gr_rule *gr_rules_find(const struct gr_rules *rules, uint64_t pc);

/**
 * Keep a rule, for which gr_rules_make_room() has made room.
 *
 * @return The copy; NULL if no memory is left.
 */
const struct gr_rule *gr_rules_add(struct gr_rules *rules,
				   const struct gr_rule *rule);

/** Forget all if the next rule might not have room. */
void gr_rules_make_room(struct gr_rules *rules);

/** Keep an expression of @p count operations; -1 if there is no room for it. */
int32_t gr_rules_add_expression(struct gr_rules *rules,
				const struct gr_operation *ops, size_t count);

#endif /* GR_TRACE_RULES_H */
