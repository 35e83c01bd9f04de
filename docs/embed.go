// Package docs holds the pages of the documentation, so that the appliance can serve them without a network and without its
// package.
//
// It holds no logic and imports nothing. README.md is the contents: its headings and lists are the navigation. The pages are
// rendered by appliance/docsite, which serves them.
package docs

import "embed"

// Pages are the pages, Markdown each.
//
//go:embed *.md
var Pages embed.FS
