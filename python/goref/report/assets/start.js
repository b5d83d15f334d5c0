// SPDX-License-Identifier: Apache-2.0
// The parts of the page begin, and take what the address says.
"use strict";

goref.chart.start();
goref.drill.start();
goref.panel.start();
goref.search.start();
goref.state.start();
