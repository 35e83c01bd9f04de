package plugin

import (
	"context"
)

// Serve is the program started by hand in an environment of the test's.
func Serve(ctx context.Context, o Options, getenv func(string) string) error {
	def := Definition(o)
	return (&services{o: o}).serve(ctx, &def, getenv)
}
