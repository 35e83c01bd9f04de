// Package file is an audit sink that writes records as JSON lines, byte for byte as the appliance sealed them, so that
// `wardroom audit verify` checks its files.
//
// It owns the files: it rotates them by size and age, compresses the former ones, finds its place after a crash, and
// opens its file again when somebody else moved it. It removes no file but those beyond rotation.maxFiles.
package file
