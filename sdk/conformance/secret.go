package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/secret"
)

// SecretOptions say what is checked.
type SecretOptions struct {
	Provider secret.Provider
	// Known are secrets that the caller put into the provider's store, two at least, with values long enough not
	// to occur by chance.
	Known []KnownSecret
	// Unknown is a reference in the provider's form to a secret that is not there.
	Unknown secret.Ref
	// Logs returns everything that the provider has logged so far. Nil: logs are not checked.
	Logs func() string
	// Timeout bounds each check; 0: a minute.
	Timeout time.Duration
}

// KnownSecret is a secret and its value.
type KnownSecret struct {
	Ref   secret.Ref
	Value []byte
}

// Secret checks a secret provider as subtests of t.
func Secret[T Tester[T]](ctx context.Context, t T, o SecretOptions) {
	t.Helper()
	if len(o.Known) < 2 {
		t.Errorf("SecretOptions.Known needs two secrets")
		return
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	runAll(ctx, t, secretChecks, &o, o.Timeout)
}

var secretChecks = []check[*SecretOptions]{
	{"resolve/order", "there is one result for each reference, in order, with its value", false, resolveOrder},
	{"resolve/unknown", "a reference without a secret is NOT_FOUND and does not keep others from their values", false, resolveUnknown},
	{"resolve/none", "no references give no results and no error", true, resolveNone},
	{"resolve/redacted", "values appear in no print, encoding, error or log", false, resolveRedacted},
	{"resolve/canceled", "a call whose context has ended returns soon", false, resolveCanceled},
	{"watch/end", "a watch ends with its context, and when it is closed", false, watchEnd},
}

func (o *SecretOptions) refs() []secret.Ref {
	refs := make([]secret.Ref, 0, len(o.Known))
	for _, known := range o.Known {
		refs = append(refs, known.Ref)
	}
	return refs
}

func (o *SecretOptions) resolve(ctx context.Context, refs []secret.Ref) ([]secret.Result, error) {
	results, err := o.Provider.Resolve(ctx, refs, secret.Caller{Component: "conformance"})
	if err != nil {
		return nil, fmt.Errorf("Resolve: %w", err)
	}
	if len(results) != len(refs) {
		return nil, fmt.Errorf("Resolve of %d references has %d results", len(refs), len(results))
	}
	for i, result := range results {
		if result.Ref != refs[i] {
			return nil, fmt.Errorf("result %d is about %v instead of %v", i, result.Ref, refs[i])
		}
	}
	return results, nil
}

func resolveOrder(ctx context.Context, o *SecretOptions) error {
	known := slices.Clone(o.Known)
	for range 2 {
		part := &SecretOptions{Provider: o.Provider, Known: known}
		results, err := part.resolve(ctx, part.refs())
		if err != nil {
			return err
		}
		for i, result := range results {
			if result.Error != nil {
				return fmt.Errorf("%v: %w", result.Ref, result.Error)
			}
			if !bytes.Equal(result.Value.Reveal(), known[i].Value) {
				return fmt.Errorf("%v has another value than the one that was put there", result.Ref)
			}
		}
		slices.Reverse(known)
	}
	return nil
}

func resolveUnknown(ctx context.Context, o *SecretOptions) error {
	results, err := o.resolve(ctx, []secret.Ref{o.Known[0].Ref, o.Unknown, o.Known[1].Ref})
	if err != nil {
		return err
	}
	if results[1].Error == nil || results[1].Error.Code != secret.CodeNotFound {
		return fmt.Errorf("a reference to nothing gives the error %w and should be NOT_FOUND", results[1].Error)
	}
	if !results[1].Value.IsZero() {
		return errors.New("a reference to nothing gives a value")
	}
	for i, known := range map[int]KnownSecret{0: o.Known[0], 2: o.Known[1]} {
		if results[i].Error != nil || !bytes.Equal(results[i].Value.Reveal(), known.Value) {
			return fmt.Errorf("beside a reference to nothing, %v is not resolved: %w", known.Ref, results[i].Error)
		}
	}
	return nil
}

func resolveNone(ctx context.Context, o *SecretOptions) error {
	_, err := o.resolve(ctx, nil)
	return err
}

func resolveRedacted(ctx context.Context, o *SecretOptions) error {
	results, err := o.resolve(ctx, append(o.refs(), o.Unknown))
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("a result cannot be encoded: %w", err)
	}
	said := []string{string(encoded), fmt.Sprintf("%v %+v %#v %s", results, results, results, results)}
	for _, result := range results {
		said = append(said, result.Value.String(), fmt.Sprintf("%x %q", result.Value, result.Value))
		if result.Error != nil {
			said = append(said, result.Error.Error(), result.Error.Hint)
		}
	}
	if o.Logs != nil {
		said = append(said, o.Logs())
	}
	for _, known := range o.Known {
		for _, text := range said {
			if strings.Contains(text, string(known.Value)) {
				return fmt.Errorf("the value of %v can be read where it must not", known.Ref)
			}
		}
	}
	return nil
}

// resolveCanceled accepts values too: what is known already is soon enough. What it wants is an answer.
func resolveCanceled(ctx context.Context, o *SecretOptions) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	answered := make(chan struct{})
	go func() { // ends with the call
		defer close(answered)
		_, _ = o.Provider.Resolve(ended, o.refs(), secret.Caller{})
	}()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return errors.New("Resolve goes on after the end of its context")
	}
}

func watchEnd(ctx context.Context, o *SecretOptions) error {
	watcher, ok := o.Provider.(secret.Watcher)
	if !ok {
		return skip("the provider does not tell of changes")
	}
	for name, end := range map[string]func(cancel func(), stream secret.ChangeStream){
		"the end of its context": func(cancel func(), _ secret.ChangeStream) { cancel() },
		"Close":                  func(_ func(), stream secret.ChangeStream) { _ = stream.Close() },
	} {
		inner, cancel := context.WithCancel(ctx)
		stream, err := watcher.Watch(inner, o.refs())
		if secret.AsError(err) != nil && secret.AsError(err).Code == secret.CodeUnimplemented {
			cancel()
			return skip("the provider does not tell of changes")
		}
		if err != nil {
			cancel()
			return fmt.Errorf("Watch: %w", err)
		}
		ended := make(chan error, 1)
		go func() { // ends with the stream
			for {
				if _, err := stream.Next(); err != nil {
					ended <- err
					return
				}
			}
		}()
		end(cancel, stream)
		select {
		case err = <-ended:
		case <-ctx.Done():
			err = fmt.Errorf("a watch goes on after %s", name)
		}
		cancel()
		_ = stream.Close()
		if ctx.Err() != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}
