package runtime

import (
	"fmt"
	"sort"
	"time"
	"unicode/utf8"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

func agentToProto(a *Agent) *pluginv1.Agent {
	out := &pluginv1.Agent{
		Id: text(a.ID), Name: text(a.Name), Type: text(a.Type), Status: text(string(a.Status)), Reason: text(a.Reason),
		Capabilities: texts(a.Capabilities), Labels: textMap(a.Labels), Workdir: text(a.Workdir), Pid: int64(a.PID),
		ContainerId: text(a.ContainerID), PodName: text(a.PodName), SessionId: text(a.SessionID),
		Prompt: promptToProto(a.Prompt), LoginUrl: text(a.LoginURL), Turn: int64(a.Turn),
		CreatedAt: pluginv1.Stamp(a.CreatedAt), LastActivityAt: pluginv1.Stamp(a.LastActivityAt), Handle: handleToProto(a.Handle),
		Seq: a.Seq,
	}
	if a.ExitCode != nil {
		code := int32(*a.ExitCode)
		out.ExitCode = &code
	}
	return out
}

func agentFromProto(a *pluginv1.Agent) Agent {
	if a == nil {
		return Agent{}
	}
	out := Agent{
		ID: a.Id, Name: a.Name, Type: a.Type, Status: Status(a.Status), Reason: a.Reason, Capabilities: a.Capabilities,
		Labels: a.Labels, Workdir: a.Workdir, PID: int(a.Pid), ContainerID: a.ContainerId, PodName: a.PodName,
		SessionID: a.SessionId, Prompt: promptFromProto(a.Prompt), LoginURL: a.LoginUrl, Turn: int(a.Turn),
		CreatedAt: pluginv1.Unstamp(a.CreatedAt), LastActivityAt: pluginv1.Unstamp(a.LastActivityAt), Handle: handleFromProto(a.Handle),
		Seq: a.Seq,
	}
	if a.ExitCode != nil {
		code := int(*a.ExitCode)
		out.ExitCode = &code
	}
	return out
}

// specToProto refuses what the wire cannot hold unchanged; it changes nothing, since an agent that starts with
// other values than were asked for is worse than none.
func specToProto(s *Spec) (*pluginv1.Spec, error) {
	out := &pluginv1.Spec{
		Id: s.ID, Name: s.Name, Type: s.Type, Installation: s.Installation, Capabilities: s.Capabilities, Labels: s.Labels,
		Workdir: s.Workdir, Env: s.Env, Approval: s.Approval, Resume: s.Resume, Cols: uint32(s.Cols), Rows: uint32(s.Rows),
		Image: s.Image, Network: s.Network, Volumes: s.Volumes,
	}
	if s.Limits != (Limits{}) {
		out.Limits = &pluginv1.Limits{MemoryBytes: s.Limits.MemoryBytes, Cpu: s.Limits.CPU, Pids: uint32(s.Limits.PIDs)}
	}
	if d := s.Declared; d != nil {
		out.Declared = &pluginv1.DeclaredType{
			Command: d.Command, Args: d.Args, Env: d.Env, Idle: duration(time.Duration(d.Idle)), Exit: d.Exit,
		}
		if d.Ready != (ReadyRule{}) {
			out.Declared.Ready = &pluginv1.ReadyRule{Pattern: d.Ready.Pattern, Timeout: duration(time.Duration(d.Ready.Timeout))}
		}
	}
	for _, n := range []struct {
		field string
		n     int
	}{{"cols", s.Cols}, {"rows", s.Rows}, {"limits.pids", s.Limits.PIDs}} {
		if n.n < 0 || int64(n.n) > 1<<31-1 {
			return nil, Invalid(n.field, "must not be negative, nor beyond %d", 1<<31-1)
		}
	}
	if field := specText(s); field != "" {
		return nil, Invalid(field, "is not valid UTF-8")
	}
	return out, nil
}

// specText returns the first field that is not UTF-8.
func specText(s *Spec) string {
	for _, f := range []struct{ name, value string }{
		{"id", s.ID}, {"name", s.Name}, {"type", s.Type}, {"installation", s.Installation}, {"workdir", s.Workdir},
		{"approval", s.Approval}, {"resume", s.Resume}, {"image", s.Image}, {"network", s.Network},
	} {
		if !utf8.ValidString(f.value) {
			return f.name
		}
	}
	if field := listText("capabilities", s.Capabilities); field != "" {
		return field
	}
	if field := listText("volumes", s.Volumes); field != "" {
		return field
	}
	if field := mapText("labels", s.Labels); field != "" {
		return field
	}
	if field := mapText("env", s.Env); field != "" {
		return field
	}
	d := s.Declared
	if d == nil {
		return ""
	}
	for _, f := range []struct{ name, value string }{
		{"declared.command", d.Command}, {"declared.exit", d.Exit}, {"declared.ready.pattern", d.Ready.Pattern},
	} {
		if !utf8.ValidString(f.value) {
			return f.name
		}
	}
	if field := listText("declared.args", d.Args); field != "" {
		return field
	}
	return mapText("declared.env", d.Env)
}

func listText(name string, list []string) string {
	for i, v := range list {
		if !utf8.ValidString(v) {
			return fmt.Sprintf("%s[%d]", name, i)
		}
	}
	return ""
}

// mapText names the key of a bad value, and never the value: it may be secret.
func mapText(name string, m map[string]string) string {
	var bad []string
	for k, v := range m {
		if !utf8.ValidString(k) {
			return name
		}
		if !utf8.ValidString(v) {
			bad = append(bad, k)
		}
	}
	if len(bad) == 0 {
		return ""
	}
	sort.Strings(bad)
	return name + "." + bad[0]
}

func specFromProto(s *pluginv1.Spec) Spec {
	if s == nil {
		return Spec{}
	}
	out := Spec{
		ID: s.Id, Name: s.Name, Type: s.Type, Installation: s.Installation, Capabilities: s.Capabilities, Labels: s.Labels,
		Workdir: s.Workdir, Env: s.Env, Approval: s.Approval, Resume: s.Resume, Cols: int(s.Cols), Rows: int(s.Rows),
		Image: s.Image, Network: s.Network, Volumes: s.Volumes,
	}
	if l := s.Limits; l != nil {
		out.Limits = Limits{MemoryBytes: l.MemoryBytes, CPU: l.Cpu, PIDs: int(l.Pids)}
	}
	if d := s.Declared; d != nil {
		out.Declared = &DeclaredType{
			Command: d.Command, Args: d.Args, Env: d.Env, Idle: Duration(d.Idle.AsDuration()), Exit: d.Exit,
			Ready: ReadyRule{Pattern: d.Ready.GetPattern(), Timeout: Duration(d.Ready.GetTimeout().AsDuration())},
		}
	}
	return out
}

func eventToProto(e *Event) *pluginv1.Event {
	out := &pluginv1.Event{
		Seq: e.Seq, Log: text(e.Log), AgentId: text(e.AgentID), Type: text(string(e.Type)), Time: pluginv1.Stamp(e.Time), Source: text(e.Source),
		Agent: agentToProto(&e.Agent), Prompt: promptToProto(e.Prompt), Answered: text(e.Answered), Text: text(e.Text),
		Turn: int64(e.Turn), DurationMs: e.DurationMs, LoginUrl: text(e.LoginURL), Reason: text(e.Reason),
		Interrupted: e.Interrupted, Exit: exitToProto(e.Exit), Outcome: outcomeToProto(&e.TurnOutcome),
	}
	if e.Tool != nil {
		out.Tool = &pluginv1.ToolCall{Name: text(e.Tool.Name)}
		out.Tool.Input, out.Tool.InputJson = inputToProto(e.Tool.Input)
	}
	return out
}

func eventFromProto(e *pluginv1.Event) Event {
	if e == nil {
		return Event{}
	}
	out := Event{
		Seq: e.Seq, Log: e.Log, AgentID: e.AgentId, Type: EventType(e.Type), Time: pluginv1.Unstamp(e.Time), Source: e.Source,
		Agent: agentFromProto(e.Agent), Prompt: promptFromProto(e.Prompt), Answered: e.Answered, Text: e.Text,
		Turn: int(e.Turn), DurationMs: e.DurationMs, LoginURL: e.LoginUrl, Reason: e.Reason,
		TurnOutcome: outcomeFromProto(e.Outcome), Exit: exitFromProto(e.Exit),
	}
	out.Interrupted = out.Interrupted || e.Interrupted
	if e.Tool != nil {
		out.Tool = &ToolCall{Name: e.Tool.Name, Input: inputFromProto(e.Tool.Input, e.Tool.InputJson)}
	}
	return out
}
