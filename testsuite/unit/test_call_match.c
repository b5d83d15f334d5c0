// SPDX-License-Identifier: Apache-2.0
/* call_match: names and patterns, and whose a call is. */
#include "goroutines/call_match.h"
#include "goroutines/goroutine_places.h"

#include "suite.h"

struct pattern_case {
	const char *name, *text, *pattern;
	bool matches;
};

static const struct pattern_case pattern_cases[] = {
	{ "the same", "main.f", "main.f", true },
	{ "a part", "main.fetch", "main.f", false },
	{ "the end", "x/main.f", "main.f", false },
	{ "any end", "main.fetch", "main.f*", true },
	{ "any start", "x/main.f", "*main.f", true },
	{ "nothing for a star", "main.f", "main.f*", true },
	{ "a receiver is itself", "a.(*B).c", "a.(*B).c", true },
	{ "a receiver is any other", "a.(XB).c", "a.(*B).c", true },
	{ "brackets are themselves", "a.f[...]", "a.f[...]", true },
	{ "brackets are no set", "a.f.", "a.f[...]", false },
	{ "the last star takes more", "aXbXbY", "a*bY", true },
	{ "two stars", "main.(*Pool).run.func1", "main.*.func*", true },
	{ "two stars without a match", "main.(*Pool).run", "main.*.func*",
	  false },
	{ "no name", "", "*", true },
	{ "no pattern", "main.f", "", false },
};

TEST_ROWS(pattern, pattern_cases, c)
{
	assert_int_equal(gr_name_matches_pattern(c->text, c->pattern),
			 c->matches);
}

struct call_case {
	const char *name, *function;
	bool is_user;
};

static const struct call_case call_cases[] = {
	{ "the program's", "main.f", true },
	{ "the library's", "net/http.(*conn).serve", true },
	{ "the runtime's", "runtime.gopark", false },
	{ "exported by the runtime", "runtime.GC", false },
	{ "beside the runtime", "runtime/debug.FreeOSMemory", true },
	{ "an older internal package", "runtime/internal/sys.X", false },
	{ "an internal package", "internal/poll.(*FD).Read", false },
	{ "somebody's internal package", "a/internal/b.f", true },
	{ "package sync", "sync.(*Mutex).Lock", false },
	{ "below package sync", "sync/atomic.(*Value).Store", false },
	{ "another package sync", "golang.org/x/sync/errgroup.Wait", true },
	{ "calls the user", "sync.(*WaitGroup).Go.func1", true },
	{ "a coroutine", "iter.Pull[...].func1", false },
	{ "without a package", "aeshashbody", false },
};

TEST_ROWS(call, call_cases, c)
{
	assert_int_equal(gr_is_user_call(c->function), c->is_user);
}

GR_SUITE("call match")
