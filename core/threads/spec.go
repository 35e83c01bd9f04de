package threads

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/rules"
	"github.com/wardroom/wardroom/sdk/wire"
)

// approvals are the presets; "" is the second.
var approvals = wire.ApprovalPresets()

const defaultApproval = wire.ApprovalStandard

// checker collects what is wrong with a spec.
type checker struct {
	problems []core.Problem
}

func (k *checker) bad(path, reason string) {
	k.problems = append(k.problems, core.Problem{Path: path, Reason: reason})
}

// take adds the problems of another check. An error of another kind is returned.
func (k *checker) take(path string, err error) error {
	if err == nil {
		return nil
	}
	e := core.AsError(err)
	if e.Code != core.CodeValidation {
		return err
	}
	if many, ok := e.Details["errors"].([]core.Problem); ok && len(many) > 0 {
		k.problems = append(k.problems, many...)
		return nil
	}
	if field, ok := e.Details["field"].(string); ok {
		path = field
	}
	reason, _ := e.Details["reason"].(string)
	reason = cmp.Or(reason, e.Message)
	k.bad(path, reason)
	return nil
}

// check finds everything that is wrong with a spec, and returns it with its defaults. Values of the environment stay
// out of every error.
func (s *Service) check(spec core.ThreadSpec, spawn bool) (core.ThreadSpec, error) {
	k := &checker{}
	if spec.ExecutionID == "" {
		k.bad("executionId", `is missing: give the id of an execution, or "new" for one that lives as long as its threads`)
	}
	if spawn && spec.AgentType == "" {
		k.bad("agentType", "is missing: claude, codex, gemini, or one of agentTypes in the configuration")
	}
	k.text("name", spec.Name, maxName)
	k.text("agentType", spec.AgentType, maxName)
	k.text("role", spec.Role, maxRole)
	if len(spec.Objective) > maxObjective {
		k.bad("objective", "must be at most "+strconv.Itoa(maxObjective>>10)+" KiB")
	}
	if !utf8.ValidString(spec.Objective) {
		k.bad("objective", "must be valid UTF-8")
	}
	k.problems = append(k.problems, core.CheckEnv("preparation.env", spec.Preparation.Env)...)
	spec.Preparation.Approval = cmp.Or(spec.Preparation.Approval, defaultApproval)
	if !slices.Contains(approvals, spec.Preparation.Approval) {
		k.bad("preparation.approvalPreset", "must be one of "+strings.Join(approvals, ", "))
	}
	if size, err := json.Marshal(spec.Metadata); err != nil || len(size) > maxMetadata {
		k.bad("metadata", "must be at most "+strconv.Itoa(maxMetadata>>10)+" KiB of JSON")
	}
	if err := s.checkFiles(k, &spec); err != nil {
		return spec, err
	}
	if err := s.checkPolicy(k, &spec); err != nil {
		return spec, err
	}
	if err := core.InvalidAll("invalid thread", k.problems); err != nil {
		return spec, err
	}
	s.fill(&spec)
	return spec, nil
}

func (k *checker) text(field, text string, most int) {
	switch {
	case len(text) > most:
		k.bad(field, "must be at most "+strconv.Itoa(most)+" bytes")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		k.bad(field, "must be text without control characters")
	}
}

// checkFiles checks the context files. Of a workspace that prepare reserved they may hold the memory file, as prepare
// answered it: it is written anew.
func (s *Service) checkFiles(k *checker, spec *core.ThreadSpec) error {
	files := spec.Preparation.ContextFiles
	ours := func(f core.ContextFile) bool { return f.Path == core.ThreadMemoryPath }
	if i := slices.IndexFunc(files, ours); i >= 0 {
		if ws := spec.Preparation.Workspace; ws == nil || ws.WorkspaceID == "" {
			k.bad("preparation.contextFiles["+strconv.Itoa(i)+"].path",
				core.ThreadMemoryPath+" is written by the service; choose another path")
		}
		files = slices.DeleteFunc(slices.Clone(files), ours)
		spec.Preparation.ContextFiles = files
	}
	return k.take("preparation.contextFiles", s.opts.Workspaces.CheckContext(files))
}

