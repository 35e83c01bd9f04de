package config

import (
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// logParts reports parts that the server does not have, and levels that there are not.
func (r *ruling) logParts(l *Log) {
	const section, name = "log", "parts"
	for _, part := range sortedKeys(l.Parts) {
		plugin, ofPlugin := strings.CutPrefix(part, core.LogPartPlugins)
		switch {
		case !slices.Contains(core.LogParts, part) && (!ofPlugin || plugin == ""):
			r.refuse(section, name, "name %q, which is no part of the server; they are %s, and plugins.NAME", part, strings.Join(core.LogParts, ", "))
		case !slices.Contains(core.LogLevels, l.Parts[part]):
			r.refuse(section, name, "give %s the level %q; it must be one of %s", part, l.Parts[part], strings.Join(core.LogLevels, ", "))
		}
	}
}
