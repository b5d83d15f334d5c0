// SPDX-License-Identifier: Apache-2.0
/*
 * The moment of a time.Time, in RFC 3339. Source: time/time.go (Time),
 * time/zoneinfo.go (Location, lookup).
 */
#include "inferior/recorder.h"
#include "show/show_internal.h"

#include <inttypes.h>

#define HAS_MONOTONIC (UINT64_C(1) << 63)

enum {
	NSEC_BITS = 30, /* of Time.wall */
	SEARCH_STEPS = 32,
};

#define DAY_SECONDS INT64_C(86400)
/* From January 1 of year 1, as Time.ext has it, to that of 1885 and of 1970. */
#define SECONDS_TO_1885 INT64_C(59453308800)
#define SECONDS_TO_1970 INT64_C(62135596800)
/* Later moments have no calendar date in Delve either. */
#define SECONDS_MAX (INT64_C(9223372036) * 1000)

/** A part of a value, found by its name. */
struct part {
	uint64_t off;
	gr_type_id type;
};

static bool find_part(const struct gr_types *types, gr_type_id id,
		      const char *name, struct part *ret)
{
	if (id == GR_TYPE_NONE)
		return false;
	const struct gr_type *type = gr_types_get(types, id);
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);

		if (strcmp(field->name, name) || field->type == GR_TYPE_NONE)
			continue;
		*ret = (struct part){ field->off_bytes, field->type };
		return true;
	}
	return false;
}

/* Read a word; false without memory there. */
static bool read_word(struct gr_show *s, const struct gr_shown *value,
		      uint64_t off, uint64_t *ret)
{
	if (value->host) {
		if (off > value->host_bytes ||
		    value->host_bytes - off < GR_WORD_BYTES)
			return false;
		*ret = gr_load_u64(value->host + off);
		return true;
	}
	gr_recorder_pause(s->rt->recorder);
	struct gr_error *err = gr_image_read_late(
		s->rt->image, value->addr + off, ret, sizeof(*ret));
	gr_recorder_resume(s->rt->recorder);
	gr_error_destroy(err);
	return !err;
}

/* The word that is field @p name of the struct. */
static bool read_named(struct gr_show *s, const struct gr_shown *value,
		       const char *name, uint64_t *ret)
{
	struct part part;

	return find_part(s->types, value->type, name, &part) &&
	       read_word(s, value, part.off, ret);
}

/* The slice that is field @p name of the struct: its elements, and how many. */
static bool read_slice(struct gr_show *s, const struct gr_shown *value,
		       const char *name, struct gr_shown *ret, uint64_t *count)
{
	struct part part;

	if (!find_part(s->types, value->type, name, &part))
		return false;
	*ret = (struct gr_shown){
		.type = gr_types_get(s->types, part.type)->elem
	};
	return ret->type != GR_TYPE_NONE &&
	       read_word(s, value, part.off, &ret->addr) &&
	       read_word(s, value, part.off + GR_WORD_BYTES, count);
}

static struct gr_shown element(const struct gr_show *s,
			       const struct gr_shown *first, uint64_t i)
{
	struct gr_shown ret = *first;

	ret.addr += i * gr_types_get(s->types, first->type)->size_bytes;
	return ret;
}

/* Find the zone that a location's changes give for a moment. */
static bool find_zone(struct gr_show *s, const struct gr_shown *location,
		      int64_t unix_seconds, struct gr_shown *ret)
{
	uint64_t nchanges, nzones, when = 0, index, low = 0, extend;
	struct gr_shown changes, zones, change;
	struct part at;

	if (!read_slice(s, location, "tx", &changes, &nchanges) ||
	    !read_slice(s, location, "zone", &zones, &nzones) || !nchanges ||
	    !find_part(s->types, changes.type, "index", &at))
		return false;
	uint64_t high = nchanges;
	for (int i = 0; i < SEARCH_STEPS && high - low > 1; i++) {
		uint64_t middle = low + (high - low) / 2;

		change = element(s, &changes, middle);
		if (!read_named(s, &change, "when", &when))
			return false;
		if ((int64_t)when <= unix_seconds)
			low = middle;
		else
			high = middle;
	}
	// After the last change, a rule may apply, which is a text.
	struct part rule;
	if (low + 1 == nchanges && nchanges > 1 &&
	    find_part(s->types, location->type, "extend", &rule) &&
	    (!read_word(s, location, rule.off + GR_WORD_BYTES, &extend) ||
	     extend))
		return false;
	change = element(s, &changes, low);
	if (!read_word(s, &change, at.off, &index))
		return false;
	*ret = element(s, &zones, index & 0xff);
	return (index & 0xff) < nzones;
}

