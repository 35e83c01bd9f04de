package pattern

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// maxPlaceText bounds repo, branch and filter of a workspace, in bytes, as written and as evaluated.
const maxPlaceText = 2048

// cloneFilter is what git knows of filters that a workspace may use.
var cloneFilter = regexp.MustCompile(`^(blob:none|tree:0|blob:limit=[0-9]{1,12}[kmg]?)$`)

// workplace is the workspace of a role. Its texts are nil where the definition has none.
type workplace struct {
	role                 string
	repo, branch, filter expression
	depth                int
	submodules           bool
}

// workplaceDraft is a workplace whose expressions are not compiled yet: the input is declared further down.
type workplaceDraft struct {
	in    section
	place *workplace
}

// readWorkplace reads the workspace of a role.
func (c *chartReader) readWorkplace(s section, role *core.Role) {
	n := s.get("workspace")
	if n == nil {
		return
	}
	if !role.Managed && s.get("agentType") == nil {
		s.wrong("workspace", "is for agents that are spawned: the role needs agentType, which says what agents to spawn")
	}
	in, ok := c.section(s.at("workspace"), n, shapeOf[workplaceText]())
	if !ok {
		return
	}
	if in.get("repo") == nil {
		in.add(in.path, n.line, "lacks repo, the git URL of the repository, or its configured name")
	}
	c.places = append(c.places, workplaceDraft{in, &workplace{
		role: role.Key, depth: in.integer("depth", 0), submodules: in.boolean("submodules", false),
	}})
}

// compileWorkplaces compiles the expressions of all workspaces. It comes after the input is read.
func (c *chartReader) compileWorkplaces() {
	x := chartCompiler{c.problems, &chartVocabulary{input: c.plan.declared(), early: true}}
	for _, d := range c.places {
		d.place.repo, d.place.branch, d.place.filter = x.place(d.in, "repo"), x.place(d.in, "branch"), x.place(d.in, "filter")
		c.plan.chart.places[d.place.role] = d.place
	}
}

// place compiles one text of a workspace, nil if there is none or it is bad.
func (c *chartCompiler) place(in section, key string) expression {
	n := in.get(key)
	if n == nil {
		return nil
	}
	text := in.text(key)
	if n.kind != textNode {
		return nil
	}
	if !strings.Contains(text, "$") && !strings.HasPrefix(text, "input.") && !strings.HasPrefix(text, "context.") {
		if reason := badPlaceText(key, text); reason != "" {
			in.wrong(key, "%s", reason)
			return nil
		}
		return literal(rawjson.AppendString(nil, text))
	}
	if rest, ok := strings.CutPrefix(text, "$"); ok && rest != "" && nameByte(rest[0]) {
		bare := *n
		bare.text = rest
		if ref := c.variable(in.at(key), "workspace."+key, &bare); ref != nil {
			return ref
		}
		return nil
	}
	return c.text(in.at(key), "workspace."+key, n, false)
}

// badPlaceText says what is wrong with a text of a workspace, variables resolved, or "".
func badPlaceText(key, text string) string {
	switch {
	case text == "" && key == "repo":
		return "must not be empty: it is the git URL of the repository, or its configured name"
	case len(text) > maxPlaceText || strings.ContainsFunc(text, isControl):
		return fmt.Sprintf("must be at most %d bytes of text without control characters", maxPlaceText)
	case key == "filter" && text != "" && !cloneFilter.MatchString(text):
		return "must be blob:none, tree:0 or blob:limit=SIZE, not " + fmt.Sprintf("%q", clip(text, 64))
	}
	return ""
}

// Workspace implements core.ChartPlan.
func (p *chartPlan) Workspace(role string, scope core.ChartScope) (*core.WorkspaceSpec, error) {
	w := p.places[role]
	if w == nil {
		return nil, nil
	}
	e := evaluation{chart: &scope}
	spec := &core.WorkspaceSpec{
		Repo: e.placeText("repo", w.repo), Branch: e.placeText("branch", w.branch), Filter: e.placeText("filter", w.filter),
		Depth: w.depth, Submodules: w.submodules,
	}
	if err := e.failureAt("structure", "role "+role+", "); err != nil {
		return nil, err
	}
	return spec, nil
}

// placeText evaluates a text of a workspace, "" for nil. What is no fit text becomes a problem.
func (e *evaluation) placeText(key string, x expression) string {
	if x == nil {
		return ""
	}
	before := len(e.problems)
	value := x.append(make([]byte, 0, 128), e)
	if len(e.problems) > before {
		return ""
	}
	at := "workspace." + key
	if kind := rawjson.KindOf(value); kind != rawjson.String {
		e.problems = append(e.problems, core.Problem{Path: at, Reason: "must be text, not " + kind.String()})
		return ""
	}
	text := string(rawjson.Unquote(value))
	if reason := badPlaceText(key, text); reason != "" {
		e.problems = append(e.problems, core.Problem{Path: at, Reason: reason})
	}
	return text
}
