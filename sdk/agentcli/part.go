package agentcli

import (
	"errors"
	"io"
)

// ReadPart is Room.ReadFrom for a file that is open: it reads at most limit bytes from an offset on, or from -offset bytes
// before the end.
func ReadPart(file io.ReadSeeker, offset int64, limit int) (data []byte, at int64, err error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	at = offset
	if offset < 0 {
		at = max(0, size+offset)
	}
	if at >= size || limit <= 0 {
		return nil, at, nil
	}
	if _, err := file.Seek(at, io.SeekStart); err != nil {
		return nil, 0, err
	}
	data = make([]byte, min(int64(limit), size-at))
	n, err := io.ReadFull(file, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it became shorter meanwhile
		err = nil
	}
	return data[:n], at, err
}
