package cmd

import "io"

// outWriter is the output of what cobra prints by itself, as helps are: it drops the errors of that. It is not safe for concurrent use.
type outWriter struct {
	io.Writer
	err error // the first one; nil: all was written
}

func (w *outWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if w.err == nil {
		w.err = err
	}
	return n, err
}
