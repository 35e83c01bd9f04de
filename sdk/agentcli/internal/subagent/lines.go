package subagent

import "bytes"

// Lines calls each with the whole lines of a transcript, which read returns in parts from an offset, and nothing at its end. It stops
// at a line that is longer than longest bytes. An error is that of read: what was seen so far is not all then.
func Lines(read func(offset int64) ([]byte, int64, error), longest int, each func(line []byte)) error {
	var rest []byte
	for offset := int64(0); len(rest) <= longest; {
		data, _, err := read(offset)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return nil
		}
		offset += int64(len(data))
		rest = append(rest, data...)
		for {
			line, after, whole := bytes.Cut(rest, []byte("\n"))
			if !whole {
				break
			}
			rest = after
			each(line)
		}
	}
	return nil
}
