package appliance

import (
	"net/http"

	"github.com/wardroom/wardroom/appliance/console"
)

// front returns what the listener serves: the API, behind the console if there is one.
func (a *App) front() http.Handler {
	c := a.config.Load().Server
	if !c.Console.Enabled {
		return a.api.Handler()
	}
	return console.New(a.api.Handler(), console.Options{BaseURL: c.BaseURL, Serves: a.api.ServesHost})
}