func (s *Service) checkPolicy(k *checker, spec *core.ThreadSpec) error {
	p := &spec.Policy
	for field, ms := range map[string]int64{"policy.idleTimeoutMs": p.IdleTimeoutMs, "policy.timeoutMs": p.TimeoutMs} {
		if ms < 0 || ms > maxPolicyTime.Milliseconds() {
			k.bad(field, "must be from 0 (the default) to "+strconv.FormatInt(maxPolicyTime.Milliseconds(), 10)+" ms")
		}
	}
	for field, n := range map[string]int{"policy.summarizeAfterTurns": p.SummarizeAfterTurns, "policy.completeAfterTurns": p.CompleteAfterTurns} {
		if n < 0 || n > maxTurns {
			k.bad(field, "must be from 0 to "+strconv.Itoa(maxTurns))
		}
	}
	if p.MaxRestarts != nil && (*p.MaxRestarts < 0 || *p.MaxRestarts > maxRestarts) {
		k.bad("policy.maxRestarts", "must be from 0 to "+strconv.Itoa(maxRestarts))
	}
	if p.TurnRetries != nil && (*p.TurnRetries < 0 || *p.TurnRetries > maxRetries) {
		k.bad("policy.turnRetries", "must be from 0 to "+strconv.Itoa(maxRetries))
	}
	if p.MaxTurns < 0 || p.MaxTurns > maxTurns {
		k.bad("policy.maxTurns", "must be from 0 (no limit) to "+strconv.Itoa(maxTurns))
	}
	if p.MaxTokens < 0 || p.MaxTokens > maxTokens {
		k.bad("policy.maxTokens", "must be from 0 (no limit) to "+strconv.Itoa(maxTokens))
	}
	if !(p.MaxCost >= 0 && p.MaxCost <= maxCost) {
		k.bad("policy.maxCost", "must be from 0 (no limit) to "+strconv.Itoa(maxCost)+" US dollars")
	}
	_, problems := rules.Compile(p.AutoAnswer, "policy.autoAnswer")
	k.problems = append(k.problems, problems...)
	slices.SortFunc(k.problems, func(a, b core.Problem) int { return strings.Compare(a.Path, b.Path) })
	return k.take("policy.finish", s.opts.Workspaces.CheckFinish(spec.Preparation.Workspace, p.Finish))
}

// fill gives what was not asked for its value.
func (s *Service) fill(spec *core.ThreadSpec) {
	c := s.config.Load()
	p := &spec.Policy
	p.IdleTimeoutMs = cmp.Or(p.IdleTimeoutMs, c.IdleTimeout.Milliseconds())
	p.TimeoutMs = cmp.Or(p.TimeoutMs, c.Timeout.Milliseconds())
	p.SummarizeAfterTurns = cmp.Or(p.SummarizeAfterTurns, c.SummarizeAfterTurns)
	p.MaxRestarts = cmp.Or(p.MaxRestarts, &c.MaxRestarts)
	p.TurnRetries = cmp.Or(p.TurnRetries, &c.TurnRetries)
	spec.Name = cmp.Or(spec.Name, nameOf(spec.Role, spec.Objective))
	for name := range spec.Preparation.Env {
		spec.Preparation.EnvNames = append(spec.Preparation.EnvNames, name)
	}
	slices.Sort(spec.Preparation.EnvNames)
}

// nameOf makes the name of a thread from its role and the first words of its objective.
func nameOf(role, objective string) string {
	var words []string
	size := 0
	for _, word := range strings.FieldsFunc(strings.ToLower(clip.Text(objective, 400)), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	}) {
		if size += len(word) + 1; size > 40 || len(words) == 6 {
			break
		}
		words = append(words, word)
	}
	name := strings.Join(words, "-")
	switch {
	case role != "" && name != "":
		name = role + "-" + name
	case role != "":
		name = role
	case name == "":
		name = "thread"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '-'
		}
		return r
	}, clip.Text(name, maxName))
}

// workspaceSpec is what a spec asks for; never nil.
func workspaceSpec(p *core.Preparation) core.WorkspaceSpec {
	if p.Workspace == nil {
		return core.WorkspaceSpec{}
	}
	return *p.Workspace
}
