package app

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"

	"github.com/spf13/cobra"
)

// This file is `tcdbg fix`: what trials have proven, as a diff or written.

func (s *session) fixCommand() *cobra.Command {
	var f tryFlags
	c := &cobra.Command{
		Use:   "fix [flags] RUN|last | model.go [program arguments] | -- command",
		Short: "Print the remedies that trials have proven as one diff, or write them",
		Long: `Prints one unified diff of the source patches that were proven together, and as comments
the settings that were proven and have no patch: of a run that tcdbg try or the Ledger screen
has tried, or of a program, which is then tried with every remedy.

With -w the patches are written into your files, each with a backup, as a on the screens does.
It exits with 1 when nothing is proven.`,
		Example: "  tcdbg try --all model.go; tcdbg fix last | patch -p1\n  tcdbg fix -w -- python train.py",
		Args:    atLeast(1, "a run that was tried, a model.go, or -- and a command"),
		RunE: func(c *cobra.Command, args []string) error {
			f := f
			f.all = len(f.only) == 0
			return s.fix(f, args, c.ArgsLenAtDash() == 0)
		},
	}
	f.flags(c)
	c.Flags().BoolVarP(&f.write, "write", "w", false, "write the patches into your files")
	return c
}

// fix prints or writes what is proven.
func (s *session) fix(f tryFlags, args []string, command bool) error {
	l, dir, err := s.ledgerFor(f, args, command)
	if err != nil || l == nil {
		return err
	}
	proven := l.Proven()
	if len(proven) == 0 {
		if s.code == 0 {
			s.code = ExitFound
		}
		fmt.Fprintf(s.Stderr, "tcdbg: nothing is proven: %s\n", whyNothing(l))
		return nil
	}
	s.code = 0
	text, err := fixText(l, proven, dir, !f.write)
	if err != nil {
		return failf(ExitData, "%v", err)
	}
	if _, err := fmt.Fprint(s.Stdout, text); err != nil || !f.write {
		return err
	}
	return s.writeFixes(proven, dir)
}

// ledgerFor is the ledger of a saved run, or of trials that are run now, and the folder of
// the program.
func (s *session) ledgerFor(f tryFlags, args []string, command bool) (*remedy.Ledger, string, error) {
	if !command && len(args) == 1 && !isGo(args[0]) {
		r, err := findRun(args[0])
		if err != nil {
			return nil, "", err
		}
		l := readLedger(r)
		if l == nil {
			return nil, "", failf(ExitNoFile, "of run %s nothing was tried: tcdbg try, or t on the screens", r.Info.ID)
		}
		return l, r.dir(), nil
	}
	t, err := s.tried(f, args, command)
	if t == nil || err != nil {
		return nil, "", err
	}
	l, _ := t.Ledger()
	return l, t.prog.dir, nil
}

// whyNothing says why a ledger has nothing proven.
func whyNothing(l *remedy.Ledger) string {
	switch {
	case len(l.Remedies) == 0:
		return "there is nothing that can be tried"
	case len(l.Trials) == 0:
		return "nothing was tried"
	}
	t := l.Trials[len(l.Trials)-1]
	return t.ID() + ": " + t.Verdict.Why
}

// fixText is the diff of the patches, and comments on the switches and, where diffs is not
// set, the comments alone.
func fixText(l *remedy.Ledger, proven []*remedy.Remedy, dir string, diffs bool) (string, error) {
	var b strings.Builder
	for _, m := range proven {
		if trial := l.Trial(m.ID); trial != nil {
			fmt.Fprintf(&b, "# %s: %s\n", m.ID, trial.Verdict.Why)
		}
		if m.Note != "" {
			fmt.Fprintf(&b, "#   %s\n", m.Note)
		}
		for _, sw := range m.Switches {
			fmt.Fprintf(&b, "#   set: %s\n", sw.SetBy(l.Go))
		}
	}
	if !diffs {
		return b.String(), nil
	}
	files := &feed{root: dir}
	byFile := patches(proven)
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		joined, err := rewrite.Join(byFile[name]...)
		if err != nil {
			return "", err
		}
		lines, err := files.Source(name)
		if err != nil {
			return "", err
		}
		shownAs := files.Path(name)
		if rel, err := filepath.Rel(dir, shownAs); err == nil && filepath.IsLocal(rel) {
			shownAs = rel
		}
		text, err := rewrite.Unified(strings.TrimPrefix(filepath.ToSlash(shownAs), "/"), lines, joined)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// patches are the hunks of remedies by file.
func patches(list []*remedy.Remedy) map[string][][]explain.Hunk {
	out := map[string][][]explain.Hunk{}
	for _, m := range list {
		if m.Patch() {
			out[m.File] = append(out[m.File], m.Hunks)
		}
	}
	return out
}

// writeFixes writes the patches as the screens do.
func (s *session) writeFixes(proven []*remedy.Remedy, dir string) error {
	f := &feed{root: dir}
	for _, m := range proven {
		if !m.Patch() {
			continue
		}
		err := f.Apply(m.File, m.Hunks)
		if errors.Is(err, rewrite.ErrWritten) {
			continue // another one has the same lines
		}
		if err != nil {
			for len(f.fixes) > 0 { // all of them or none
				if _, undo := f.Undo(); undo != nil {
					break
				}
			}
			return failf(ExitWrite, "%s: %v; nothing is written", m.ID, err)
		}
		fmt.Fprintf(s.Stderr, "tcdbg: %s is written; %s has the file as it was\n", m.ID, backupsOf(f.Path(m.File)))
	}
	return nil
}
