// SPDX-License-Identifier: Apache-2.0
/* The lines that goref-trace is given, and the account of its budget. */
#include "helpers/trace/input.h"

#include <unistd.h>

#include "suite.h"

/** Parse a text, line by line. Returns the kind of the last one. */
static enum gr_input_kind parse(struct gr_request *req, const char *text)
{
	enum gr_input_kind kind = GR_INPUT_END;
	char buf[1024], *rest = NULL;

	snprintf(buf, sizeof(buf), "%s", text);
	for (char *line = strtok_r(buf, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		assert_null(gr_input_parse(req, line, &kind));
	return kind;
}

static void refuse(struct gr_request *req, const char *line)
{
	enum gr_input_kind kind;
	char buf[256];

	snprintf(buf, sizeof(buf), "%s", line);
	struct gr_error *err = gr_input_parse(req, buf, &kind);
	assert_non_null(err);
	assert_non_null(strstr(err->message, line));
	gr_error_destroy(err);
}

TEST(facts_are_kept)
{
	struct gr_request req = { .has_mode = false };

	assert_int_equal(parse(&req, "mode rss\nbudget 10000\ntls_g -8\n"
				     "sweepgen 0x1234\n"
				     "offset g_m 48\nwait"),
			 GR_INPUT_FACT);
	assert_int_equal(req.mode, GR_TRACE_RSS);
	assert_int_equal(req.budget_ppm, 10000);
	assert_int_equal(req.tls_g, -8);
	assert_int_equal(req.sweepgen_address, 0x1234);
	assert_int_equal(req.offsets.g_m, 48);
	assert_true(req.is_waiting);
	assert_int_equal(parse(&req, "start"), GR_INPUT_START);
	assert_int_equal(parse(&req, "tick 77"), GR_INPUT_TICK);
	assert_int_equal(req.tick, 77);
	assert_int_equal(parse(&req, "end"), GR_INPUT_END);
}

TEST(a_module_has_seven_numbers)
{
	struct gr_request req = { .has_mode = false };

	assert_int_equal(parse(&req, "go_module 0x1000 0x2000 0x3000 16 0x5000 "
				     "6 0x7000"),
			 GR_INPUT_GO_MODULE);
	assert_int_equal(req.module.text, 0x1000);
	assert_int_equal(req.module.etext, 0x2000);
	assert_int_equal(req.module.pclntable, 0x3000);
	assert_int_equal(req.module.pclntable_bytes, 16);
	assert_int_equal(req.module.ftab, 0x5000);
	assert_int_equal(req.module.ftab_count, 6);
	assert_int_equal(req.module.text_start, 0x7000);
	refuse(&req, "go_module 1 2 3 4 5 6");
	refuse(&req, "go_module 1 2 3 4 5 6 7 8");
}

TEST(all_offsets_but_those_of_samples_are_needed)
{
	struct gr_request req = { .has_mode = false };

	parse(&req, "offset g_m 48\noffset g_stack_lo 0\noffset g_stack_hi 8\n"
		    "offset g_sched_sp 56\noffset g_sched_pc 64\n"
		    "offset g_sched_bp 104\noffset m_g0 0");
	assert_false(gr_input_has_offsets(&req));
	parse(&req, "offset m_curg 192");
	assert_true(gr_input_has_offsets(&req));
	assert_int_equal(req.offsets.m_curg, 192);
}

TEST(a_mode_and_an_address_come_first)
{
	struct gr_request req = { .has_mode = false };

	refuse(&req, "start");
	parse(&req, "mode go");
	refuse(&req, "start");
	parse(&req, "sample_probe 0x42c62c 0 3");
	assert_int_equal(req.probe_address, 0x42c62c);
	assert_int_equal(req.size_register, 3);
	assert_int_equal(parse(&req, "start"), GR_INPUT_START);
}

TEST(bad_lines_are_refused)
{
	static const char *const lines[] = {
		"",
		"mode",
		"mode heap",
		"budget -1",
		"budget 1000001",
		"budget 1 2",
		"budget 99999999999999999999",
		"tls_g 0x",
		"tls_g 8x",
		"offset g_m",
		"offset g_x 1",
		"offset g_m 70000",
		"sample_probe 1 16 0",
		"tick",
		"tick - 1",
		"start now please and do it all for me",
		"what",
	};
	for (size_t i = 0; i < GR_ARRAY_SIZE(lines); i++) {
		struct gr_request req = { .has_mode = true };
		refuse(&req, lines[i]);
	}
}

TEST(lines_come_in_pieces)
{
	struct gr_input in = { .size = 0 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "tick 1\ntic", 10), 10);
	assert_null(gr_input_read(&in, fds[0]));
	assert_string_equal(gr_input_line(&in), "tick 1");
	assert_true(!gr_input_line(&in));
	assert_int_equal(write(fds[1], "k 2\n", 4), 4);
	assert_null(gr_input_read(&in, fds[0]));
	assert_string_equal(gr_input_line(&in), "tick 2");
	assert_false(in.has_ended);
	close(fds[1]);
	assert_null(gr_input_read(&in, fds[0]));
	assert_true(in.has_ended);
	close(fds[0]);
}

TEST(a_line_without_an_end_is_refused)
{
	static char text[sizeof(((struct gr_input *)0)->data)];
	struct gr_input in = { .size = 0 };
	int fds[2];

	memset(text, 'x', sizeof(text));
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], text, sizeof(text)), sizeof(text));
	assert_null(gr_input_read(&in, fds[0]));
	assert_true(!gr_input_line(&in));
	struct gr_error *err = gr_input_read(&in, fds[0]);
	assert_non_null(err);
	gr_error_destroy(err);
	close(fds[0]);
	close(fds[1]);
}

