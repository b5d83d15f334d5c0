// SPDX-License-Identifier: Apache-2.0
/* Which types are of Go's standard library. */
#include "waste/type_owner.h"

#include "suite.h"

static const char *const dependencies[] = { "net/queue", "net/yaml.v2", NULL };

static const struct gr_scan_info with_modules = {
	.main_module = "log",
	.main_path = "log/cmd/server",
	.dependencies = dependencies,
};

static const char *const none[] = { NULL };

static const struct gr_scan_info without_modules = {
	.main_module = "",
	.main_path = "",
	.dependencies = none,
};

/* The name of a type, and the modules of its program. */
struct owner_case {
	const char *name;
	const struct gr_scan_info *info;
	bool is_of_library;
};

static const struct owner_case owners[] = {
	{ "net/http.Request", &without_modules, true },
	{ "*net/http.Request", &without_modules, true },
	{ "[]net/http.Header", &without_modules, true },
	{ "[4]*chan time.Time", &without_modules, true },
	{ "[]*[8]go/ast.Ident", &without_modules, true },
	{ "begins with net/url.URL", &without_modules, true },
	{ "runtime.g", &without_modules, true },
	{ "internal/poll.FD", &without_modules, true },
	{ "sync/atomic.Pointer[main.T]", &without_modules, true },
	{ "vendor/golang.org/x/net/idna.Profile", &without_modules, true },
	{ "main.T", &without_modules, false },
	{ "*main.T", &without_modules, false },
	{ "main.Set[net/http.Request]", &without_modules, false },
	{ "github.com/a/b.T", &without_modules, false },
	{ "example.com/internal/x.T", &without_modules, false },
	{ "gopkg.in/yaml%2ev3.Node", &without_modules, false },
	{ "shop/orders.T", &without_modules, false },
	{ "timer.T", &without_modules, false },
	{ "netx/http.T", &without_modules, false },
	{ "command-line-arguments.T", &without_modules, false },
	{ "_/src/x.T", &without_modules, false },
	{ "plugin/unnamed-1.T", &without_modules, false },
	// Modules may have the names of folders.
	{ "log.T", &with_modules, false },
	{ "log/orders.T", &with_modules, false },
	{ "log/cmd/server.T", &with_modules, false },
	{ "net/queue.T", &with_modules, false },
	{ "net/queue/inner.T", &with_modules, false },
	{ "net/queue2.T", &with_modules, true },
	{ "net/http.T", &with_modules, true },
	{ "time.Time", &with_modules, true },
	// DWARF has %2e for a dot in the last element of a path.
	{ "net/yaml%2ev2.T", &with_modules, false },
	{ "net/yaml.v2.T", &with_modules, false },
	{ "net/yaml%2ev3.T", &with_modules, true },
	{ "net/yaml.T", &with_modules, true },
	// These have no package.
	{ "", &without_modules, false },
	{ "[]uint8", &without_modules, false },
	{ "int", &without_modules, false },
	{ "map[string]net/http.T", &without_modules, false },
	{ "[", &without_modules, false },
	{ "[12", &without_modules, false },
	{ "**(", &without_modules, false },
	{ "struct { A net/http.T }", &without_modules, false },
	{ "func(net/a.b)", &without_modules, false },
	{ "net", &without_modules, false },
	{ "/", &without_modules, false },
	{ "%2", &without_modules, false },
	{ "net%2", &without_modules, false },
};

TEST_ROWS(owners, owners, c)
{
	assert_int_equal(gr_type_is_of_library(c->info, c->name),
			 c->is_of_library);
}

GR_SUITE("type_owner")
