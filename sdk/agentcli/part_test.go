package agentcli_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

func TestReadPart(t *testing.T) {
	for _, tt := range []struct {
		offset int64
		limit  int
		want   string
		at     int64
	}{
		{0, 100, "0123456789", 0},
		{4, 3, "456", 4},
		{10, 3, "", 10},
		{11, 3, "", 11},
		{-3, 100, "789", 7},
		{-3, 2, "78", 7},
		{-30, 4, "0123", 0},
		{2, 0, "", 2},
	} {
		data, at, err := agentcli.ReadPart(strings.NewReader("0123456789"), tt.offset, tt.limit)
		if string(data) != tt.want || at != tt.at || err != nil {
			t.Errorf("from %d, at most %d: %q at %d, %v", tt.offset, tt.limit, data, at, err)
		}
	}
}
