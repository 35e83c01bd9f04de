package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort returns a port below those the system gives to outgoing connections: while the server is away, a
// client that dials its port from that same port would otherwise connect to itself and hold it.
func FreePort(random *rand.Rand) (int, error) {
	for range 100 {
		port := 20000 + random.IntN(10000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no free port between 20000 and 30000 in 100 tries")
}
