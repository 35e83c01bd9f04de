package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of patterns, see package wire.
type (
	PatternRef     = wire.PatternRef
	PatternSummary = wire.PatternRow
	PatternInput   = wire.PatternInput
	PatternVersion = wire.PatternVersion
	PatternUse     = wire.PatternUse
)

// PatternList is one page of patterns.
type PatternList struct {
	Meta
	PageInfo
	Patterns []PatternSummary `json:"patterns"`
}

func (l *PatternList) page() ([]PatternSummary, PageInfo) { return l.Patterns, l.PageInfo }

// Pattern is one version of a pattern.
type Pattern struct {
	Meta
	wire.Pattern
}

// PatternChange says what CreatePattern or UpdatePattern did.
type PatternChange struct {
	Meta
	Name            string `json:"name"`
	Version         string `json:"version"`
	Created         bool   `json:"created"` // a new version was made
	Updated         bool   `json:"updated"` // the same version was replaced
	PreviousVersion string `json:"previousVersion,omitempty"`
}

// PatternDeletion says what DeletePattern did.
type PatternDeletion struct {
	Meta
	wire.PatternDeletion
}

// PatternVersionList lists the versions of a name, latest first.
type PatternVersionList struct {
	Meta
	Versions []PatternVersion `json:"versions"`
	PageInfo
}

// PatternCheck is what ValidatePattern found.
type PatternCheck struct {
	Meta
	wire.PatternCheck
}

// PatternFilter selects patterns of a list.
type PatternFilter struct {
	Search    string // substring of name or description
	CreatedBy string // of the latest version
	Use       bool   // count what became of the executions of the last 24 hours
	Page
}

func patternPath(name string) string { return "/api/patterns/" + segment(name) }

// ListPatterns returns one page of the latest version of each pattern, newest first.
func (c *Client) ListPatterns(ctx context.Context, filter PatternFilter) (*PatternList, error) {
	query := queryOf("search", filter.Search, "createdBy", filter.CreatedBy, "use", flag(filter.Use))
	filter.addTo(query)
	return ask[PatternList](ctx, c, request{method: http.MethodGet, path: "/api/patterns", query: query})
}

// Patterns walks all pages of a list.
func (c *Client) Patterns(ctx context.Context, filter PatternFilter) iter.Seq2[PatternSummary, error] {
	return walkList(ctx, filter, c.ListPatterns)
}

// GetPattern returns a version of a pattern; version may be empty (latest), exact or a range such as 1.x.
func (c *Client) GetPattern(ctx context.Context, name, version string) (*Pattern, error) {
	return ask[Pattern](ctx, c, request{method: http.MethodGet, path: patternPath(name), query: versionQuery(version)})
}

// CreatePattern stores a new pattern or a new version. CONFLICT when that version exists.
func (c *Client) CreatePattern(ctx context.Context, in PatternInput) (*PatternChange, error) {
	return ask[PatternChange](ctx, c, request{method: http.MethodPost, path: "/api/patterns", body: in})
}

// UpdatePattern replaces a version or adds one. NOT_FOUND when the name is unknown.
func (c *Client) UpdatePattern(ctx context.Context, name string, in PatternInput) (*PatternChange, error) {
	in.Name = "" // the path names it
	return ask[PatternChange](ctx, c, request{method: http.MethodPut, path: patternPath(name), body: in})
}

// ReplacePattern is UpdatePattern of a version that is still what was read with this ETag, see Meta; else it fails with CONFLICT
// and changes nothing.
func (c *Client) ReplacePattern(ctx context.Context, name, etag string, in PatternInput) (*PatternChange, error) {
	in.Name = "" // the path names it
	return ask[PatternChange](ctx, c, request{method: http.MethodPut, path: patternPath(name), body: in, header: http.Header{"If-Match": {etag}}})
}

// DeletePattern removes one version, or all versions when version is empty. VersionsRemoved is 0 where a repeat found none, since the
// answer to the try that removed them was lost.
func (c *Client) DeletePattern(ctx context.Context, name, version string) (*PatternDeletion, error) {
	out, err := ask[PatternDeletion](ctx, c, request{
		method: http.MethodDelete, path: patternPath(name), query: versionQuery(version), removes: true,
	})
	if err == nil {
		out.Deleted = true
	}
	return out, err
}

// PatternVersions lists all versions of a pattern, latest first, over as many requests as that takes.
func (c *Client) PatternVersions(ctx context.Context, name string) (*PatternVersionList, error) {
	var all *PatternVersionList
	for {
		page := new(PatternVersionList)
		query := url.Values{}
		if all != nil {
			Page{Limit: maxPageLimit, Offset: len(all.Versions)}.addTo(query)
		}
		err := c.do(ctx, request{method: http.MethodGet, path: patternPath(name) + "/versions", query: query}, page)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = page
		} else {
			all.Versions = append(all.Versions, page.Versions...)
		}
		if page.HasMore && len(page.Versions) > 0 {
			continue
		}
		if len(all.Versions) > len(page.Versions) { // of several pages
			all.HasMore = false
			body, err := json.Marshal(map[string]any{
				"versions": all.Versions, "total": all.Total, "limit": len(all.Versions), "offset": 0, "hasMore": false,
			})
			if err != nil {
				return nil, err
			}
			all.Body = body
		}
		return all, nil
	}
}

// ValidatePattern checks a definition and stores nothing. A definition with problems is an answer, not an
// error.
func (c *Client) ValidatePattern(ctx context.Context, definition string) (*PatternCheck, error) {
	body := wire.ValidateRequest{Definition: definition}
	return ask[PatternCheck](ctx, c, request{method: http.MethodPost, path: "/api/patterns/validate", body: body, harmless: true})
}

// PatternDrawing is what there is to draw of a pattern.
type PatternDrawing struct {
	Meta
	wire.PatternDrawing
}

// GetPatternDrawing draws the roles and the steps of a version of a pattern; an empty version is the latest. VALIDATION_ERROR for a
// pattern of more steps than are drawn.
func (c *Client) GetPatternDrawing(ctx context.Context, name, version string) (*PatternDrawing, error) {
	return ask[PatternDrawing](ctx, c, request{method: http.MethodGet, path: patternPath(name) + "/drawing", query: versionQuery(version)})
}

// DrawPattern draws a definition and stores nothing. One with problems is an error with all of them.
func (c *Client) DrawPattern(ctx context.Context, definition string) (*PatternDrawing, error) {
	body := wire.ValidateRequest{Definition: definition}
	return ask[PatternDrawing](ctx, c, request{method: http.MethodPost, path: "/api/patterns/drawing", body: body, harmless: true})
}

func versionQuery(version string) url.Values {
	if version == "" {
		return nil
	}
	return url.Values{"version": {version}}
}

// PatternSchema returns the JSON Schema of definitions, for editors.
func (c *Client) PatternSchema(ctx context.Context) (json.RawMessage, error) {
	out := new(document)
	if err := c.do(ctx, request{method: http.MethodGet, path: "/api/schemas/pattern"}, out); err != nil {
		return nil, err
	}
	return out.Body, nil
}
