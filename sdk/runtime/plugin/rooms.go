package plugin

import (
	"maps"
	"os"
	"slices"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// CheckRooms finds what is wrong with the settings of a runtime whose rooms are on this machine (agentcli/local): the
// directories of credentials, the program of the holder, and the environments of declared types.
func CheckRooms(list *plugin.Problems, credentials map[string]string, holder string, types map[string]runtime.DeclaredType) {
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		if info, err := os.Stat(credentials[name]); err != nil || !info.IsDir() {
			list.Add("/credentials/"+name, plugin.SeverityError, "is no directory that can be read")
		}
	}
	if info, err := os.Stat(holder); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		list.Add("/holder", plugin.SeverityError, "%s is no executable file; install it beside the plugin or name it", holder)
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if e := runtime.AsError(local.CheckEnv("env", types[name].Env)); e != nil {
			list.Add("/types/"+name+"/env", plugin.SeverityError, "%s: %s", e.Field, e.Message)
		}
	}
}
