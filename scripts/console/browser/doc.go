// Package browser tests the console as its users have it: Chromium, the real binary, real agents. It owns nothing that is
// shipped; `make test` runs it. Where there is no Chromium its tests are skipped, and fail under WARDROOM_REQUIRE_REAL=1.
package browser
