package orgchart_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

func company() *core.Chart {
	return &core.Chart{
		Roles: []core.Role{
			{Key: "architect", ID: "arch-1"},
			{Key: "lead", ID: "lead", ReportsTo: "architect"},
			{Key: "engineer", ID: "engineer", ReportsTo: "lead"},
			{Key: "qa", ID: "qa", ReportsTo: "lead"},
		},
		Routing: []core.RoutingRule{
			{From: core.Anyone, To: "qa", MessageTypes: []string{"question", "task"}},
			{From: core.Anyone, To: "architect", Topics: []string{"architecture", "security"}},
			{From: "engineer", To: "lead", Topics: []string{"security", "style"}},
			{From: "engineer", To: "architect", MessageTypes: []string{"question"}},
			{From: "engineer", To: "qa", MessageTypes: []string{"question"}},
		},
		Escalation: core.Escalation{
			Default:     core.BehaviorReportsTo,
			TopicRoutes: map[string]string{"budget": "architect", "testing": "qa", "style": "architect"},
			MaxDepth:    2,
			OnMaxDepth:  core.BehaviorFail,
		},
	}
}

func TestRoute(t *testing.T) {
	tests := []struct {
		name    string
		message orgchart.Message
		change  func(*core.Chart)
		want    orgchart.Target
	}{
		{name: "a topic comes before a type", message: orgchart.Message{From: "engineer", Topic: "architecture", Type: "question"}, want: orgchart.Target{Role: "architect", Reason: "rule 2: topic architecture"}},
		{name: "this very role comes before any", message: orgchart.Message{From: "engineer", Topic: "security"}, want: orgchart.Target{Role: "lead", Reason: "rule 3: topic security"}},
		{name: "this very role comes before any, by type", message: orgchart.Message{From: "engineer", Type: "question"}, want: orgchart.Target{Role: "architect", Reason: "rule 4: message type question"}},
		{name: "any role", message: orgchart.Message{From: "lead", Type: "question"}, want: orgchart.Target{Role: "qa", Reason: "rule 1: message type question"}},
		{name: "a rule comes before the role that is asked for", message: orgchart.Message{From: "lead", Type: "task", To: "engineer"}, want: orgchart.Target{Role: "qa", Reason: "rule 1: message type task"}},
		{name: "a rule that leads back is passed over", message: orgchart.Message{From: "qa", Type: "question"}, want: orgchart.Target{Role: "lead", Reason: "manager of qa"}},
		{name: "a topic rule that leads back gives way to a type rule", message: orgchart.Message{From: "architect", Topic: "security", Type: "task"}, want: orgchart.Target{Role: "qa", Reason: "rule 1: message type task"}},
		{name: "the role that is asked for", message: orgchart.Message{From: "lead", Type: "escalation", To: "engineer"}, want: orgchart.Target{Role: "engineer", Reason: "asked for engineer"}},
		{name: "the role that is asked for, by id", message: orgchart.Message{From: "lead", Type: "escalation", To: "arch-1"}, want: orgchart.Target{Role: "architect", Reason: "asked for architect"}},
		{name: "the role that is asked for comes before topic routes", message: orgchart.Message{From: "lead", Topic: "budget", To: "qa"}, want: orgchart.Target{Role: "qa", Reason: "asked for qa"}},
		{name: "asked for itself", message: orgchart.Message{From: "lead", To: "lead"}, want: orgchart.Target{Role: "architect", Reason: "manager of lead"}},
		{name: "asked for a role that is not there", message: orgchart.Message{From: "lead", To: "boss", Topic: "budget"}, want: orgchart.Target{Role: "architect", Reason: "topic route budget"}},
		{name: "a topic route", message: orgchart.Message{From: "lead", Topic: "testing", Type: "escalation"}, want: orgchart.Target{Role: "qa", Reason: "topic route testing"}},
		{name: "a topic route that leads back", message: orgchart.Message{From: "qa", Topic: "testing"}, want: orgchart.Target{Role: "lead", Reason: "manager of qa"}},
		{name: "the manager", message: orgchart.Message{From: "engineer", Type: "escalation"}, want: orgchart.Target{Role: "lead", Reason: "manager of engineer"}},
		{name: "the top", message: orgchart.Message{From: "architect", Type: "escalation"}, want: orgchart.Target{Behavior: core.BehaviorFail, Reason: "nobody is above architect"}},
		{
			name: "the top without a behavior", message: orgchart.Message{From: "architect"},
			change: func(c *core.Chart) { c.Escalation.OnMaxDepth = "" },
			want:   orgchart.Target{Behavior: core.BehaviorSurface, Reason: "nobody is above architect"},
		},
		{
			name: "another default", message: orgchart.Message{From: "engineer"},
			change: func(c *core.Chart) { c.Escalation.Default = core.BehaviorBestEffort },
			want:   orgchart.Target{Behavior: core.BehaviorBestEffort, Reason: "default behavior"},
		},
		{
			name: "no default is the manager", message: orgchart.Message{From: "engineer"},
			change: func(c *core.Chart) { c.Escalation.Default = "" },
			want:   orgchart.Target{Role: "lead", Reason: "manager of engineer"},
		},
		{
			name: "an empty topic matches nothing", message: orgchart.Message{From: "engineer"},
			change: func(c *core.Chart) {
				c.Routing[1].Topics = []string{""}
				c.Escalation.TopicRoutes[""] = "qa"
			},
			want: orgchart.Target{Role: "lead", Reason: "manager of engineer"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chart := company()
			if tt.change != nil {
				tt.change(chart)
			}
			if got := orgchart.Route(chart, tt.message); got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestClimb(t *testing.T) {
	chart := company()
	tests := []struct {
		name           string
		asker, current string
		depth          int
		want           orgchart.Target
	}{
		{"to the manager", "", "engineer", 0, orgchart.Target{Role: "lead", Reason: "manager of engineer"}},
		{"to the next", "engineer", "lead", 1, orgchart.Target{Role: "architect", Reason: "manager of lead"}},
		{"the depth is used up", "", "engineer", 2, orgchart.Target{Behavior: core.BehaviorFail, Reason: "maxDepth is 2"}},
		{"the top", "engineer", "architect", 1, orgchart.Target{Behavior: core.BehaviorFail, Reason: "nobody is above architect"}},
		{"past the role that asks", "lead", "qa", 0, orgchart.Target{Role: "architect", Reason: "manager of qa"}},
		{"past the role that asks at the top", "architect", "lead", 0, orgchart.Target{Behavior: core.BehaviorFail, Reason: "nobody is above lead"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := orgchart.Climb(chart, tt.asker, tt.current, tt.depth); got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
	chart.Escalation.MaxDepth = 0
	if got := orgchart.Climb(chart, "", "engineer", 0); got.Behavior != core.BehaviorFail {
		t.Errorf("without depth: %+v", got)
	}
}

func TestWantsReply(t *testing.T) {
	for word, want := range map[string]bool{"question": true, "escalation": true, "task": true, "proposal": true, "": true, "feedback": false} {
		if orgchart.WantsReply(word) != want {
			t.Errorf("%q: %v", word, !want)
		}
	}
}
