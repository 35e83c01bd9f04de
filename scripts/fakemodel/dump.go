package fakemodel

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxDumps bounds the files in the folder for request bodies.
const maxDumps = 500

// dump keeps the body of a request in a file, to see what a new version of a program sends. Headers are left
// out: they carry keys.
func (s *Server) dump(seq uint64, api string, b node) {
	if s.options.Dump == "" || s.dumps.Add(1) > maxDumps {
		return
	}
	name := filepath.Join(s.options.Dump, fmt.Sprintf("%06d-%s.json", seq, api))
	if err := os.WriteFile(name, []byte(b.compact()+"\n"), 0o600); err != nil {
		s.log.fail(err)
	}
}
