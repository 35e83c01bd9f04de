package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// timelineTree is a timeline as a tree: steps in steps, and what happened in them below.
type timelineTree struct {
	timeline *client.Timeline
	rows     []*timelineNode   // depth first, all of them
	from     time.Time         // what bars begin with: the first entry
	longest  time.Duration     // from there to the end of the last entry
	agents   map[string]string // names by id
	steps    int               // begun
	finished int
	open     int // questions
}

// Raw returns the timeline as it came.
func (tree *timelineTree) Raw() json.RawMessage { return tree.timeline.Body }

// timelineNode is one row of the tree: an entry, or a title (of the roles) or a hint without one.
type timelineNode struct {
	entry    *client.TimelineEntry // or nil
	task     *client.TimelineEntry // of a step whose only task is shown in its row
	title    string
	children []*timelineNode
	parent   *timelineNode // nil at the top
	guide    string        // the lines of the tree before it, in ASCII
	index    int           // in rows
}

// newTimelineTree makes the tree of a timeline, which must not be changed afterwards. asked are its open questions,
// as far as they are known.
func newTimelineTree(t *client.Timeline, asked []client.Question) *timelineTree {
	tree := &timelineTree{timeline: t, agents: map[string]string{}}
	if t.StartedAt != nil {
		tree.from = *t.StartedAt
	}
	root, roles := &timelineNode{}, &timelineNode{title: "roles"}
	// A step that is run again has several entries: what comes after belongs to the newest.
	steps, messages := map[string]*timelineNode{}, map[string]*timelineNode{}
	for i := range t.Entries {
		e := &t.Entries[i]
		if tree.from.IsZero() || e.StartedAt.Before(tree.from) {
			tree.from = e.StartedAt
		}
		if e.Name != "" && e.AgentID != "" {
			tree.agents[e.AgentID] = e.Name
		}
		node := &timelineNode{entry: e}
		parent := root
		if around := steps[e.Step]; around != nil {
			parent = around
		}
		switch e.Kind {
		case client.TimelineRole:
			parent = roles
		case client.TimelineStep:
			steps[e.ID] = node
			tree.steps++
			if e.EndedAt != nil {
				tree.finished++
			}
		case client.TimelineMessage:
			messages[e.ID] = node
		case client.TimelineEscalation:
			if message := messages[e.ID]; message != nil {
				parent = message
			}
		case client.TimelineQuestion:
			if e.Status == client.QuestionOpen {
				tree.open++
				node.adopt(&timelineNode{title: "answer it: " + answerHint(e.ID, asked)})
			}
		}
		parent.adopt(node)
	}
	if len(roles.children) > 0 {
		root.children = append([]*timelineNode{roles}, root.children...)
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		tree.longest = max(tree.longest, e.StartedAt.Sub(tree.from)+e.Duration.Duration())
	}
	tree.list(root, "")
	return tree
}

// answerHint returns the command that answers the question with the id.
func answerHint(id string, asked []client.Question) string {
	for i := range asked {
		if asked[i].ID == id {
			return answerCommand(&asked[i])
		}
	}
	return answerCommand(&client.Question{Question: wire.Question{ID: id}})
}

// asks reports whether an execution waits for people.
func asks(t *client.Timeline) bool {
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Kind == client.TimelineQuestion && e.Status == client.QuestionOpen {
			return true
		}
	}
	return false
}

func (n *timelineNode) adopt(child *timelineNode) {
	child.parent = n
	n.children = append(n.children, child)
}

// list appends what is below a node, depth first. The guides are those of ASCII, which render translates.
func (tree *timelineTree) list(n *timelineNode, guide string) {
	n.fold()
	for i, child := range n.children {
		own, below := "|- ", "|  "
		if i == len(n.children)-1 {
			own, below = "`- ", "   "
		}
		child.guide, child.index = guide+own, len(tree.rows)
		if n.parent == nil && n.entry == nil && n.title == "" {
			child.parent = nil // the root is no row
		}
		tree.rows = append(tree.rows, child)
		tree.list(child, guide+below)
	}
}

// fold takes the only task of a step into the step's row: so that the row says who did it. A
// task that took several attempts, or was not completed while its step was, keeps its rows.
func (n *timelineNode) fold() {
	if n.entry == nil || n.entry.Kind != client.TimelineStep {
		return
	}
	at := -1
	for i, child := range n.children {
		if child.entry != nil && child.entry.Kind == client.TimelineTask {
			if at >= 0 {
				return
			}
			at = i
		}
	}
	if at < 0 || n.children[at].entry.Attempt > 1 || n.children[at].entry.Status != n.entry.Status {
		return
	}
	n.task = n.children[at].entry
	n.children = append(n.children[:at:at], n.children[at+1:]...)
}

// runs reports whether what the row tells of goes on.
func (n *timelineNode) runs() bool { return n.entry != nil && n.entry.EndedAt == nil }

// agent names an agent: by its name where it is known, else by the ends of its id. The roles have the whole id.
func (tree *timelineTree) agent(e *client.TimelineEntry) string {
	if name := tree.agents[e.AgentID]; name != "" {
		return name
	}
	kind, id, ok := strings.Cut(e.AgentID, "_")
	if !ok || len(id) < 20 {
		return e.AgentID
	}
	return kind + "_.." + id[len(id)-6:]
}

// headline reports the whole execution. late is how long ago the timeline was read.
func (tree *timelineTree) headline(paint func(style, string) string, late time.Duration) string {
	t := tree.timeline
	pattern := clean(strings.TrimSpace(t.Pattern.Name + " " + t.Pattern.Version))
	parts := []string{pattern, clean(t.ExecutionID), paint(statusStyle(string(t.Status)), clean(t.Status))}
	if t.StartedAt != nil {
		took := t.Duration.Duration()
		if !client.Terminal(t.Status) {
			took += late
		}
		parts = append(parts, lasted(took))
	}
	switch {
	case t.Status == client.StatusPending:
		parts = append(parts, "waits for agents or for its turn")
	case tree.steps > 0 && !client.Terminal(t.Status):
		parts = append(parts, fmt.Sprintf("%s done, %d running", count(tree.finished, "step"), tree.steps-tree.finished))
	}
	if tree.open > 0 {
		parts = append(parts, paint(styleBusy, count(tree.open, "question")+" open"))
	}
	return strings.Join(parts, "  ")
}

// lasted renders a duration that was measured, zero too.
func lasted(d time.Duration) string {
	if d < time.Millisecond {
		return "<1 ms"
	}
	return span(d)
}
