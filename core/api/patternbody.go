package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// patternRequest creates or updates a pattern.
type patternRequest struct {
	Name        string `json:"name" check:"max=256" doc:"Default: the name in the definition, which it must equal."`
	Version     string `json:"version" check:"max=256" doc:"Default: the version in the definition."`
	Description string `json:"description" check:"max=4096" doc:"Default: the description in the definition."`
	Definition  string `json:"definition" check:"required,min=1" doc:"The definition as YAML text."`
}

type validateRequest struct {
	Definition string `json:"definition" check:"required,min=1" doc:"The definition as YAML text."`
}

type validation struct {
	Valid    bool           `json:"valid"`
	Problems []core.Problem `json:"problems" doc:"Empty when the definition is valid."`
}

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

type patternDeleted struct {
	Deleted         bool `json:"deleted"`
	VersionsRemoved int  `json:"versionsRemoved"`
}

type patternVersions struct {
	Versions []patternVersion `json:"versions"`
	Total    int              `json:"total"`
	Limit    int              `json:"limit"`
	Offset   int              `json:"offset"`
	HasMore  bool             `json:"hasMore"`
}

type patternVersion struct {
	Version   string    `json:"version"`
	CreatedAt timestamp `json:"createdAt"`
}

// patternBody is a pattern as it is read. It shares the memory of the service's value.
type patternBody core.Pattern

// patternSchema is what patternBody encodes to.
type patternSchema struct {
	Name        string          `json:"name" example:"classify"`
	Version     string          `json:"version" example:"1.0.0"`
	Description string          `json:"description"`
	Definition  json.RawMessage `json:"definition" doc:"The definition as an object."`
	CreatedAt   timestamp       `json:"createdAt"`
	UpdatedAt   timestamp       `json:"updatedAt"`
	CreatedBy   string          `json:"createdBy"`
	ReadOnly    bool            `json:"readOnly,omitempty" doc:"The pattern came with the product."`
}

func (patternBody) JSONSchema() any { return patternSchema{} }

func (p *patternBody) appendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = rawjson.AppendString(b, p.Name)
	b = append(b, `,"version":`...)
	b = rawjson.AppendString(b, p.Version)
	b = append(b, `,"description":`...)
	b = rawjson.AppendString(b, p.Description)
	b = append(b, `,"definition":`...)
	b = append(b, rawOr(p.Definition, "{}")...)
	b = append(b, `,"createdAt":`...)
	b = timestamp(p.CreatedAt).append(b)
	b = append(b, `,"updatedAt":`...)
	b = timestamp(p.UpdatedAt).append(b)
	b = append(b, `,"createdBy":`...)
	b = rawjson.AppendString(b, p.CreatedBy)
	if p.ReadOnly {
		b = append(b, `,"readOnly":true`...)
	}
	return append(b, '}')
}

type patternList struct {
	Patterns []patternRow `json:"patterns"`
	wire.PageInfo
}

type patternRow struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Description string    `json:"description"`
	CreatedAt   timestamp `json:"createdAt"`
	UpdatedAt   timestamp `json:"updatedAt"`
	ReadOnly    bool      `json:"readOnly,omitempty"`
}

func newPatternList(found []*core.Pattern, p wire.PageInfo) patternList {
	list := patternList{
		Patterns: make([]patternRow, len(found)),
		PageInfo: p,
	}
	for i, f := range found {
		list.Patterns[i] = patternRow{
			Name: f.Name, Version: f.Version, Description: f.Description,
			CreatedAt: timestamp(f.CreatedAt), UpdatedAt: timestamp(f.UpdatedAt), ReadOnly: f.ReadOnly,
		}
	}
	return list
}
