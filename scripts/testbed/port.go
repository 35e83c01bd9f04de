package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddress returns an address on the loopback device whose port is below those that the system gives to outgoing
// connections: while the server is away, a client that dials its port from that same port would otherwise connect to
// itself and hold it.
func FreeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port between 20000 and 30000 in 100 tries")
}
