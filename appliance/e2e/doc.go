// Package e2e drives the product from outside: the built binary, real agents, real sockets, kills, full disks.
//
// It owns no code of the product, only tests of the promises that no single package can keep alone. Every
// answer over HTTP is held against the served OpenAPI document. The binary and its plugins are built once for
// all tests; WARDROOM_BIN names a binary that is built already, with its plugins beside it. What needs root, a mount
// or one of the coding command lines (WARDROOM_CLIS) is skipped where there is none, and fails instead when
// WARDROOM_REQUIRE_REAL=1.
package e2e
