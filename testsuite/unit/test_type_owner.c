// SPDX-License-Identifier: Apache-2.0
/* Which types are of Go's standard library. */
#include "waste/type_owner.h"

#include "suite.h"

static const char *const dependencies[] = { "corp/queue", "plain", NULL };

static const struct gr_scan_info with_modules = {
	.main_module = "shop",
	.main_path = "shop/cmd/server",
	.dependencies = dependencies,
};

static const char *const escaped[] = { "corp/queue.v2", NULL };

static const struct gr_scan_info with_a_version = {
	.main_module = "",
	.main_path = "",
	.dependencies = escaped,
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
	{ "example%2ecom.T", &without_modules, false },
	{ "shop.T", &without_modules, true },
	{ "shop.T", &with_modules, false },
	{ "shop/orders.T", &with_modules, false },
	{ "shop/cmd/server.T", &with_modules, false },
	{ "shopping.T", &with_modules, true },
	{ "shop2/orders.T", &with_modules, true },
	{ "corp/queue.T", &with_modules, false },
	{ "corp/queue/inner.T", &with_modules, false },
	{ "corp/other.T", &with_modules, true },
	{ "plain.T", &with_modules, false },
	{ "time.Time", &with_modules, true },
	// The linker escapes dots of the last element.
	{ "corp/queue%2ev2.T", &with_a_version, false },
	{ "corp/queue%2ev3.T", &with_a_version, true },
	{ "corp/queue.T", &with_a_version, true },
	// These have no package.
	{ "", &with_modules, false },
	{ "[]uint8", &with_modules, false },
	{ "int", &with_modules, false },
	{ "map[string]net/http.T", &with_modules, false },
	{ "[", &with_modules, false },
	{ "[12", &with_modules, false },
	{ "**(", &with_modules, false },
	{ "struct { A net/http.T }", &with_modules, false },
	{ "func(a.b)", &with_modules, false },
	{ "a/b", &with_modules, false },
	{ "/", &with_modules, false },
	{ "%2", &with_modules, false },
};

TEST_ROWS(owners, owners, c)
{
	assert_int_equal(gr_type_is_of_library(c->info, c->name),
			 c->is_of_library);
}

GR_SUITE("type_owner")
