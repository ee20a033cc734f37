// Package exported is `tcdbg run model.pt2`: a program that PyTorch exported is run by a small Go
// program, program.go.txt, which loads it, calls it and prints what comes out. It is loaded in
// place of the file's bytes.
package exported

import (
	_ "embed"
	"path/filepath"
	"strings"
)

//go:embed program.go.txt
var program []byte

// suffix ends the names of torch.export.save's files.
const suffix = ".pt2"

// Is reports whether a path names a file of torch.export.save.
func Is(path string) bool { return strings.HasSuffix(path, suffix) }

// Overlay is the text of the program that runs the one file of paths, by the file's path; nil for
// other programs.
func Overlay(paths []string) (map[string][]byte, error) {
	if len(paths) != 1 || !Is(paths[0]) {
		return nil, nil
	}
	path, err := filepath.Abs(paths[0])
	if err != nil {
		return nil, err
	}
	return map[string][]byte{path: program}, nil
}
