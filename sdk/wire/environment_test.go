package wire_test

import (
	"regexp"
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

// The pattern of schemas and the rule of servers refuse the same names.
func TestReservedEnvPattern(t *testing.T) {
	pattern := regexp.MustCompile(wire.ReservedEnvPattern)
	for name, want := range map[string]bool{
		"LD_PRELOAD": true, "LD_": true, "WARDROOM_X": true, "HOME": true, "TMPDIR": true,
		"LD": false, "OLD_PATH": false, "WARDROOM": false, "HOMEPAGE": false, "TMPDIR_2": false, "XHOME": false, "home": false,
	} {
		if got := wire.ReservedEnv(name) != ""; got != want || pattern.MatchString(name) != want {
			t.Errorf("%s: reserved %t, matches %t, want %t", name, got, pattern.MatchString(name), want)
		}
	}
}
