// Command badplugin is a plugin that misbehaves as MODE says, for the end-to-end tests.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func main() {
	mode := os.Getenv("MODE")
	switch mode {
	case "version": // a handshake of a release far away
		fmt.Println("1|99|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	case "chatty":
		fmt.Println("good morning") // the library keeps it away from the handshake
	case "crash":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	}
	plugin.Main(plugin.Definition{
		Name: "badplugin", Version: "1.0.0", Kind: plugin.KindRuntime, Schema: []byte(`{"type": "object"}`),
		Configure: func(ctx context.Context, _ json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			switch mode {
			case "hang":
				time.Sleep(time.Hour) // whatever ctx says
			case "chatty":
				for i := range 1000 {
					fmt.Println("chatter", i)
				}
			case "refuse":
				return plugin.Service{}, plugin.Errorf(plugin.CodeInvalidConfig, "these settings are not to my taste")
			}
			return plugin.Service{Runtime: idle{}}, nil
		},
	})
}

// idle is a runtime that can do nothing.
type idle struct{ runtime.Unimplemented }
