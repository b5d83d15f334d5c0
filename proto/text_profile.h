/* SPDX-License-Identifier: Apache-2.0 */
/**
 * text_profile: profiles as text, for other tools than pprof. The same result
 * gives the same bytes, and all formats have the same paths.
 *
 * folded: a line for each path with bytes: names from the root on, joined by
 * `;', and the bytes. Lines are sorted byte by byte. For flamegraph.pl and
 * speedscope.
 *
 * jsonl: a line for each node: `id', `parent' (null: a root), `name', `depth',
 * `objects' and `bytes' of the node itself, `total_objects' and `total_bytes'
 * with all below it, or `words' and `total_words'; of a root also `kind' and,
 * if it has them, `goroutine_state', `goroutine_id', `file' and `line'. Parents
 * come first.
 *
 * dot: a graph of the largest nodes, few enough to read, for Graphviz. A dashed
 * node says what is left out below a node. What has less than 0.1 % of all
 * bytes has no node; the label of the graph says how much that is.
 */
#ifndef GR_TEXT_PROFILE_H
#define GR_TEXT_PROFILE_H

#include "proto/profile_writer.h"

/** gr_profile_write() of the formats of text. */
struct gr_error *
gr_text_profile_write(const struct gr_profile *profile, const char *path,
		      struct gr_profile_stats *ret) GR_MUST_CHECK;

#endif /* GR_TEXT_PROFILE_H */
