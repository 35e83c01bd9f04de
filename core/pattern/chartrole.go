package pattern

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// readRoles reads structure.roles.
func (c *chartReader) readRoles(s section) {
	n := s.get("roles")
	switch {
	case n == nil:
		if s.node.line > 0 {
			s.add(s.at("roles"), s.node.line, "is missing: it is the map of role keys to roles")
		}
		return
	case n.kind != mapNode || len(n.keys) == 0 || len(n.keys) > maxRoles:
		s.wrong("roles", "must be a map of 1 to %d roles, %s", maxRoles, roleCount(n))
		return
	}
	c.chart.Roles = make([]core.Role, 0, len(n.keys))
	for _, e := range n.keys {
		c.roleKeys = append(c.roleKeys, e.key)
		c.roleNode[e.key] = e.value
	}
	parents := make([]string, len(n.keys))
	for i, e := range n.keys {
		at := join(s.at("roles"), e.key)
		if !stepRule.MatchString(e.key) {
			c.add(at, e.line, "must be 1 to 64 letters, digits, dashes or underscores, and begin with a letter")
		}
		var role core.Role
		role, parents[i] = c.readRole(at, e)
		c.chart.Roles = append(c.chart.Roles, role)
	}
	c.checkIDs(s, n)
	c.checkHierarchy(s, n, parents)
}

func roleCount(n *node) string {
	if n.kind == mapNode {
		return fmt.Sprintf("has %d", len(n.keys))
	}
	return "is " + n.kind.String()
}

// broken stands for a manager that cannot be told: the role is no top of the hierarchy, and reports to no role.
const broken = "\x00"

// readRole reads one role, and the name of its manager: "" at the top.
func (c *chartReader) readRole(at string, e entry) (core.Role, string) {
	role := core.Role{Key: e.key, ID: e.key, Name: e.key, Min: 1}
	n := e.value
	if n.kind == nullNode { // a role may be nothing but its key
		n = &node{kind: mapNode, line: e.line}
	}
	s, ok := c.section(at, n, shapeOf[roleText]())
	if !ok {
		return role, broken
	}
	if id := s.word("id"); id != "" {
		role.ID = id
	}
	if name := s.word("name"); name != "" {
		role.Name = name
	}
	role.AgentTypes = c.agentTypes(s)
	role.Capabilities = s.words("capabilities")
	role.Managed = s.boolean("managed", false)
	if role.Managed && s.get("agentType") == nil {
		s.wrong("managed", "needs agentType, which says what agents to spawn")
	}
	role.Approval = s.choice("approvalPreset", "")
	role.Runtime = s.word("runtime")
	c.readWorkplace(s, &role)
	readInstances(s, &role)
	parent := s.word("reportsTo")
	switch r := s.get("reportsTo"); {
	case r == nil || r.kind == nullNode:
		parent = ""
	case parent == "":
		parent = broken
	case c.roleNode[parent] == nil:
		c.unknownRole(s.at("reportsTo"), s.node.keyLine("reportsTo"), parent)
		parent = broken
	default:
		c.used[parent] = true
		role.ReportsTo = parent
	}
	return role, parent
}

// readInstances reads how many agents serve a role. Max stays 0 when nothing is said of it.
func readInstances(s section, role *core.Role) {
	role.Singleton = s.boolean("singleton", false)
	role.Min = s.integer("minInstances", 1)
	role.Max = s.integer("maxInstances", 0)
	switch {
	case role.Singleton:
		if role.Min > 1 {
			s.wrong("minInstances", "is %d, but the role is a singleton, which has one instance", role.Min)
		}
		if role.Max > 1 {
			s.wrong("maxInstances", "is %d, but the role is a singleton, which has one instance", role.Max)
		}
		role.Max = 1
	case role.Max != 0 && role.Max < role.Min:
		if s.get("minInstances") != nil {
			s.wrong("minInstances", "is %d, above maxInstances, which is %d", role.Min, role.Max)
		}
	}
}

// word returns the short text at key, "" when there is none or a bad one.
func (s section) word(key string) string {
	n := s.get(key)
	if n == nil || n.kind == nullNode && key == "reportsTo" {
		return ""
	}
	text := s.text(key)
	if n.kind == textNode && (text == "" || len(text) > maxWord || strings.ContainsFunc(text, isControl)) {
		s.wrong(key, "must be 1 to %d bytes of text without control characters", maxWord)
		return ""
	}
	return text
}

// agentTypes reads one agent type, or a list of them in order of preference.
func (c *chartReader) agentTypes(s section) []string {
	n := s.get("agentType")
	if n == nil {
		return nil
	}
	var types []string
	if n.kind == listNode {
		if len(n.items) == 0 {
			s.wrong("agentType", "must name at least one agent type")
		}
		types = s.words("agentType")
	} else if word := s.word("agentType"); word != "" {
		types = []string{word}
	}
	if c.rules.agentTypes == nil {
		return types
	}
	for _, t := range types {
		if !slices.Contains(c.rules.agentTypes, t) && !c.enough() {
			s.wrong("agentType", "names %q, which is no agent type here%s", clip(t, maxVariableName), hintOrList("", t, c.rules.agentTypes))
		}
	}
	return types
}

