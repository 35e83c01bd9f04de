// Package schema reads a Go struct with tags from JSON or YAML, strictly, and writes the JSON Schema that says the same.
//
// It owns the tags (see Shape), the words in which problems with a text are reported, and the nearest known word for
// a misspelt one. Whoever reads something that a person wrote reads it through here: core/api the bodies of
// requests, core/config the configuration; core/pattern words its problems with it. It reads no file and no
// environment, and knows nothing of what the values mean beyond their tags and named rules.
//
// A text that is no JSON or YAML is refused at its first fault. Otherwise every problem is reported, with path, line and
// column, in a body up to MaxProblems. Depth is bounded, a key that comes twice is refused, and what stays raw keeps every digit.
// Everything here is pure, or belongs to one reader; Shapes are shared and read-only.
package schema
