// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/known_libraries.h"

#include "retention/type_text.h"

#define METRICS                                                             \
	"Remove series that are no longer used, and labels with many "      \
	"values: each combination of values is a series that the registry " \
	"keeps."
#define TRACES                                                           \
	"Lower the limits of queues, attributes and series of the SDK, " \
	"or sample less."
#define SCHEMAS                                                         \
	"Import only the generated packages that are used: each keeps " \
	"its descriptors."
#define CACHES                                                                \
	"This cache never drops an entry: create no new types, functions or " \
	"patterns while the program runs."

/* Rows of one name are one library: the first of them. */
const struct gr_library gr_known_libraries[] = {
	{ "github.com/prometheus/client_golang/prometheus", NULL,
	  "github.com/prometheus/client_golang/prometheus", METRICS },
	{ "github.com/prometheus/client_model/go", NULL,
	  "github.com/prometheus/client_golang/prometheus", METRICS },
	{ "github.com/rcrowley/go-metrics", NULL,
	  "github.com/rcrowley/go-metrics", METRICS },
	{ "github.com/armon/go-metrics", NULL, "github.com/armon/go-metrics",
	  METRICS },
	{ "github.com/hashicorp/go-metrics", NULL,
	  "github.com/hashicorp/go-metrics", METRICS },
	{ "github.com/VictoriaMetrics/metrics", NULL,
	  "github.com/VictoriaMetrics/metrics", METRICS },
	{ "github.com/ethereum/go-ethereum/metrics", NULL,
	  "github.com/ethereum/go-ethereum/metrics", METRICS },
	{ "github.com/go-kit/kit/metrics", NULL,
	  "github.com/go-kit/kit/metrics", METRICS },
	{ "github.com/uber-go/tally", NULL, "github.com/uber-go/tally",
	  METRICS },
	{ "github.com/DataDog/datadog-go", NULL,
	  "github.com/DataDog/datadog-go", METRICS },
	{ "go.opencensus.io", NULL, "go.opencensus.io", METRICS },
	{ "go.opentelemetry.io/otel/sdk", NULL, "go.opentelemetry.io/otel/sdk",
	  TRACES },
	{ "gopkg.in/DataDog/dd-trace-go.v1", NULL,
	  "gopkg.in/DataDog/dd-trace-go.v1", TRACES },
	{ "github.com/DataDog/dd-trace-go", NULL,
	  "github.com/DataDog/dd-trace-go", TRACES },
	{ "github.com/getsentry/sentry-go", NULL,
	  "github.com/getsentry/sentry-go", TRACES },
	{ "expvar", NULL, "expvar",
	  "Remove keys that are no longer used: expvar publishes a variable "
	  "for good." },
	{ "google.golang.org/protobuf/internal", NULL,
	  "google.golang.org/protobuf", SCHEMAS },
	{ "google.golang.org/protobuf/reflect", NULL,
	  "google.golang.org/protobuf", SCHEMAS },
	{ "github.com/golang/protobuf", NULL, "github.com/golang/protobuf",
	  SCHEMAS },
	{ "github.com/gogo/protobuf", NULL, "github.com/gogo/protobuf",
	  SCHEMAS },
	{ "time", "Location", "time.Location",
	  "Load each time zone once, and share the pointer: "
	  "time.LoadLocation() reads and keeps a new table each time." },
	{ "regexp", "Regexp", "regexp.Regexp",
	  "Compile each pattern once, and share the pointer." },
	{ "text/template", "Template", "text/template.Template",
	  "Parse each template once, and share it: Clone() copies its trees." },
	{ "html/template", "Template", "html/template.Template",
	  "Parse each template once, and share it: Clone() copies its trees." },
	{ "reflect", "", "reflect", CACHES },
	{ "encoding/json", "", "encoding/json", CACHES },
	{ "encoding/xml", "", "encoding/xml", CACHES },
	{ "encoding/gob", "", "encoding/gob", CACHES },
	{ "unique", "", "unique", "Make handles for fewer distinct values." },
	{ "gorm.io/gorm/schema", "", "gorm.io/gorm/schema", CACHES },
	{ "github.com/json-iterator/go", "", "github.com/json-iterator/go",
	  CACHES },
};
const size_t gr_nknown_libraries = GR_ARRAY_SIZE(gr_known_libraries);

/* Is a package of @p bytes that of the row, or below it? */
static bool is_in(const struct gr_library *row, const char *package,
		  size_t bytes)
{
	size_t n = strlen(row->package);

	return bytes >= n && !strncmp(row->package, package, n) &&
	       (bytes == n || package[n] == '/');
}

/* Does the name continue with `.NAME' and nothing, or type arguments? */
static bool is_called(const char *rest, const char *name)
{
	size_t n = strlen(name);

	return *rest == '.' && !strncmp(rest + 1, name, n) &&
	       (!rest[n + 1] || rest[n + 1] == '[');
}

/* The first row with the name of row @p i. */
static size_t first_of(size_t i)
{
	size_t first = 0;

	while (strcmp(gr_known_libraries[first].name,
		      gr_known_libraries[i].name) != 0)
		first++;
	return first;
}

size_t gr_library_of_type(const char *type)
{
	const char *start;
	size_t bytes = gr_type_package(type, &start);

	if (!bytes || start != type)
		return SIZE_MAX;
	for (size_t i = 0; i < gr_nknown_libraries; i++) {
		const struct gr_library *row = &gr_known_libraries[i];

		if (is_in(row, type, bytes) &&
		    (!row->type ||
		     (*row->type && bytes == strlen(row->package) &&
		      is_called(type + bytes, row->type))))
			return first_of(i);
	}
	return SIZE_MAX;
}

size_t gr_library_of_variable(const char *variable)
{
	const char *start;
	size_t bytes = gr_type_package(variable, &start);

	if (!bytes || start != variable)
		return SIZE_MAX;
	for (size_t i = 0; i < gr_nknown_libraries; i++) {
		const struct gr_library *row = &gr_known_libraries[i];

		if (is_in(row, variable, bytes) && (!row->type || !*row->type))
			return first_of(i);
	}
	return SIZE_MAX;
}