// checkIDs reports ids that several roles share. A role without an id has its key as one.
func (c *chartReader) checkIDs(s section, n *node) {
	byID := make(map[string]string, len(c.chart.Roles))
	for i, role := range c.chart.Roles {
		first, double := byID[role.ID]
		if !double {
			byID[role.ID] = role.Key
			continue
		}
		at, line := join(s.at("roles"), role.Key), n.keys[i].line
		if e := n.keys[i].value; e.kind == mapNode && e.get("id") != nil {
			at, line = join(at, "id"), e.keyLine("id")
		}
		c.add(at, line, "the id %q is that of the role %s too", role.ID, first)
	}
}

// checkHierarchy reports circles. Every role without a manager is the top of a hierarchy of its own.
func (c *chartReader) checkHierarchy(s section, n *node, parents []string) {
	index := make(map[string]int, len(parents))
	for i, e := range n.keys {
		index[e.key] = i
	}
	state := make([]int, len(parents)) // 0: not seen; else the number of the walk that came by
	for i := range n.keys {
		for at := i; state[at] == 0; {
			state[at] = i + 1
			if parents[at] == "" || parents[at] == broken {
				break
			}
			next := index[parents[at]]
			if state[next] == i+1 {
				c.circle(s, n, index, parents, next)
				break
			}
			at = next
		}
	}
}

// circle reports the circle that leads through a role.
func (c *chartReader) circle(s section, n *node, index map[string]int, parents []string, from int) {
	names := []string{n.keys[from].key}
	for at := index[parents[from]]; ; at = index[parents[at]] {
		names = append(names, n.keys[at].key)
		if at == from {
			break
		}
	}
	e := n.keys[from]
	c.add(join(join(s.at("roles"), e.key), "reportsTo"), e.value.keyLine("reportsTo"),
		"leads in a circle: %s", clip(strings.Join(names, " -> "), 400))
}

// bindRoles settles how many agents roles have from the start: none where nothing refers to a role.
func (c *chartReader) bindRoles(s section) {
	roles := s.get("roles")
	for i := range c.chart.Roles {
		role := &c.chart.Roles[i]
		e := roles.keys[i].value
		if e.kind == mapNode && e.get("minInstances") != nil {
			continue
		}
		if !c.used[role.Key] {
			role.Min = 0
		}
	}
}

// readRouting reads the rules by which messages find their role.
func (c *chartReader) readRouting(s section) {
	n := s.get("routing")
	if n == nil {
		return
	}
	if n.kind != listNode || len(n.items) > maxRules {
		s.wrong("routing", "must be a list of at most %d rules, not %s", maxRules, n.kind)
		return
	}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", s.at("routing"), i)
		r, ok := c.section(at, item, shapeOf[core.RoutingRule]())
		if !ok {
			continue
		}
		for _, key := range []string{"from", "to"} {
			if r.get(key) == nil {
				c.add(at, item.line, "lacks %s, the key of a role", key)
			}
		}
		rule := core.RoutingRule{From: c.role(r, "from", core.Anyone), To: c.role(r, "to")}
		c.used[rule.To] = true
		rule.Topics, rule.MessageTypes = r.words("topics"), r.words("messageTypes")
		topics, types := r.get("topics"), r.get("messageTypes")
		switch {
		case topics == nil && types == nil:
			c.add(at, item.line, "lacks topics or messageTypes: one of them says which messages it routes")
		case topics != nil && types != nil:
			r.wrong("messageTypes", "cannot stand beside topics: make a rule of each")
		}
		for _, key := range []string{"topics", "messageTypes"} {
			if list := r.get(key); list != nil && list.kind == listNode && len(list.items) == 0 {
				r.wrong(key, "must name at least one")
			}
		}
		c.chart.Routing = append(c.chart.Routing, rule)
	}
}

// readEscalation reads what happens to messages that no rule routes, or that no role answers.
func (c *chartReader) readEscalation(s section) {
	x := &c.chart.Escalation
	*x = core.Escalation{Default: core.BehaviorReportsTo, OnMaxDepth: core.BehaviorSurface,
		Timeout: defaultReply * time.Millisecond, MaxDepth: defaultDepth}
	e, ok := s.section(s.at("escalation"), s.get("escalation"), shapeOf[escalationText]())
	if !ok {
		return
	}
	x.Default = core.Behavior(e.choice("defaultBehavior", string(x.Default)))
	x.Timeout = time.Duration(e.integer("timeoutMs", defaultReply)) * time.Millisecond
	x.MaxDepth = e.integer("maxDepth", defaultDepth)
	if n := e.get("onMaxDepth"); n != nil && n.kind == textNode && n.text == string(core.BehaviorReportsTo) {
		e.wrong("onMaxDepth", "cannot be %s, for there is no higher level to go to; choose %s", core.BehaviorReportsTo, either(e.shape.Find("onMaxDepth").Enum))
	} else {
		x.OnMaxDepth = core.Behavior(e.choice("onMaxDepth", string(x.OnMaxDepth)))
	}
	routes := e.get("topicRoutes")
	if routes == nil {
		return
	}
	if routes.kind != mapNode || len(routes.keys) > maxRules {
		e.wrong("topicRoutes", "must be a map of at most %d topics to role keys, not %s", maxRules, routes.kind)
		return
	}
	x.TopicRoutes = make(map[string]string, len(routes.keys))
	r := section{problems: c.problems, path: e.at("topicRoutes"), node: routes}
	for _, entry := range routes.keys {
		if entry.key == "" || len(entry.key) > maxWord {
			c.add(r.path, entry.line, "has a topic that is not 1 to %d bytes long", maxWord)
			continue
		}
		role := c.role(r, entry.key)
		c.used[role] = true
		x.TopicRoutes[entry.key] = role
	}
}
