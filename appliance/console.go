package appliance

import (
	"net/http"

	"github.com/wardroom/wardroom/appliance/console"
	"github.com/wardroom/wardroom/appliance/docsite"
)

// front returns what the listener serves: the API, behind the console and the documentation where there are such, at the
// root and below the path of server.baseUrl.
func (a *App) front() http.Handler {
	c := a.config.Load().Server
	handler := a.api.Handler()
	// Who may not come from where it does, or names another host, gets the API's refusal.
	serves := func(r *http.Request) bool {
		_, err := a.gate.Admit(r)
		return err == nil && a.api.ServesHost(r)
	}
	if c.Console.Enabled {
		handler = console.New(handler, console.Options{Prefix: c.BasePath(), Serves: serves})
	}
	if c.Docs.Enabled {
		version := a.opts.Version
		if a.api.Authenticates() { // only who signed in learns it
			version = ""
		}
		handler = docsite.New(handler, docsite.Options{
			Prefix: c.BasePath(), Serves: serves, Version: version, OpenAPI: a.api.Document(),
		})
	}
	return belowPath(c.BasePath(), handler)
}
