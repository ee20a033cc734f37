// Command time-in-turns runs several commands in turns and prints for each the shortest
// wall time in milliseconds and the largest memory in MB:
//
//	time-in-turns RUNS COMMAND [ARG ...] -- COMMAND [ARG ...]
//
// In arguments {} is the number of the run. Output is thrown away.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "turns:", err)
		os.Exit(1)
	}
}

// best is what the runs of one command came to.
type best struct {
	wall   time.Duration
	memory int64 // KB
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("wants a number of runs and a command")
	}
	runs, err := strconv.Atoi(args[0])
	if err != nil || runs < 1 {
		return fmt.Errorf("%s is no number of runs", args[0])
	}
	commands := split(args[1:])
	results := make([]best, len(commands))
	for n := range runs {
		for i, c := range commands {
			if err := results[i].time(n, c); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(c, " "), err)
			}
		}
	}
	for _, b := range results {
		fmt.Printf("%.2f %.0f\n", float64(b.wall)/1e6, float64(b.memory)/1024)
	}
	return nil
}

// split cuts a list of words at every "--".
func split(words []string) [][]string {
	var out [][]string
	for {
		i := slices.Index(words, "--")
		if i < 0 {
			return append(out, words)
		}
		out, words = append(out, words[:i]), words[i+1:]
	}
}

// time runs a command once.
func (b *best) time(n int, words []string) error {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{}", strconv.Itoa(n))
	}
	cmd := exec.Command(words[0], words[1:]...)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	wall := time.Since(begin)
	if b.wall == 0 || wall < b.wall {
		b.wall = wall
	}
	b.memory = max(b.memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return nil
}
