package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// fan is the baseline of the viewers: a handler per viewer that writes what it is given, and nothing else.
type fan struct {
	mu      sync.Mutex
	viewers []chan []byte
}

// fanMain runs the baseline. Its parent kills it.
func fanMain(args []string) int {
	flags := flag.NewFlagSet("fan", flag.ExitOnError)
	_ = flags.Parse(args) // ExitOnError
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "fan:", err)
		return 1
	}
	f := &fan{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stream", f.stream)
	mux.HandleFunc("POST /say", f.say)
	fmt.Printf("ready: http://%s\n", listener.Addr())
	fmt.Fprintln(os.Stderr, "fan:", http.Serve(listener, mux))
	return 1
}

// stream writes to one viewer until it is gone.
func (f *fan) stream(w http.ResponseWriter, r *http.Request) {
	c := make(chan []byte, 4096)
	f.mu.Lock()
	f.viewers = append(f.viewers, c)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	frame := []byte("event: connected\ndata: {}\n\n")
	control := http.NewResponseController(w)
	for {
		if _, err := w.Write(frame); err != nil || control.Flush() != nil {
			return
		}
		select {
		case frame = <-c:
		case <-r.Context().Done():
			return
		}
	}
}

// say takes a frame for all viewers.
func (f *fan) say(w http.ResponseWriter, r *http.Request) {
	frame, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.viewers {
		c <- frame
	}
}