/* Seconds east of UTC at a moment; 0 also if the location is not there. */
static int64_t find_offset(struct gr_show *s, const struct gr_shown *value,
			   int64_t unix_seconds)
{
	uint64_t start = 0, end = 0, zone = 0, offset;
	struct gr_shown location, at;
	struct part loc;

	if (!find_part(s->types, value->type, "loc", &loc) ||
	    !read_word(s, value, loc.off, &zone) || !zone)
		return 0;
	location = (struct gr_shown){
		.type = gr_types_get(s->types, loc.type)->elem, .addr = zone
	};
	struct part cache;
	zone = 0;
	if (find_part(s->types, location.type, "cacheZone", &cache) &&
	    read_named(s, &location, "cacheStart", &start) &&
	    read_named(s, &location, "cacheEnd", &end) &&
	    read_word(s, &location, cache.off, &zone) && zone &&
	    (int64_t)start <= unix_seconds && unix_seconds < (int64_t)end)
		at = (struct gr_shown){
			.type = gr_types_get(s->types, cache.type)->elem,
			.addr = zone
		};
	else if (!find_zone(s, &location, unix_seconds, &at))
		return 0;
	return read_named(s, &at, "offset", &offset) &&
			       (int64_t)offset < DAY_SECONDS &&
			       (int64_t)offset > -DAY_SECONDS ?
		       (int64_t)offset :
		       0;
}

/* Append the civil date and time of day (algorithm: Howard Hinnant). */
static void put_date(struct gr_text *text, int64_t seconds, int64_t offset)
{
	seconds += offset;
	int64_t days = seconds / DAY_SECONDS - (seconds % DAY_SECONDS < 0);
	int64_t rest = seconds - days * DAY_SECONDS;
	int64_t z = days + 306; // from March 1 of year 0
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	int64_t month = mp < 10 ? mp + 3 : mp - 9;
	int64_t year = yoe + era * 400 + (month <= 2);

	gr_text_put(text,
		    "%s%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64
		    ":%02" PRId64 ":%02" PRId64,
		    year < 0 ? "-" : "", year < 0 ? -year : year, month,
		    doy - (153 * mp + 2) / 5 + 1, rest / 3600, rest / 60 % 60,
		    rest % 60);
	if (!offset)
		gr_text_put(text, "Z");
	else
		gr_text_put(text, "%c%02d:%02d", offset < 0 ? '-' : '+',
			    abs((int)offset) / 3600,
			    abs((int)offset) / 60 % 60);
}

struct gr_error *gr_show_put_time(struct gr_show *s,
				  const struct gr_show_at *at, bool *ret)
{
	uint64_t wall, ext;

	*ret = read_named(s, &at->value, "wall", &wall) &&
	       read_named(s, &at->value, "ext", &ext);
	if (!*ret)
		return NULL;
	bool is_monotonic = wall & HAS_MONOTONIC;
	int64_t seconds = is_monotonic ?
				  SECONDS_TO_1885 + (int64_t)(wall << 1 >>
							      (NSEC_BITS + 1)) :
				  (int64_t)ext;
	if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX) {
		*ret = false;
		return NULL;
	}
	gr_text_put(s->text, "time.Time(");
	put_date(s->text, seconds,
		 find_offset(s, &at->value, seconds - SECONDS_TO_1970));
	if (is_monotonic)
		gr_text_put(s->text, ", %+" PRId64, (int64_t)ext);
	gr_text_put(s->text, ")");
	return gr_runtime_step(s->rt, SEARCH_STEPS);
}
