/* SPDX-License-Identifier: Apache-2.0 */
/** The object graph as goref-scan prints it. */
#ifndef GOREF_SCAN_GRAPH_H
#define GOREF_SCAN_GRAPH_H

#include <stdio.h>

#include "scan/scan.h"

/** Print totals, times, the groups of roots, and their ranks as JSON. */
struct gr_error *put_graph(struct gr_scan *scan) GR_MUST_CHECK;

/**
 * Print a line for each edge: source and target. An object is its address; a
 * root, a group and the top are numbers: roots from 0 on, then goroutines, the
 * groups in the order of put_graph(), the top.
 */
struct gr_error *put_edges(struct gr_answers *answers) GR_MUST_CHECK;

/** Print a line for each vertex: its own bytes, and those that it retains. */
struct gr_error *put_retained(struct gr_answers *answers) GR_MUST_CHECK;

/**
 * Print a line for each object: the first path to it by gr_graph_root_paths().
 * It begins with the rank of the root, the length, and the root as put_edges()
 * has it; then it has the word that leads to each object, and the object, as in
 * `0xc000012008>0xc000044000`; `0x0>` if the pointer lies in no memory. Without
 * its middle, which is `...`, if it is long.
 */
struct gr_error *put_paths(struct gr_answers *answers) GR_MUST_CHECK;

/**
 * Read sets of vertices, a line each, as put_edges() prints them. Print the
 * objects and the bytes that each set keeps alive.
 */
struct gr_error *put_sets(struct gr_answers *answers, FILE *in) GR_MUST_CHECK;

#endif /* GOREF_SCAN_GRAPH_H */
