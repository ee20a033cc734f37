package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tcdbg/backends"
	"tcdbg/backends/codecache"
)

// This file is the commands around what is kept and the installation: runs, cache, doctor, init.

func (s *session) maintenanceCommands() []*cobra.Command {
	return []*cobra.Command{s.runsCommand(), cacheCommand(s), s.doctorCommand(), s.initCommand()}
}

func (s *session) runsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "runs", Short: "List saved runs; remove, prune", Args: cobra.NoArgs,
		Example: "  tcdbg runs\n  tcdbg runs remove last\n  tcdbg runs prune --keep 20",
		RunE:    func(*cobra.Command, []string) error { return s.listRuns() },
	}
	var keep int
	var older time.Duration
	prune := &cobra.Command{
		Use: "prune", Short: "Remove old runs", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return s.pruneRuns(keep, older) },
	}
	prune.Flags().IntVar(&keep, "keep", 20, "how many of the newest to keep")
	prune.Flags().DurationVar(&older, "older", 0, "remove only runs older than this, such as 72h")
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List saved runs", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return s.listRuns() },
	}, &cobra.Command{
		Use: "remove RUN ...", Aliases: []string{"rm"}, Short: "Remove saved runs by id, or last", Args: atLeast(1, "a run to remove"),
		RunE: func(_ *cobra.Command, args []string) error { return s.removeRuns(args) },
	}, prune)
	return c
}

// listRuns prints a table of runs, newest last.
func (s *session) listRuns() error {
	runs, err := listRuns()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(s.Stdout, "no saved runs; tcdbg run model.go and tcdbg exec -- python train.py make them")
		return err
	}
	w := tabwriter.NewWriter(s.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tWHEN\tTOOK\tSTATE\tSIZE\tCOMMAND")
	var total int64
	for _, r := range runs {
		size := folderSize(r.Path)
		total += size
		took := "-"
		if r.Info.End != nil {
			took = r.Info.End.Sub(r.Info.Start).Round(10 * time.Millisecond).String()
		}
		cmd := strings.Join(append(append([]string(nil), r.Info.Program...), r.Info.Args...), " ")
		fmt.Fprintf(
			w, "%s\t%s\t%s\t%s\t%s\t%s\n", shown(r.Info.ID), r.Info.Start.Format("Jan _2 15:04"), took, shown(stateWord(&r.Info)),
			sizeText(size), shown(r.Info.Kind+" "+cmd),
		)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, "%s, %s; tcdbg runs prune removes old ones\n", countOf(len(runs), "run"), sizeText(total))
	return err
}

func stateWord(i *RunInfo) string {
	switch {
	case i.State == Running && i.Left != 0:
		return fmt.Sprintf("running, process %d", i.Left)
	case i.State == Running, i.State == Lost:
		return string(i.State)
	case i.State == Unseen:
		return "end unknown"
	case i.Signal != "":
		return i.Signal
	case i.State == Crashed:
		return "crashed"
	}
	return fmt.Sprintf("exit %d", i.Code)
}

func folderSize(path string) int64 {
	var n int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				n += st.Size()
			}
		}
		return nil
	})
	return n
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.0f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

func (s *session) removeRuns(names []string) error {
	for _, name := range names {
		r, err := findRun(name)
		if err != nil {
			return err
		}
		if r.Info.State == Running {
			return failf(ExitUsage, "run %s is still running", r.Info.ID)
		}
		if err := os.RemoveAll(r.Path); err != nil {
			return fileError("cannot remove", r.Path, err, "")
		}
		fmt.Fprintln(s.Stdout, "removed", r.Info.ID)
	}
	return nil
}

func (s *session) pruneRuns(keep int, older time.Duration) error {
	runs, err := listRuns()
	if err != nil {
		return err
	}
	removed := 0
	for i, r := range runs {
		if i >= len(runs)-keep || r.Info.State == Running || time.Since(r.Info.Start) < older {
			continue
		}
		if err := os.RemoveAll(r.Path); err != nil {
			return fileError("cannot remove", r.Path, err, "")
		}
		removed++
	}
	_, err = fmt.Fprintf(s.Stdout, "removed %d of %s\n", removed, countOf(len(runs), "run"))
	return err
}

