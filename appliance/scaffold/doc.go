// Package scaffold makes new modules for authors of plugins: complete ones, which build and pass the conformance
// suite as they are written.
//
// It owns the templates and where they are written. It does not build or fetch anything, and knows nothing of a
// server. `wardroom plugin new` calls it; plugins/example is what it makes, which a test keeps so: after a change of
// a template, or of the root's requirements and `go mod tidy` in plugins/example, `go test -update` here brings the
// two together.
package scaffold
