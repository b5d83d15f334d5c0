/* SPDX-License-Identifier: Apache-2.0 */
/** expression: the DWARF expressions of call frame information. */
#ifndef GR_TRACE_EXPRESSION_H
#define GR_TRACE_EXPRESSION_H

#include "base/base.h"
#include "helpers/trace/sample.h"

enum { GR_MAX_OPERATIONS = 32 };

/** One operation; atom 0 ends an expression. */
struct gr_operation {
	uint8_t atom; /**< DW_OP_... */
	int64_t number, number2;
};

/** The registers of a frame; those without their bit in `known` are lost. */
struct gr_frame_regs {
	uint64_t values[GR_SAMPLE_REGS];
	uint32_t known;
};

static inline bool gr_regs_get(const struct gr_frame_regs *regs, uint64_t reg,
			       uint64_t *ret)
{
	if (reg >= GR_SAMPLE_REGS || !(regs->known >> reg & 1))
		return false;
	*ret = regs->values[reg];
	return true;
}

static inline void gr_regs_set(struct gr_frame_regs *regs, unsigned int reg,
			       uint64_t value)
{
	regs->values[reg] = value;
	regs->known |= UINT32_C(1) << reg;
}

/** Read the word of the stack at @p addr; false if it was not copied. */
static inline bool gr_sample_word(const struct gr_sample *sample, uint64_t addr,
				  uint64_t *ret)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(sample->chunks); i++) {
		const struct gr_sample_chunk *c = &sample->chunks[i];
		uint64_t off = addr - c->start;

		if (c->bytes < sizeof(*ret) || off > c->bytes - sizeof(*ret))
			continue;
		memcpy(ret, c->data + off, sizeof(*ret));
		return true;
	}
	return false;
}

/**
 * Evaluate @p ops, which an operation with atom 0 ends. The result is the value
 * that is described: that of a location is read from the stack, unless
 * @p is_address asks for the location itself, as for the frame's address.
 *
 * @return false if it needs a register or a word that is not known, or has
 * operations that no frame needs.
 */
bool gr_expression_evaluate(const struct gr_operation *ops,
			    const struct gr_frame_regs *regs, uint64_t cfa,
			    const struct gr_sample *sample, bool is_address,
			    uint64_t *ret);

#endif /* GR_TRACE_EXPRESSION_H */
