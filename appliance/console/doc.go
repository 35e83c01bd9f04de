// Package console serves the web console: one page and its files, built from ui and embedded in the binary.
//
// It owns the page, its address below the path of server.baseUrl, its content policy and how its files are cached. It
// owns no data and no endpoint: the page is a client of the API like any other. The appliance puts Handler before the
// API; what is not the console's, errors for clients that ask for no HTML included, goes on to it.
//
// dist is written by `make console` (scripts/console), and a test of that module compares it byte for byte.
package console
