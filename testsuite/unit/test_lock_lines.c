// SPDX-License-Identifier: Apache-2.0
/* lock_code: the order of lines in random functions against the plainest reading
 * of them, line by line, and the most sites that a function has. */
#include "goroutines/locks/lock_code.h"

#include "suite.h"

enum { NFUNCTIONS = 20000, MAX_LINE = 12, MAX_SITES = 256 };

static const char *const names[] = { "main.f", "main.g" };

/* Is the site one that the question is about? Addresses and distances are not
 * known in these functions. */
static bool is_asked(const struct gr_lock_site *site,
		     const struct gr_lock_question *q)
{
	return site->class == q->class && !strcmp(site->function, q->function);
}

/* Is there a site of that line that locks, or unlocks? */
static bool has_site(const struct gr_lock_code *code,
		     const struct gr_lock_question *q, uint32_t line,
		     bool unlocks)
{
	for (size_t i = 0; i < code->nsites; i++)
		if (code->sites[i].line == line &&
		    code->sites[i].unlocks == unlocks &&
		    is_asked(&code->sites[i], q))
			return true;
	return false;
}

static int sum_of_line(const struct gr_lock_code *code,
		       const struct gr_lock_question *q, uint32_t line)
{
	return has_site(code, q, line, false) - has_site(code, q, line, true);
}

/* The answer of the lines other than that of the question. */
static struct gr_lock_lines read_lines(const struct gr_lock_code *code,
				       const struct gr_lock_question *q)
{
	struct gr_lock_lines ret = { 0 };
	int before = 0, next = 0;

	for (uint32_t line = 1; line <= MAX_LINE; line++) {
		int sum = sum_of_line(code, q, line);

		if (line < q->line) {
			before += sum;
			if (sum > 0)
				ret.locked = line;
		} else if (line > q->line) {
			if (sum < 0 && !ret.unlocked)
				ret.unlocked = line;
			if (sum && !next)
				next = sum;
		}
	}
	ret.is_between = q->class == GR_LOCK_GROUP ?
				 ret.unlocked > 0 :
				 ret.locked && ret.unlocked &&
					 (before > 0 || next < 0);
	ret.is_before = !ret.locked && next > 0;
	return ret;
}

static void make_sites(struct gr_lock_code *code, size_t n, uint32_t lines)
{
	code->nsites = n;
	for (size_t i = 0; i < n; i++)
		code->sites[i] = (struct gr_lock_site){
			.function = names[rand() % 2],
			.pc = 100 + i,
			.line = 1 + rand() % lines,
			.class = rand() % GR_NLOCK_CLASSES,
			.unlocks = rand() % 2,
			.at = { 0, GR_ANY_DISTANCE },
		};
}

static void check(const struct gr_lock_code *code,
		  const struct gr_lock_question *q)
{
	struct gr_lock_lines want = read_lines(code, q);
	struct gr_lock_lines found = gr_lock_ask(code, q);

	assert_int_equal(found.locked, want.locked);
	assert_int_equal(found.unlocked, want.unlocked);
	assert_int_equal(found.is_between, want.is_between);
	assert_int_equal(found.is_before, want.is_before);
}

TEST(random)
{
	struct gr_lock_site sites[MAX_SITES];
	struct gr_lock_code code = { sites, 0, NULL };

	srand(1);
	for (int i = 0; i < NFUNCTIONS; i++) {
		const struct gr_lock_question q = {
			.function = names[rand() % 2],
			.line = 1 + rand() % MAX_LINE,
			.pc = 100 + rand() % 16,
			.is_locking = true, // its own line tells nothing
			.class = rand() % GR_NLOCK_CLASSES,
			.at = { 0, GR_ANY_DISTANCE },
		};

		make_sites(&code, rand() % 16, MAX_LINE);
		check(&code, &q);
	}
}

/* As many sites as are kept, on few lines and on many. */
TEST(most_sites)
{
	static const uint32_t lines[] = { 1, 2, MAX_LINE };
	struct gr_lock_site sites[MAX_SITES];
	struct gr_lock_code code = { sites, 0, NULL };

	for (size_t i = 0; i < 3 * GR_NLOCK_CLASSES; i++) {
		const struct gr_lock_question q = {
			.function = names[0],
			.line = 2,
			.pc = 100,
			.is_locking = true,
			.class = i % GR_NLOCK_CLASSES,
			.at = { 0, GR_ANY_DISTANCE },
		};

		make_sites(&code, MAX_SITES, lines[i / GR_NLOCK_CLASSES]);
		check(&code, &q);
	}
}

/** Sites, and where the question is between them. */
struct own_line {
	const char *name;
	uint64_t pc;
	uint32_t locked, unlocked;
	bool is_between, is_before;
};

/* `mu.Lock(); f(); mu.Unlock()' on one line: instructions tell the order. */
static const struct own_line own_lines[] = {
	{ "before both", 5, 0, 7, false, true },
	{ "between", 15, 7, 7, true, false },
	{ "behind both", 25, 7, 0, false, false },
};

TEST_ROWS(own_line, own_lines, row)
{
	struct gr_lock_site sites[] = {
		{ names[0], 10, 7, GR_LOCK_MUTEX, false, { 0x40, 0 } },
		{ names[0], 20, 7, GR_LOCK_MUTEX, true, { 0x40, 0 } },
		// A call for another lock tells nothing.
		{ names[0], 12, 7, GR_LOCK_MUTEX, true, { 0x80, 0 } },
	};
	const struct gr_lock_code code = { sites, GR_ARRAY_SIZE(sites), NULL };
	const struct gr_lock_question q = {
		.function = names[0],
		.line = 7,
		.pc = row->pc,
		.class = GR_LOCK_MUTEX,
		.at = { 0x40, GR_ANY_DISTANCE },
	};
	struct gr_lock_lines found = gr_lock_ask(&code, &q);

	assert_int_equal(found.locked, row->locked);
	assert_int_equal(found.unlocked, row->unlocked);
	assert_int_equal(found.is_between, row->is_between);
	assert_int_equal(found.is_before, row->is_before);
}

GR_SUITE("lock lines")
