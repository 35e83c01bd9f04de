package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// maxFile bounds one configuration file; a larger one is a mistake such as a log in the wrong place.
const maxFile = int64(1) << 20

// DropInDir is the directory of drop-ins, beside the main file.
const DropInDir = "conf.d"

// Lookup finds an environment variable, as os.LookupEnv does.
type Lookup = schema.Lookup

// Options changes how a configuration is read.
type Options struct {
	// Lookup finds the environment variables that values refer to; nil is os.LookupEnv.
	Lookup Lookup
	// Partial is for files that are not all of a configuration: rules between keys, and about what is missing, are left out.
	Partial bool
}

// File is the text of one configuration file.
type File struct {
	Name string // for messages; relative paths inside are relative to its directory
	Data []byte
}

// Load reads the file and the drop-ins conf.d/*.yaml beside it, in lexical order, each one over what came
// before: sections merge, values and lists replace. Keys that no file names keep their default.
//
// NOT_FOUND when the main file does not exist. VALIDATION_ERROR lists everything that is wrong in all the
// files at once; see Problems.
func Load(path string, opts Options) (*Config, error) {
	main, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &core.Error{
			Code:    core.CodeNotFound,
			Message: fmt.Sprintf("the configuration file %s does not exist", path),
			Details: map[string]any{"resource": "configuration file", "id": path},
		}
	}
	if err != nil {
		return nil, asError([]Problem{unreadable(path, err)}, nil)
	}
	files, problems := readDropIns(filepath.Join(filepath.Dir(path), DropInDir))
	return parse(append([]File{main}, files...), opts, problems)
}

// Parse is Load for text that is already in memory: the first file is the main one.
func Parse(files []File, opts Options) (*Config, error) { return parse(files, opts, nil) }

// DropIns reads the drop-ins of a main file as Load does. VALIDATION_ERROR lists those that it cannot read.
func DropIns(path string) ([]File, error) {
	files, problems := readDropIns(filepath.Join(filepath.Dir(path), DropInDir))
	return files, asError(problems, nil)
}

// parse applies the files one after the other; problems were found while they were read.
func parse(files []File, opts Options, problems []Problem) (*Config, error) {
	lookup := opts.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	c := Default()
	c.places = map[string]schema.Place{}
	reader := schema.YAML{
		Rules: rules, Lookup: lookup, Places: c.places,
		Report: func(at schema.Place, key, reason string) {
			problems = append(problems, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: key, Reason: reason})
		},
	}
	order := map[string]int{}
	for i, file := range files {
		order[file.Name] = i
		abs, err := filepath.Abs(file.Name)
		if err != nil {
			return nil, core.Errorf(core.CodeInternal, "the working directory cannot be found").WithCause(err)
		}
		reader.File, reader.Dir = file.Name, filepath.Dir(abs)
		reader.Read(file.Data, c)
		c.files = append(c.files, file.Name)
		if !blank(file.Data) {
			c.filled = append(c.filled, file.Name)
		}
	}
	for i, p := range problems { // files that could not be read come last
		if _, ok := order[p.File]; !ok {
			order[p.File] = len(files) + i
		}
	}
	if !opts.Partial {
		problems = append(problems, c.relations(problems)...)
		problems = append(problems, c.entryRules(problems)...)
	}
	if err := asError(problems, order); err != nil {
		return nil, err
	}
	return c, nil
}

// blank reports whether a text holds nothing but space, comments and marks of documents.
func blank(text []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0, line[0] == '#', string(line) == "---", string(line) == "...":
		default:
			return false
		}
	}
	return true
}

// readDropIns reads the drop-ins of a directory, if there is one, and reports those it cannot read.
func readDropIns(dir string) (files []File, problems []Problem) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{unreadable(dir, err)}
	}
	names, problems := dropIns(dir, entries)
	for _, name := range names {
		path := filepath.Join(dir, name)
		file, err := readFile(path)
		if err != nil {
			problems = append(problems, unreadable(path, err))
			continue
		}
		files = append(files, file)
	}
	return files, problems
}

// dropIns picks the names to read, in lexical order. Hidden files and the leavings of editors and package
// managers (.yaml~, .yaml.dpkg-old) are passed over; a .yml is a mistake that would go unnoticed.
func dropIns(dir string, entries []fs.DirEntry) (names []string, problems []Problem) {
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, ".") || entry.IsDir():
		case strings.HasSuffix(name, ".yaml"):
			names = append(names, name)
		case strings.HasSuffix(name, ".yml"):
			problems = append(problems, Problem{
				File:   filepath.Join(dir, name),
				Reason: "would be ignored: the name of a drop-in ends in .yaml; rename or remove it",
			})
		}
	}
	sort.Strings(names)
	return names, problems
}

// readFile reads a regular file of bounded size, following symbolic links.
func readFile(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errors.New("is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) > maxFile {
		return File{}, fmt.Errorf("is larger than %s", schema.FormatSize(maxFile))
	}
	return File{Name: path, Data: data}, nil
}

// unreadable reports a file that is there and cannot be used. The reason is for the operator of this
// machine, so the system's own words are kept.
func unreadable(path string, err error) Problem {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return Problem{File: path, Reason: "cannot be read: " + err.Error()}
}
