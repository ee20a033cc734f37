// Command tcdbg compiles and debugs tensor programs: it runs Go programs
// against package torch under its own compiler, watches and replays PyTorch's
// compiler, and shows where graphs broke, why they were compiled again, what
// was fused and what to change.
//
// Open internal/app/app.go next: all wiring is there.
package main

import (
	"embed"
	"os"

	"tcdbg/internal/app"
)

// source holds torch and the packages below it: the host interprets torch/nn
// and its like from here, and `tcdbg init` unpacks all of it for `go run`. The patterns leave
// out what tests read (testdata); TestSourceIsWhole fails when a folder is missing here.
//
//go:embed ops/*.go ops/*/*.go
//go:embed torch/*.go torch/*/*.go torch/*/*/*.go torch/nn/internal/*/*.go
//go:embed torch/internal/*/*.s
//go:embed torch/export/*.txt
var source embed.FS

func main() {
	os.Exit(app.Main(app.Process{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Source: source,
	}))
}
