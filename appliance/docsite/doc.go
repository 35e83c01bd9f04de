// Package docsite serves the documentation below /docs: the pages of docs, the reference of the configuration, made from the
// keys themselves, and that of the API, made from its OpenAPI document.
//
// It owns how Markdown becomes HTML, the navigation, the search and the content policy of these pages, which run no script and
// ask no other host for anything. It owns no text and no data: the pages are those of the package docs. Everybody may read
// them, as there is nothing of an installation in them but its version. The appliance puts Handler before the console and the
// API; what is not below /docs goes on to them.
package docsite
