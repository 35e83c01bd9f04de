package server

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/oklog/ulid/v2"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// Defaults.
const (
	DefaultPort    = 3100
	DefaultMaxBody = 10 << 20 // bytes
	minToken       = 16
	heartbeat      = 15 * time.Second
)

// Options configure a Server. Runtime is needed; the rest has defaults.
type Options struct {
	Runtime runtime.Runtime
	Listen  string   // host:port; empty: 127.0.0.1:3100
	Token   string   // needed unless Listen is a loopback address; printable ASCII without spaces, commas and slashes
	Origins []string // of web pages that may call, as scheme://host[:port]; others only from the same origin
	Hosts   []string // further names of this machine under which a loopback address may be called
	MaxBody int64    // bytes; 0: DefaultMaxBody
	Logger  hclog.Logger

	Terminal  terminal.Limits
	Heartbeat time.Duration    // of streams; 0: 15 s
	NewID     func() string    // of agents whose request names none; nil: magent_ and a ULID
	Now       func() time.Time // of event frames; nil: time.Now
}

// FromEnv returns the options that the environment asks for: PORT (port is the default), WARDROOM_LISTEN or HOST (a
// host, or host:port), WARDROOM_TOKEN or TOKEN, or WARDROOM_TOKEN_FILE with the token in it, WARDROOM_ORIGINS
// (separated by commas). getenv is os.Getenv.
func FromEnv(getenv func(string) string, port int) (Options, error) {
	if text := getenv("PORT"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return Options{}, fmt.Errorf("PORT is %q and must be a number from 0 to 65535", text)
		}
		port = int(n)
	}
	o := Options{Listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Token: getenv("WARDROOM_TOKEN")}
	if listen := cmp.Or(getenv("WARDROOM_LISTEN"), getenv("HOST")); listen != "" {
		if _, _, err := net.SplitHostPort(listen); err != nil {
			listen = net.JoinHostPort(strings.Trim(listen, "[]"), strconv.Itoa(port))
		}
		o.Listen = listen
	}
	if file := getenv("WARDROOM_TOKEN_FILE"); file != "" {
		if o.Token != "" {
			return Options{}, fmt.Errorf("WARDROOM_TOKEN and WARDROOM_TOKEN_FILE are both set; keep one")
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return Options{}, fmt.Errorf("WARDROOM_TOKEN_FILE: %w", err)
		}
		o.Token = strings.TrimSpace(string(data))
		if o.Token == "" {
			return Options{}, fmt.Errorf("WARDROOM_TOKEN_FILE: %s is empty", file)
		}
	} else if o.Token == "" {
		o.Token = getenv("TOKEN")
	}
	for origin := range strings.SplitSeq(getenv("WARDROOM_ORIGINS"), ",") {
		if origin = strings.TrimSpace(origin); origin != "" {
			o.Origins = append(o.Origins, origin)
		}
	}
	return o, nil
}

// complete checks the options and fills in defaults.
func (o *Options) complete() error {
	if o.Runtime == nil {
		return fmt.Errorf("a runtime server needs a Runtime")
	}
	o.Listen = cmp.Or(o.Listen, net.JoinHostPort("127.0.0.1", strconv.Itoa(DefaultPort)))
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("the address %q to listen on is not host:port", o.Listen)
	}
	if o.Token == "" && !loopback(host) {
		return fmt.Errorf("%s is not a loopback address, so a token is needed: set WARDROOM_TOKEN or WARDROOM_TOKEN_FILE, or listen on 127.0.0.1", o.Listen)
	}
	if o.Token != "" {
		if len(o.Token) < minToken {
			return fmt.Errorf("the token has %d characters and needs at least %d", len(o.Token), minToken)
		}
		if i := strings.IndexFunc(o.Token, notToken); i >= 0 {
			return fmt.Errorf("character %d of the token cannot stand in a header of a WebSocket; use letters, digits, - and _", i+1)
		}
	}
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), DefaultMaxBody)
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Heartbeat = cmp.Or(max(o.Heartbeat, 0), heartbeat)
	if o.NewID == nil {
		o.NewID = func() string { return "magent_" + ulid.Make().String() }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// notToken reports whether a character may not be part of a token by the grammar of HTTP.
func notToken(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// loopback reports whether a host names this machine's own loopback interface.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
