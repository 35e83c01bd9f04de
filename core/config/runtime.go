package config

// Runtime is a place where managed agents run: a plugin, or a server under a URL.
type Runtime struct {
	// Name of the plugin that is this runtime. It needs no entry in plugins.
	Plugin string `json:"plugin" check:"is=entry"`
	// Address of a runtime server, instead of a plugin.
	URL string `json:"url" check:"is=url"`
	// Token that the server at url wants. It is never shown.
	Token Secret `json:"token"`
	// Settings of the plugin; the same as config of its entry in plugins.
	Config Block `json:"config"`
	// When a request names no runtime, the healthy one with the lowest number is taken. The default is 10 for local,
	// 20 for docker, 30 for kubernetes.
	Priority int `json:"priority" default:"100" check:"min=0,max=1000000"`
	// Where it runs, such as eu-central-1. With security.compliance.gdpr.dataResidency.region another region is refused. Empty: it is
	// not said.
	Region string `json:"region" check:"max=128"`
	// Fail the start when it cannot be used. Otherwise Wardroom is degraded without it.
	Required bool `json:"required"`
}

// SetDefaults gives the runtimes that have a fixed name the priority of their kind.
func (r *Runtime) SetDefaults(name string) {
	switch name {
	case "local":
		r.Priority = 10
	case "docker":
		r.Priority = 20
	case "kubernetes":
		r.Priority = 30
	}
}
