// SPDX-License-Identifier: Apache-2.0
/* The order of lines tells whether a lock is held at a place. */
#include "goroutines/locks/lock_code.h"
#include "goroutines/locks/lock_flow.h"

bool gr_lock_is_about(uint8_t site_class, const struct gr_lock_at *site_at,
		      uint8_t class, const struct gr_lock_at *at)
{
	if (site_class != class)
		return false;
	if (at->addr == GR_ANY_ADDR)
		return true;
	if (at->addr || site_at->addr)
		return at->addr == site_at->addr ||
		       (at->addr && !site_at->addr &&
			site_at->distance == GR_ANY_DISTANCE);
	return at->distance == GR_ANY_DISTANCE ||
	       site_at->distance == GR_ANY_DISTANCE ||
	       at->distance == site_at->distance;
}

static bool is_about(const struct gr_lock_site *site, uint8_t class,
		     const struct gr_lock_at *at)
{
	return gr_lock_is_about(site->class, &site->at, class, at);
}

/* A line other than that of the question locks (1), unlocks (-1), or does both
 * or nothing (0). */
static int sum_line(const struct gr_lock_code *code,
		    const struct gr_lock_question *q, uint32_t line)
{
	bool locks = false, unlocks = false;

	for (size_t i = 0; i < code->nsites; i++) {
		const struct gr_lock_site *site = &code->sites[i];

		if (site->line != line || !is_about(site, q->class, &q->at) ||
		    strcmp(site->function, q->function) != 0)
			continue;
		locks |= !site->unlocks;
		unlocks |= site->unlocks;
	}
	return locks - unlocks;
}

/** The sums of lines behind a place, and what is said of those before. */
struct sums {
	int next;	    /* of the next line that does something */
	uint32_t next_line; /* UINT32_MAX: none */
	struct gr_lock_lines lines;
};

static void add_line(struct sums *s, const struct gr_lock_question *q,
		     const struct gr_lock_site *site, int sum)
{
	bool is_here = site->line == q->line;
	bool is_before = is_here ? site->pc < q->pc : site->line < q->line;

	if (is_before) {
		s->lines.before += sum;
		s->lines.unlocks_before |= sum < 0;
		if (sum > 0 && site->line > s->lines.locked)
			s->lines.locked = site->line;
		return;
	}
	if (sum < 0 && (!s->lines.unlocked || site->line < s->lines.unlocked))
		s->lines.unlocked = site->line;
	if (sum && site->line < s->next_line) {
		s->next_line = site->line;
		s->next = sum;
	}
}

/* Is it the first site of its line? Lines are summed up once. */
static bool is_first_of_line(const struct gr_lock_code *code, size_t i,
			     const struct gr_lock_question *q)
{
	const struct gr_lock_site *site = &code->sites[i];

	for (size_t j = 0; j < i; j++)
		if (code->sites[j].line == site->line &&
		    is_about(&code->sites[j], q->class, &q->at) &&
		    !strcmp(code->sites[j].function, q->function))
			return false;
	return true;
}

/* Is the site the call that has not returned at the place of the question? */
static bool is_in_progress(const struct gr_lock_site *site,
			   const struct gr_lock_question *q)
{
	return site->line == q->line &&
	       (q->is_locking || (q->is_in_call && site->pc <= q->pc &&
				  q->pc - site->pc < GR_LOCK_CALL_BYTES));
}

struct gr_lock_lines gr_lock_ask(const struct gr_lock_code *code,
				 const struct gr_lock_question *q)
{
	struct sums s = { .next_line = UINT32_MAX };

	for (size_t i = 0; i < code->nsites; i++) {
		const struct gr_lock_site *site = &code->sites[i];

		if (!is_about(site, q->class, &q->at) ||
		    strcmp(site->function, q->function) != 0)
			continue;
		if (is_in_progress(site, q))
			s.lines.is_in_progress = true;
		else if (site->line == q->line)
			add_line(&s, q, site, site->unlocks ? -1 : 1);
		else if (is_first_of_line(code, i, q))
			add_line(&s, q, site, sum_line(code, q, site->line));
	}
	// Done() needs no call before it.
	if (q->class == GR_LOCK_GROUP)
		s.lines.is_between = s.lines.unlocked;
	else
		s.lines.is_between = s.lines.locked && s.lines.unlocked &&
				     (s.lines.before > 0 || s.next < 0);
	s.lines.locks_next = s.next > 0;
	s.lines.is_before = !s.lines.locked && s.lines.locks_next;
	return s.lines;
}

/* A line of the function that locks, or unlocks; 0: none does. */
static uint32_t any_line(const struct gr_lock_code *code,
			 const struct gr_lock_question *q, bool unlocks)
{
	for (size_t i = 0; i < code->nsites; i++)
		if (code->sites[i].unlocks == unlocks &&
		    is_about(&code->sites[i], q->class, &q->at) &&
		    !strcmp(code->sites[i].function, q->function))
			return code->sites[i].line;
	return 0;
}

void gr_lock_lines_follow(struct gr_lock_lines *lines,
			  const struct gr_lock_code *code,
			  const struct gr_lock_question *q,
			  const struct gr_lock_ways *ways)
{
	bool is_held = ways->verdict == GR_LOCK_HELD;

	if (ways->verdict == GR_LOCK_UNKNOWN)
		return;
	lines->is_followed = true;
	lines->may_hold = ways->verdict == GR_LOCK_MAY;
	// Who does not unlock it here has locked it for others.
	lines->is_between = is_held && ways->unlocks_next;
	lines->is_before = !is_held && ways->must_lock_next;
	lines->before = is_held				   ? 1 :
			ways->is_below && !lines->may_hold ? -1 :
							     0;
	lines->unlocks_before = ways->unlocks_before;
	lines->locks_next = ways->locks_next;
	if (!lines->is_between && !lines->may_hold)
		return;
	// In a loop, these may be on lines behind the place, or before.
	if (!lines->locked)
		lines->locked = any_line(code, q, false);
	if (!lines->unlocked)
		lines->unlocked = any_line(code, q, true);
}
