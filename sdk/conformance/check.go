package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Tester is the part of *testing.T that the suites use.
type Tester[T any] interface {
	Helper()
	Errorf(format string, args ...any)
	Skipf(format string, args ...any)
	Run(name string, f func(T)) bool
}

// Result is the outcome of one check.
type Result struct {
	Name     string        `json:"name"`  // for example spawn/idempotent
	About    string        `json:"about"` // the promise
	Duration time.Duration `json:"-"`
	Skipped  string        `json:"skipped,omitempty"` // why it does not apply; empty: it ran
	Err      error         `json:"-"`                 // nil: it holds
}

// Passed reports whether the promise is kept, as far as it applies.
func (r Result) Passed() bool { return r.Err == nil }

// check is one promise of a contract about a subject S.
type check[S any] struct {
	name  string
	about string
	quick bool // changes nothing, and takes no time to speak of
	run   func(ctx context.Context, subject S) error
}

// notApplicable ends a check whose promise the subject does not make.
type notApplicable struct{ why string }

// Error implements error.
func (e notApplicable) Error() string { return e.why }

func skip(format string, args ...any) error { return notApplicable{fmt.Sprintf(format, args...)} }

// perform runs one check within its time. A panic of the subject's client is a failure of the check.
func perform[S any](ctx context.Context, c check[S], subject S, timeout time.Duration) (result Result) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result = Result{Name: c.name, About: c.about}
	defer func() {
		if reason := recover(); reason != nil {
			result.Err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
		result.Duration = time.Since(begin)
	}()
	err := c.run(ctx, subject)
	if skipped, ok := errors.AsType[notApplicable](err); ok {
		result.Skipped = skipped.why
		return result
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (the check ran out of its %v)", err, timeout)
	}
	result.Err = err
	return result
}

// runAll runs checks as subtests.
func runAll[S any, T Tester[T]](ctx context.Context, t T, checks []check[S], subject S, timeout time.Duration) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t T) {
			t.Helper()
			result := perform(ctx, c, subject, timeout)
			if result.Skipped != "" {
				t.Skipf("does not apply: %s", result.Skipped)
			}
			if result.Err != nil {
				t.Errorf("%s: %v", c.about, result.Err)
			}
		})
	}
}
