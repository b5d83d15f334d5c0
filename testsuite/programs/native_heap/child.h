/* SPDX-License-Identifier: Apache-2.0 */
/**
 * child: a child that does nothing, and ends with its parent's thread.
 */
#pragma once

/** @return the child's process ID */
int fork_child(void);