// cacheCommand is about compiled code: what is kept, and taking it to another machine.
func cacheCommand(s *session) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "cache", Short: "The cache of compiled code: list, clear, export, import", Args: cobra.NoArgs,
		Long: `Kernels of Go programs are compiled once and kept, so that the next run of a
program starts warm. The cache holds 1 GB at most; what was not used for the longest
time goes.

export writes the code as one file; import adds such a file to the cache of another
machine with the same C compiler and processor, where the first run then compiles
nothing. What is imported is executed: import files of people whom you would let run
programs on the machine.`,
		Example: "  tcdbg cache\n  tcdbg cache export warm.zip\n  tcdbg cache import warm.zip\n  tcdbg cache clear",
		RunE:    func(*cobra.Command, []string) error { return listCache(s, asJSON) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List what is kept, the last used first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return listCache(s, asJSON) },
	}
	for _, c := range []*cobra.Command{c, list} {
		c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	}
	c.AddCommand(list, &cobra.Command{
		Use: "clear", Short: "Remove all of it", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return clearCache(s) },
	}, &cobra.Command{
		Use: "export FILE", Short: "Write the code as one file", Args: exactly("a file to write"),
		RunE: func(_ *cobra.Command, args []string) error { return exportCache(s, args[0]) },
	}, &cobra.Command{
		Use: "import FILE", Short: "Add what export has written on a machine of the same kind", Args: exactly("a file to read"),
		RunE: func(_ *cobra.Command, args []string) error { return importCache(s, args[0]) },
	})
	return c
}

// exactly asks for one argument.
func exactly(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return failf(ExitUsage, "%s needs %s and nothing else; see tcdbg cache %s --help", c.Name(), what, c.Name())
		}
		return nil
	}
}

// cacheFolder is where the cache is.
func cacheFolder() (string, error) {
	dir, err := codecache.DefaultDir()
	if err != nil {
		return "", failf(ExitUsage, "%s", err)
	}
	return dir, nil
}

// cacheInfo is an entry as --json has it.
type cacheInfo struct {
	Name string    `json:"name"`
	Kind string    `json:"kind"`
	Size int64     `json:"bytes"`
	Used time.Time `json:"used"`
}

func listCache(s *session, asJSON bool) error {
	dir, err := cacheFolder()
	if err != nil {
		return err
	}
	entries, err := codecache.List(dir)
	if err != nil {
		return fileError("cannot read", dir, err, "")
	}
	if asJSON {
		out := []cacheInfo{}
		for _, e := range entries {
			out = append(out, cacheInfo(e))
		}
		text, err := json.MarshalIndent(out, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Stdout, string(text))
		return err
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(s.Stdout, "%s holds no compiled code; tcdbg run model.go fills it\n", dir)
		return err
	}
	w := tabwriter.NewWriter(s.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ENTRY\tKIND\tSIZE\tUSED")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", shown(e.Name), shown(e.Kind), sizeText(e.Size), e.Used.Format("Jan _2 15:04"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		s.Stdout, "%s, %s of at most %s in %s\n", entriesOf(entries), sizeOf(entries), sizeText(codecache.DefaultLimit), dir,
	)
	return err
}

func clearCache(s *session) error {
	dir, err := cacheFolder()
	if err != nil {
		return err
	}
	gone, err := codecache.Clear(dir)
	if err != nil {
		return fileError("cannot clear", dir, err, "")
	}
	_, err = fmt.Fprintf(s.Stdout, "removed %s, %s\n", entriesOf(gone), sizeOf(gone))
	return err
}

func exportCache(s *session, path string) error {
	dir, err := cacheFolder()
	if err != nil {
		return err
	}
	machine := backends.CodeFor()
	if machine == "" {
		return failf(ExitUsage, "there is no C compiler here, so nothing can be said of the code; set CC")
	}
	if entries, err := codecache.List(dir); err == nil && len(entries) == 0 {
		return failf(ExitNoFile, "%s holds no compiled code; run the program once, then export", dir)
	}
	var out []codecache.Info
	var skipped int
	err = writeOut(path, func(o *outFile) error {
		var err error
		out, skipped, err = codecache.Export(dir, machine, o)
		return err
	})
	if err != nil {
		return err
	}
	if skipped > 0 {
		fmt.Fprintf(s.Stderr, "tcdbg: left out %d that are not whole\n", skipped)
	}
	_, err = fmt.Fprintf(s.Stdout, "wrote %s, %s, to %s; tcdbg cache import reads it on a machine of the same kind\n",
		entriesOf(out), sizeOf(out), shown(path))
	return err
}

func importCache(s *session, path string) error {
	dir, err := cacheFolder()
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fileError("cannot read", path, err, "")
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return failf(ExitNoFile, "cannot read %s: it is no regular file", shown(path))
	}
	added, have, err := codecache.Import(dir, backends.CodeFor(), f, st.Size())
	switch {
	case errors.Is(err, codecache.ErrOtherMachine):
		return failf(ExitUsage, "%s is not imported: %s, and would not be used here", shown(path), err)
	case err != nil:
		return failf(ExitUsage, "%s is not imported: %s", shown(path), shown(err.Error()))
	}
	_, err = fmt.Fprintf(s.Stdout, "added %s, %s; %s there already\n", entriesOf(added), sizeOf(added), wereThere(len(have)))
	return err
}

