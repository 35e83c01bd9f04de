package config

// Runtime is a place where managed agents run: a plugin, or a server under a URL.
type Runtime struct {
	Plugin   string // name of the plugin; empty with URL
	URL      string // of a runtime server, without a trailing slash; empty with Plugin
	Token    Secret // for the server at URL
	Config   Block  // given to the plugin
	Priority int    // a lower one is chosen first
	Required bool   // the start fails without it
}

// Priorities of the runtimes that have a fixed name, and of all others.
const (
	priorityLocal      = 10
	priorityDocker     = 20
	priorityKubernetes = 30
	priorityOther      = 100
)

func newRuntime(name string) *Runtime {
	switch name {
	case "local":
		return &Runtime{Priority: priorityLocal}
	case "docker":
		return &Runtime{Priority: priorityDocker}
	case "kubernetes":
		return &Runtime{Priority: priorityKubernetes}
	}
	return &Runtime{Priority: priorityOther}
}
