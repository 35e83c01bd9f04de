package docker

import (
	"encoding/json"
	"testing"
)

// TestInterfaceServer: the port, the variables and the defaults of the container runtime server are those of the interface.
func TestInterfaceServer(t *testing.T) {
	if got := Definition("1.2.3").AlonePort; got != 3200 {
		t.Errorf("the port is %d", got)
	}
	for name, tt := range map[string]struct {
		env             map[string]string
		socket, network string
		memory          int64
		cpu             float64
	}{
		"Defaults": {nil, "/var/run/docker.sock", "wardroom-agents", 512 << 20, 0.5},
		"Variables": {map[string]string{
			"CONTAINER_SOCKET": "/run/engine.sock", "CONTAINER_NETWORK": "own", "DEFAULT_MEMORY": "2g", "DEFAULT_CPU": "2.0",
		}, "/run/engine.sock", "own", 2 << 30, 2},
		"Megabytes": {map[string]string{"DEFAULT_MEMORY": "768m", "DEFAULT_CPU": "1"}, "/var/run/docker.sock", "wardroom-agents", 768 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := settings(func(key string) string { return tt.env[key] })
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			c, err := decode(text, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if c.Socket != tt.socket || c.Network != tt.network || c.Limits.memoryBytes != tt.memory || c.Limits.CPU != tt.cpu {
				t.Errorf("the server has %s, %s, %d bytes and %v cores", c.Socket, c.Network, c.Limits.memoryBytes, c.Limits.CPU)
			}
		})
	}
}
