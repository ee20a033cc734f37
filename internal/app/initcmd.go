package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// This file is `tcdbg init`: it unpacks torch and what it needs from the
// binary and writes the go.mod under which `go run`, gopls and vet work.

// torchFolder is where init unpacks the library, in the user's folder.
const torchFolder = ".tcdbg/torch-src"

func (s *session) initCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [FOLDER]", Short: "Write a go.mod and unpack torch, for go run and gopls", Args: cobra.MaximumNArgs(1),
		Long: `Writes go.mod (or adds to it) and unpacks torch into ` + torchFolder + `, so that
go run model.go, gopls and go vet work on programs that import tcdbg/torch.
tcdbg run needs none of this.`,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return s.initFolder(dir, force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "overwrite an older copy of torch")
	return c
}

func (s *session) initFolder(dir string, force bool) error {
	to := filepath.Join(dir, torchFolder)
	if st, err := os.Lstat(filepath.Dir(to)); err == nil && !st.IsDir() {
		return failf(ExitWrite, "%s is no folder: torch would be unpacked elsewhere", filepath.Dir(to))
	}
	if _, err := os.Stat(to); err == nil {
		if !force {
			return failf(ExitUsage, "%s exists; --force replaces it", to)
		}
		if err := os.RemoveAll(to); err != nil {
			return fileError("cannot replace", to, err, "")
		}
	}
	n, err := unpack(s.Source, to)
	if err != nil {
		return err
	}
	mod := "module tcdbg\n\ngo 1.26.0\n"
	if err := writeText(filepath.Join(to, "go.mod"), mod); err != nil {
		return err
	}
	path, err := writeGoMod(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, "unpacked torch %s (%d files) to %s and wrote %s; go run model.go works now\n", Version, n, to, path)
	return err
}

// unpack writes the Go files of the embedded tree; tests and their data stay
// in the binary.
func unpack(src fs.FS, to string) (files int, err error) {
	err = fs.WalkDir(src, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(src, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return fileError("cannot make", filepath.Dir(dst), err, "")
		}
		if err := writeText(dst, string(text)); err != nil {
			return err
		}
		files++
		return nil
	})
	return files, err
}

// writeGoMod makes go.mod, or adds our two lines to one that is there.
func writeGoMod(dir string) (string, error) {
	path := filepath.Join(dir, "go.mod")
	need := "require tcdbg v0.0.0\n\nreplace tcdbg => ./" + torchFolder + "\n"
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		abs, _ := filepath.Abs(dir)
		text = []byte("module " + moduleName(filepath.Base(abs)) + "\n\ngo 1.26.0\n\n" + need)
	case err != nil:
		return path, fileError("cannot read", path, err, "")
	case strings.Contains(string(text), "replace tcdbg =>"):
		return path, nil
	default:
		text = append(append(text, '\n'), need...)
	}
	return path, writeText(path, string(text))
}

// moduleName is a module path from a folder's name.
func moduleName(base string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, base)
	if name = strings.Trim(name, "-"); name == "" || name == "tcdbg" {
		return "model"
	}
	return name
}
