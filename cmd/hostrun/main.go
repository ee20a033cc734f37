// Command hostrun runs a Go program in the interpreter alone, without tracer
// or screen: the child process of the conformance run.
//
// Usage: hostrun FILES.go [-- ARGUMENTS]
package main

import (
	"fmt"
	"io/fs"
	"os"

	"tcdbg/tracer/host"
)

func main() {
	paths, args := os.Args[1:], []string(nil)
	for i, a := range paths {
		if a == "--" {
			paths, args = paths[:i], paths[i+1:]
			break
		}
	}
	p, err := host.Load(host.LoadConfig{Paths: paths, Source: sourceFolder()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	e := host.New(p, host.Config{Args: append([]string{paths[0]}, args...)}).Run()
	os.Exit(e.Code)
}

// sourceFolder is the checkout, when it is run there: nn and its like are
// interpreted from their source.
func sourceFolder() fs.FS {
	if _, err := os.Stat("torch/nn"); err != nil {
		return nil
	}
	return os.DirFS(".")
}