// ---------------------------------------------------------------- allocations

/** Take lines up to a NULL; false if one of them is not understood. */
static bool takes(struct gr_request *req, const char *const *lines)
{
	enum gr_input_kind kind;
	char line[128];

	for (; *lines; lines++) {
		snprintf(line, sizeof(line), "%s", *lines);
		struct gr_error *err = gr_input_parse(req, line, &kind);
		if (err) {
			gr_error_destroy(err);
			return false;
		}
	}
	return true;
}

TEST(functions_of_allocators_are_taken)
{
	struct gr_request req = { 0 };

	assert_true(takes(&req, (const char *const[]){
					"mode native",
					"alloc_function posix_memalign 0x7000",
					"alloc_function munmap 0x8000",
					"alloc_sampler 0x9000", "period 5000",
					"full 9000", "each", "sample 100",
					"sizes 16 4096", "start", NULL }));
	assert_int_equal(req.mode, GR_TRACE_NATIVE);
	assert_int_equal(req.alloc.nfunctions, 2);
	assert_int_equal(req.alloc.functions[0].kind, GR_ALLOC_POSIX_MEMALIGN);
	assert_int_equal(req.alloc.functions[0].address, 0x7000);
	assert_int_equal(req.alloc.functions[1].kind, GR_ALLOC_MUNMAP);
	assert_int_equal(req.alloc.nsamplers, 1);
	assert_int_equal(req.alloc.samplers[0], 0x9000);
	assert_int_equal(req.alloc.period_ms, 5000);
	assert_true(req.alloc.is_full && req.alloc.is_each);
	assert_int_equal(req.alloc.full_ms, 9000);
	assert_int_equal(req.alloc.sample, 100);
	assert_int_equal(req.alloc.min_bytes, 16);
	assert_int_equal(req.alloc.max_bytes, 4096);
}

TEST(odd_functions_are_refused)
{
	static const char *const lines[] = {
		"alloc_function other 0x7000",
		"alloc_function malloc",
		"alloc_function malloc x",
		"alloc_sampler -1",
		"period 0",
		"sample 0",
		"sizes 16",
		"full",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(lines); i++) {
		struct gr_request req = { 0 };
		assert_false(
			takes(&req, (const char *const[]){ "mode native",
							   lines[i], NULL }));
		assert_int_equal(req.alloc.nfunctions, 0);
	}
}

TEST(native_needs_a_function)
{
	struct gr_request req = { 0 };

	assert_false(takes(&req, (const char *const[]){ "mode native", "start",
							NULL }));
}

TEST(functions_are_bounded)
{
	struct gr_request req = { 0 };
	static const char *const one[] = { "alloc_function malloc 0x7000",
					   NULL };
	size_t n = 0;

	while (n < 2 * GR_MAX_ALLOC_FUNCTIONS && takes(&req, one))
		n++;
	assert_int_equal(n, GR_MAX_ALLOC_FUNCTIONS);
	assert_int_equal(req.alloc.nfunctions, GR_MAX_ALLOC_FUNCTIONS);
}

// ----------------------------------------------------------------- the budget

TEST(an_account_grows_by_its_share)
{
	const struct gr_event_config config = { .budget_ppm = 10000,
						.bank_ns = 10000000 };

	// A hundredth of a millisecond in a millisecond.
	assert_int_equal(gr_budget_growth(&config, 0, 1000000), 10000);
	assert_int_equal(gr_budget_growth(&config, -5000, 1000000), 10000);
}

TEST(no_more_is_banked)
{
	const struct gr_event_config config = { .budget_ppm = 10000,
						.bank_ns = 10000000 };

	assert_int_equal(gr_budget_growth(&config, 9999000, 1000000), 1000);
	assert_int_equal(gr_budget_growth(&config, 10000000, 1000000), 0);
	assert_int_equal(gr_budget_growth(&config, 0, UINT64_MAX), 10000000);
}

/** How many of all 16-bit numbers permit a stack. */
static unsigned permitted(const struct gr_event_config *config, int64_t account)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 1 << 16; i++)
		found += (unsigned)gr_budget_permits_stack(config, account, i);
	return found;
}

TEST(a_debt_makes_stacks_rare)
{
	const struct gr_event_config config = { .budget_ppm = 10000,
						.debt_ns = 10000000 };
	const struct gr_event_config largest = { .budget_ppm = 1000000,
						 .debt_ns = 1000000000 };
	const struct gr_event_config unlimited = { 0 };

	assert_int_equal(permitted(&config, 0), 65536);
	assert_int_equal(permitted(&config, -2500000), 49152);
	assert_int_equal(permitted(&config, -7500000), 16384);
	assert_int_equal(permitted(&config, -10000000), 0);
	assert_int_equal(permitted(&config, INT64_MIN), 0);
	assert_int_equal(permitted(&largest, -500000000), 32768);
	assert_int_equal(permitted(&unlimited, -1), 65536);
}

GR_SUITE("lines and budget of goref-trace")