func wereThere(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

func entriesOf(list []codecache.Info) string {
	if len(list) == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", len(list))
}

func sizeOf(list []codecache.Info) string {
	var n int64
	for _, e := range list {
		n += e.Size
	}
	return sizeText(n)
}

func (s *session) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check compiler, CPU, terminal and folders", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return s.doctor() },
	}
}

// doctor prints what the machine offers, a line each: a mark, what, and what
// to do where something is missing.
func (s *session) doctor() error {
	line := func(ok bool, what, found, remedy string) {
		mark := "ok     "
		if !ok {
			mark, found = "missing", strings.TrimSpace(found+"  "+remedy)
		}
		fmt.Fprintf(s.Stdout, "%s  %-12s %s\n", mark, what, found)
	}
	line(true, "tcdbg", fmt.Sprintf("%s, %s, %s/%s", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH), "")
	line(true, "CPU", fmt.Sprintf("%s, %d cores%s", cpuName(), runtime.NumCPU(), cpuFlags()), "")
	cc, version := backends.Compiler()
	line(
		cc != "", "C compiler", strings.TrimSpace(cc+"  "+version),
		"install gcc or clang, or set CC: without it graphs run in the interpreter, which is slower",
	)
	root, err := runsRoot()
	line(err == nil && writable(root), "run folder", root, "cannot be written: set XDG_STATE_HOME")
	cache, err := codecache.DefaultDir()
	if err == nil {
		var c *codecache.Cache
		if c, err = codecache.Open(cache, 0, func(string, ...any) {}); err == nil {
			c.Close()
		}
	}
	line(
		err == nil, "cache", cache,
		fmt.Sprintf("cannot be used (%v): set XDG_CACHE_HOME to a folder of your own; without it graphs are interpreted, slowly", err),
	)
	term := os.Getenv("TERM")
	tty := s.onTerminal()
	line(
		tty, "terminal", strings.TrimSpace(term+" "+colourWord()),
		"standard input and output are not a terminal: commands print reports instead of screens",
	)
	line(editor() != "", "editor", editor(), "set EDITOR to open source lines with e")
	py, err := exec.LookPath("python3")
	line(err == nil, "python", py, "only needed by tcdbg exec -- python ...")
	return nil
}

func colourWord() string {
	if os.Getenv("NO_COLOR") != "" {
		return "without colours (NO_COLOR)"
	}
	return "with colours"
}

// cpuFlags names the vector extensions that code generation looks for.
func cpuFlags() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	have := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && (strings.TrimSpace(k) == "flags" || strings.TrimSpace(k) == "Features") {
			for _, f := range strings.Fields(v) {
				have[f] = true
			}
			break
		}
	}
	var found []string
	for _, f := range []string{"avx2", "fma", "avx512f", "avx512vl", "amx_tile", "asimd", "sve"} {
		if have[f] {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return ", " + strings.Join(found, " ")
}

// writable reports whether files can be made in a folder, which need not exist
// yet.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o755) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, ".probe*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// countOf is "1 run", "2 runs".
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
