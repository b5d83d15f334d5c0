/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDS_H
#define HANDS_H

/** Start threads that wait for begin(). */
int prepare(int threads);
void begin(void);

#endif
