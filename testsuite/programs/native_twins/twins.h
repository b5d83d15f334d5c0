/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

enum { TWINS = 20, ONE_BYTES = 1000, OTHER_BYTES = 3000 };

void fill_twins(void);
