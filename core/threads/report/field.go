package report

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// maxTests bounds the counts of a test report.
const maxTests = 100_000_000

// readTests reads the tests that an agent says it ran; nil when it says nothing of use.
func readTests(v any) *core.TestReport {
	fields, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	t := &core.TestReport{Run: count(fields["run"]), Passed: count(fields["passed"]), Failed: count(fields["failed"])}
	t.Run = cmp.Or(t.Run, min(t.Passed+t.Failed, maxTests))
	if s, ok := fields["command"].(string); ok {
		t.Command = cut(clean(s), MaxCommand)
	}
	if *t == (core.TestReport{}) {
		return nil
	}
	return t
}

// count reads a number that counts something; 0 for everything else.
func count(v any) int {
	var f float64
	switch n := v.(type) {
	case float64:
		f = n
	case string:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
		if err != nil {
			return 0
		}
		f = parsed
	}
	if math.IsNaN(f) || f < 0 {
		return 0
	}
	return int(min(f, maxTests))
}

var (
	commitHash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	webAddress = regexp.MustCompile(`^https?://\S+$`)
)

// readArtifacts reads a list of {type, value}, or of values whose type can be seen. Others are left out.
func readArtifacts(v any) []core.Artifact {
	list, _ := v.([]any)
	var out []core.Artifact
	seen := map[core.Artifact]bool{}
	for _, item := range list {
		a, ok := readArtifact(item)
		if !ok || seen[a] {
			continue
		}
		if len(out) == MaxArtifacts {
			break
		}
		seen[a] = true
		out = append(out, a)
	}
	return out
}

func readArtifact(item any) (core.Artifact, bool) {
	var a core.Artifact
	switch item := item.(type) {
	case string:
		a.Value = clean(item)
		switch {
		case webAddress.MatchString(a.Value):
			a.Type = core.ArtifactURL
		case commitHash.MatchString(a.Value):
			a.Type = core.ArtifactCommit
		case !strings.ContainsAny(a.Value, " \n"):
			a.Type = core.ArtifactFile
		default:
			a.Type = core.ArtifactReport
		}
	case map[string]any:
		kind, _ := item["type"].(string)
		value, _ := item["value"].(string)
		a = core.Artifact{Type: core.ArtifactType(strings.ToLower(strings.TrimSpace(kind))), Value: clean(value)}
		switch a.Type {
		case core.ArtifactCommit, core.ArtifactFile, core.ArtifactURL, core.ArtifactReport:
		default:
			return a, false
		}
	}
	a.Value = cut(a.Value, MaxArtifact)
	return a, a.Value != ""
}

// readDecisions reads a list of texts, or one text.
func readDecisions(v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	seen := map[string]bool{}
	for _, item := range list {
		s, _ := item.(string)
		if fields, ok := item.(map[string]any); ok {
			s, _ = fields["summary"].(string)
		}
		s = cut(clean(s), MaxDecision)
		if s == "" || seen[s] {
			continue
		}
		if len(out) == MaxDecisions {
			break
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}
