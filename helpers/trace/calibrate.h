/* SPDX-License-Identifier: Apache-2.0 */
/**
 * calibrate: what an event costs the process beside the time that its program
 * measures itself: the entry to the program and back, and what the program
 * displaces from the caches of the processor.
 */
#ifndef GR_TRACE_CALIBRATE_H
#define GR_TRACE_CALIBRATE_H

#include <stdint.h>
#include <sys/types.h>

struct gr_calibration;

/** Start a child that causes page faults when it is told to; NULL if that cannot
 * be. The caller lets its events be seen as those of the process. */
struct gr_calibration *gr_calibration_new(void);
void gr_calibration_destroy(struct gr_calibration *calibration);

/** The number of the child. */
pid_t gr_calibration_pid(const struct gr_calibration *calibration);

/** Let the child cause @p faults page faults, each with another stack. Return
 * the processor time that it took for them, in ns; 0 if that failed. */
uint64_t gr_calibration_run(struct gr_calibration *calibration,
			    uint32_t faults);

/** Returns its argument. A probe at its entry costs what it costs at an
 * instruction that the kernel emulates. */
uint64_t gr_calibration_called(uint64_t value);

/** Let the child call gr_calibration_called() as often as that, with an
 * argument other than 0, from another depth each time. Return the processor time
 * that it took, in ns; 0 if that failed. */
uint64_t gr_calibration_calls(struct gr_calibration *calibration,
			      uint32_t calls);

#endif /* GR_TRACE_CALIBRATE_H */
