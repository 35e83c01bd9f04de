package fakemodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Defaults of Options.
const (
	DefaultListen      = "127.0.0.1:0"
	DefaultLifetime    = time.Hour
	DefaultMaxBody     = 32 << 20
	DefaultMaxInflight = 64
	DefaultMaxHold     = 10 * time.Minute
	DefaultKeep        = 4096
)

// Options bound a server. The zero value means the defaults.
type Options struct {
	Listen      string        // loopback host:port, port 0 for a free one; DefaultListen when empty
	Lifetime    time.Duration // the server closes itself after this time, so that none is left behind
	MaxBody     int64         // bytes of a request body, before and after decompression; more is a 413
	MaxInflight int           // model requests at once; more are answered 503
	MaxRequests uint64        // model requests in all; more are answered 503; 0 for no limit
	MaxHold     time.Duration // how long HOLD waits for its release before it answers 504
	Keep        int           // how many requests the log remembers
	ChunkDelay  time.Duration // pause after each piece of a streamed answer

	Log  io.Writer // gets one JSON line for each request that ended, or nil; one write at a time
	Dump string    // existing folder for request bodies, at most 500 files, without headers; or empty

	Now  func() time.Time                                 // time.Now when nil
	Wait func(ctx context.Context, d time.Duration) error // waits d or until ctx ends; a real timer when nil
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxInflight == 0 {
		o.MaxInflight = DefaultMaxInflight
	}
	if o.MaxHold == 0 {
		o.MaxHold = DefaultMaxHold
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	return o
}

// validate reports every option that cannot be used.
func (o Options) validate() error {
	var problems []error
	if err := checkLoopback(o.Listen); err != nil {
		problems = append(problems, err)
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Lifetime", int64(o.Lifetime)},
		{"MaxBody", o.MaxBody},
		{"MaxInflight", int64(o.MaxInflight)},
		{"MaxHold", int64(o.MaxHold)},
		{"Keep", int64(o.Keep)},
	} {
		if field.value < 0 {
			problems = append(problems, fmt.Errorf("option %s is negative; leave it 0 for the default", field.name))
		}
	}
	if o.Dump != "" {
		if info, err := os.Stat(o.Dump); err != nil || !info.IsDir() {
			problems = append(problems, fmt.Errorf("option Dump %q is not a folder; make it first", o.Dump))
		}
	}
	if o.ChunkDelay < 0 {
		problems = append(problems, errors.New("option ChunkDelay is negative; 0 means no pause"))
	}
	return errors.Join(problems...)
}

// checkLoopback refuses addresses that others can reach: the endpoint does not authenticate.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("option Listen %q is not host:port, such as %s: %w", address, DefaultListen, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("option Listen %q is not a loopback address; the endpoint asks for no credentials, so use %s", address, DefaultListen)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
