package testbed

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Receiver is an HTTP server of a rig, such as one that webhooks are delivered to.
type Receiver struct {
	URL  string // without a slash at its end
	Host string // host:port

	server *http.Server
	wg     sync.WaitGroup
}

// Receive serves a handler on a free port until Close.
func Receive(handler http.Handler) (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host := listener.Addr().String()
	r := &Receiver{URL: "http://" + host, Host: host, server: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	r.wg.Go(func() { _ = r.server.Serve(listener) }) // ends with Close
	return r, nil
}

// Close ends the receiver and all its connections.
func (r *Receiver) Close() {
	_ = r.server.Close() // nothing is left to do about it
	r.wg.Wait()
}
