package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/webhook"
)

// listenFlags are the flags of webhook listen.
type listenFlags struct {
	listen     string
	secret     string
	secretFile string
	status     int
	fail       int
	tolerance  time.Duration
}

func (c *cli) webhookListen() *cobra.Command {
	var flags listenFlags
	cmd := &cobra.Command{
		Use:   "listen --secret-file FILE",
		Short: "Receive deliveries on this machine, verify them and show them",
		Long: "Receive deliveries, verify their signatures and show their events until SIGTERM or SIGINT. What does not verify\n" +
			"is answered with 401. It contacts no server. A server reaches loopback addresses in the development\n" +
			"environment only, as of `wardroom dev`.",
		Example: "  wardroom webhook listen --secret-file secret.txt &\n" +
			"  wardroom webhook create http://127.0.0.1:9000/ --event '*' --secret-file secret.txt\n" +
			"  wardroom webhook listen --secret-file secret.txt --fail 2 -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret, err := c.secretFlags(cmd, flags.secret, flags.secretFile)
			if err != nil {
				return err
			}
			given := cmd.Flags().Changed
			switch {
			case secret == "":
				return usagef(cmd, "--secret-file or --secret is missing: deliveries are verified with it")
			case flags.fail < 0:
				return usagef(cmd, "--fail must not be negative")
			case flags.status < 200 || flags.status > 599:
				return usagef(cmd, "--status must be from 200 to 599, not %d", flags.status)
			case flags.fail > 0 && given("status") && flags.status < 300:
				return usagef(cmd, "--status %d is no failure: --fail wants one from 300 on", flags.status)
			case flags.fail > 0 && !given("status"):
				flags.status = http.StatusInternalServerError
			case flags.tolerance < 0:
				return usagef(cmd, "--tolerance must not be negative")
			}
			flags.secret = secret
			return c.listen(cmd.Context(), &flags)
		},
	}
	cmd.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:9000", "address and port; port 0 takes a free one")
	cmd.Flags().StringVar(&flags.secret, "secret", "", "the endpoint's secret; prefer --secret-file, which other users of the machine cannot see")
	cmd.Flags().StringVar(&flags.secretFile, "secret-file", "", "file with the secret; - is stdin")
	cmd.Flags().IntVar(&flags.status, "status", 200, "status to answer what verifies with; with --fail 500")
	cmd.Flags().IntVar(&flags.fail, "fail", 0, "answer only the first N with that status, as a failure, and the rest with 200")
	cmd.Flags().DurationVar(&flags.tolerance, "tolerance", webhook.DefaultTolerance, "how old a delivery may be; 0 takes any age")
	exclusive(cmd, "secret", "secret-file")
	return cmd
}

// listen receives until ctx ends, which is a clean end.
func (c *cli) listen(ctx context.Context, flags *listenFlags) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", flags.listen)
	if err != nil {
		return &usageError{message: fmt.Sprintf("--listen %s: %s", flags.listen, errors.Unwrap(err))}
	}
	l := &webhookListener{cli: c, flags: flags, failing: flags.fail, broken: make(chan error, 1)}
	server := &http.Server{
		Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // a client that breaks off is not our news
	}
	fmt.Fprintf(c.deps.Stderr, "listening on http://%s; Ctrl-C ends it\n", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-l.broken:
	case err = <-served:
		return err
	}
	// Answers under way are given; who holds a connection open beyond that is cut off.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(end) != nil {
		_ = server.Close()
	}
	<-served
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(c.deps.Stderr, "%s verified, %d refused\n", deliveriesText(l.verified), l.refused)
	return err
}

// webhookListener is the receiver.
type webhookListener struct {
	cli    *cli
	flags  *listenFlags
	broken chan error // takes the first failure to print

	mu       sync.Mutex // guards all below, and the order of the output
	failing  int        // deliveries that still get a failure
	verified int
	refused  int
}

// receipt is what is shown of a delivery.
type receipt struct {
	Time       time.Time       `json:"time"`
	Verified   bool            `json:"verified"`
	Reason     string          `json:"reason,omitempty"` // why it does not verify
	Status     int             `json:"status"`           // that it was answered with
	Type       string          `json:"type"`
	DeliveryID string          `json:"deliveryId"`
	Retry      int             `json:"retryCount"`
	EventID    string          `json:"eventId,omitempty"`
	Timestamp  *time.Time      `json:"timestamp,omitempty"` // of the event
	Data       json.RawMessage `json:"data,omitempty"`
}

// maxDelivery bounds a delivery's body in bytes.
const maxDelivery = 16 << 20

func (l *webhookListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "webhooks are sent with POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	now := time.Now()
	event, err := webhook.Verify(l.flags.secret, r.Header, body, cmp.Or(l.flags.tolerance, -1), now)
	got := receipt{Time: now.UTC().Truncate(time.Millisecond), Verified: err == nil}
	if err != nil {
		got.Reason = strings.TrimPrefix(err.Error(), "webhook: ")
		got.Type, got.DeliveryID = r.Header.Get(webhook.HeaderEvent), r.Header.Get(webhook.HeaderDelivery)
		got.Retry, _ = strconv.Atoi(r.Header.Get(webhook.HeaderRetryCount)) // absent at the first attempt
	} else {
		got.Type, got.DeliveryID, got.Retry, got.EventID = event.Type, event.DeliveryID, event.Retry, event.ID
		got.Timestamp, got.Data = &event.Timestamp, event.Data
	}
	got.Status = l.take(&got)
	w.WriteHeader(got.Status)
}

// take counts and shows a delivery, and returns the status to answer it with.
func (l *webhookListener) take(got *receipt) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !got.Verified:
		l.refused++
		got.Status = http.StatusUnauthorized
	case l.failing > 0:
		l.failing--
		l.verified++
		got.Status = l.flags.status
	case l.flags.fail > 0:
		l.verified++
		got.Status = http.StatusOK
	default:
		l.verified++
		got.Status = l.flags.status
	}
	if err := l.cli.printReceipt(got); err != nil {
		select {
		case l.broken <- err:
		default:
		}
	}
	return got.Status
}

// printReceipt writes one delivery: a line for a person, or one document for a script.
func (c *cli) printReceipt(got *receipt) error {
	if !c.tables() {
		return c.printDocument(got)
	}
	paint := c.painter(c.deps.Stdout)
	verdict, what := paint(styleGood, "verified"), compact(got.Data, 0)
	if !got.Verified {
		verdict, what = paint(styleBad, "REFUSED "), clean(got.Reason)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s  %s  %-22s %s  retry %d  %d  %s\n", got.Time.Local().Format(time.TimeOnly), verdict, clean(got.Type),
		clean(got.DeliveryID), got.Retry, got.Status, what)
	_, err := c.deps.Stdout.Write(out.Bytes())
	return err
}
