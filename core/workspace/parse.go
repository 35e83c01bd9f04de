package workspace

import (
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

const (
	maxSubject = 300 // bytes of a commit's subject that are kept
	maxAuthor  = 120
)

// parseLog reads what log -z --format=%H%x1f%an%x1f%ct%x1f%s wrote. What does not fit is left out.
func parseLog(out []byte) []core.WorkspaceCommit {
	var commits []core.WorkspaceCommit
	for _, entry := range splitNul(out) {
		fields := strings.SplitN(entry, "\x1f", 4)
		if len(fields) != 4 || !fullHash.MatchString(fields[0]) {
			continue
		}
		// A name may hold the separator; the time is then not where it should be.
		seconds, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || seconds < 0 || seconds > 253402300799 { // the year 9999: later ones have no JSON form
			seconds = 0
		}
		commits = append(commits, core.WorkspaceCommit{
			Hash: fields[0], Author: plain(fields[1], maxAuthor), Subject: plain(fields[3], maxSubject), Time: time.Unix(seconds, 0).UTC(),
		})
	}
	return commits
}

// plain makes text that an agent wrote fit for a record: valid, on one line, and not long.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if len(text) > most {
		text = clip.Text(text, most-3) + "..."
	}
	return text
}

// statuses are the letters of git's raw diff in our words; T is a change of type, C a copy.
var statuses = map[byte]string{'A': "added", 'M': "modified", 'D': "deleted", 'R': "renamed", 'T': "modified", 'C': "added", 'U': "modified"}

// parseDiff reads what diff --raw --numstat -z wrote: raw entries ":mode mode hash hash S\0path\0", with a second path for
// renames and copies, then numstat entries "added\tdeleted\tpath\0", or "added\tdeleted\t\0old\0new\0" for renames.
func parseDiff(out []byte) []core.WorkspaceFile {
	parts := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var files []core.WorkspaceFile
	at := make(map[string]int) // path to its place in files
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		if strings.HasPrefix(part, ":") {
			fields := strings.Fields(part)
			if len(fields) != 5 || i+1 >= len(parts) {
				continue
			}
			letter, from := fields[4][0], ""
			i++
			if letter == 'R' || letter == 'C' {
				from = parts[i]
				i++
			}
			if i >= len(parts) {
				break
			}
			status, ok := statuses[letter]
			if _, twice := at[parts[i]]; !ok || twice { // unmerged paths come twice
				continue
			}
			at[parts[i]] = len(files)
			file := core.WorkspaceFile{Path: legible(parts[i]), Status: status}
			if letter == 'R' {
				file.From = legible(from)
			}
			files = append(files, file)
			continue
		}
		fields := strings.SplitN(part, "\t", 3)
		if len(fields) != 3 {
			continue
		}
		name := fields[2]
		if name == "" {
			if i += 2; i >= len(parts) {
				break
			}
			name = parts[i]
		}
		place, ok := at[name]
		if !ok {
			continue
		}
		files[place].Insertions = atoi(fields[0])
		files[place].Deletions = atoi(fields[1])
	}
	return files
}

// atoi reads a count of numstat; binaries have a dash.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
