package local

import "strings"

// Names of the marks by which processes of an agent are known, even when nothing else is left of it.
const (
	markID    = "WARDROOM_AGENT_ID"
	markNonce = "WARDROOM_AGENT_NONCE"
)

// marked returns the environment with the marks of a life, and none that somebody else put there.
func marked(env []string, h handle) []string {
	out := make([]string, 0, len(env)+2)
	for _, pair := range env {
		if !strings.HasPrefix(pair, "WARDROOM_AGENT_") {
			out = append(out, pair)
		}
	}
	return append(out, markID+"="+h.ID, markNonce+"="+h.Nonce.String())
}
