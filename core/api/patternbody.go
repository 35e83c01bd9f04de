package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

type patternCreated struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Created bool   `json:"created"`
}

type patternAdded struct {
	Name            string `json:"name"`
	Version         string `json:"version"`
	Created         bool   `json:"created"`
	PreviousVersion string `json:"previousVersion" doc:"The latest version before."`
}

type patternReplaced struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Created bool   `json:"created"`
	Updated bool   `json:"updated"`
}

type patternVersions struct {
	Versions []wire.PatternVersion `json:"versions"`
	Total    int                   `json:"total"`
	Limit    int                   `json:"limit"`
	Offset   int                   `json:"offset"`
	HasMore  bool                  `json:"hasMore"`
}

// newPattern returns a pattern as it is read.
func newPattern(p *core.Pattern) *wire.Pattern {
	return &wire.Pattern{
		Name: p.Name, Version: p.Version, Description: p.Description, Definition: rawOr(p.Definition, "{}"), Source: p.Source,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, CreatedBy: p.CreatedBy, ReadOnly: p.ReadOnly,
	}
}

type patternList struct {
	Patterns []wire.PatternRow `json:"patterns"`
	wire.PageInfo
}

func newPatternList(found []*core.Pattern, p wire.PageInfo) patternList {
	list := patternList{
		Patterns: make([]wire.PatternRow, len(found)),
		PageInfo: p,
	}
	for i, f := range found {
		list.Patterns[i] = wire.PatternRow{
			Name: f.Name, Version: f.Version, Description: f.Description,
			CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, ReadOnly: f.ReadOnly,
		}
	}
	return list
}
