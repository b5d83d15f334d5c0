// SPDX-License-Identifier: Apache-2.0

// With this file, Go takes functions without a body.
