// SPDX-License-Identifier: Apache-2.0
// The parts of the page begin, and take what the address says.
"use strict";

["chart", "drill", "panel", "search", "state"].forEach((part) => {
  goref[part]?.start();
});
