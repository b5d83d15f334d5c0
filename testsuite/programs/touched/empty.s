// SPDX-License-Identifier: Apache-2.0

// With this file, Go takes functions without a body. It is C's: the stacks of
// threads are not executable.
.section .note.GNU-stack, "", @progbits
