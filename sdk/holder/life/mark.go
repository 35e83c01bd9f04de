package life

import (
	"strings"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// Names of the marks by which processes of an agent are known, even when nothing else is left of it.
const (
	MarkID    = "WARDROOM_AGENT_ID"
	MarkNonce = "WARDROOM_AGENT_NONCE"
)

// markPrefix is the prefix of the names of all marks.
const markPrefix = "WARDROOM_AGENT_"

// Marked returns a copy of an environment with the marks of a life, and none that somebody else put there.
func Marked(env []string, id string, nonce wire.Nonce) []string {
	out := make([]string, 0, len(env)+2)
	for _, pair := range env {
		if !strings.HasPrefix(pair, markPrefix) {
			out = append(out, pair)
		}
	}
	return append(out, MarkID+"="+id, MarkNonce+"="+nonce.String())
}
