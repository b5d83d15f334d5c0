/* SPDX-License-Identifier: Apache-2.0 */
/** network: the descriptor that a goroutine waits for, and both its ends. */
#ifndef GR_NETWORK_H
#define GR_NETWORK_H

#include "goruntime/sched/goroutine.h"

struct gr_stop;

/** A wait for the poller. Strings belong to the scan and are never NULL. */
struct gr_network {
	bool is_known;
	uint64_t descriptor;
	const char *action;  /**< "read", "write", "accept" or "connect" */
	const char *network; /**< "tcp", "udp", "unix"; "": no socket. */
	const char *local, *remote; /**< `127.0.0.1:80`, a path; or "". */
	/** There are addresses, which a file without values does not have. */
	bool has_unsaved;
	/** Moment of the program's clock at which the wait ends; 0: none. */
	uint64_t deadline;
};

/** Find what @p g waits for in the poller. */
struct gr_error *gr_network_find(struct gr_stop *stop,
				 const struct gr_goroutine *g,
				 struct gr_network *ret) GR_MUST_CHECK;

#endif /* GR_NETWORK_H */
