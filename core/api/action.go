package api

import (
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Actions beyond those of routes: what only some requests, or frames of a socket, ask for.
const (
	actionInput     = "agents.input"      // keys into a terminal; without it the terminal is read only
	actionProvision = "threads.provision" // a preparation that checks out, or asks a repository by its URL
	actionForce     = "workspaces.force"  // to remove work that was not pushed
	actionSessions  = "sessions.manage"   // to see and end sessions of others
	actionUnmasked  = "data.unmasked"     // to read in clear what is masked for others
	actionGrant     = core.ActionGrant    // a key that may do more than whoever makes it
)

// action is what is asked for an action.
type action struct{ resource, scope string }

// innerActions are the actions that no route has as its own.
var innerActions = map[string]action{
	actionInput:     {"agents", core.ScopeAgentsManage},
	actionProvision: {"threads", core.ScopeExecutionsCreate},
	actionForce:     {"workspaces", core.ScopeAdmin},
	actionSessions:  {"sessions", core.ScopeAdmin},
	actionUnmasked:  {"data", core.ScopeDataUnmasked},
	actionGrant:     {"keys", core.ScopeAdmin},
}

// actionsOf returns every action by its name.
func actionsOf(routes []Route) map[string]action {
	all := maps.Clone(innerActions)
	for i := range routes {
		r := &routes[i]
		if r.Public != nil && r.Public(Config{}) {
			continue // no access is checked
		}
		all[r.Action] = action{r.Resource, r.Scope}
	}
	return all
}

// action returns one of innerActions.
func (s *Server) action(name string) action {
	a, ok := innerActions[name]
	if !ok {
		panic("api: the action " + name + " is not declared")
	}
	return a
}

// ActionScope names an action with what it is done to and the scope that it needs.
type ActionScope struct{ Action, Resource, Scope string }

// Actions lists every action that is authorized, those of routes and those within requests and sockets.
func (s *Server) Actions() []ActionScope {
	list := make([]ActionScope, 0, len(s.actions))
	for _, name := range slices.Sorted(maps.Keys(s.actions)) {
		list = append(list, ActionScope{name, s.actions[name].resource, s.actions[name].scope})
	}
	return list
}
