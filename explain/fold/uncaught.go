package fold

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// This file adds what a trace does not hold: errors of the compiler that ended the
// program, as it printed them. Some, such as DDPOptimizer's, are raised outside of
// everything that PyTorch records.

// AddUncaught adds the compiler's errors among what the program printed, but for those
// that the trace tells.
func (f *Fold) AddUncaught(printed string) {
	errors := logs.FindUncaught(printed)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range errors {
		fl := f.uncaught(&errors[i])
		if f.toldFailure(fl) {
			continue
		}
		f.dirty = true
		f.hold(heldEvent + len(fl.Reason))
		f.failures = append(f.failures, fl)
	}
}

// uncaught is a failure of no compile.
func (f *Fold) uncaught(e *logs.Uncaught) *explain.Failure {
	name, reason, _ := strings.Cut(e.Message, ":")
	reason, _, _ = strings.Cut(reason, "\nSet TORCHDYNAMO_VERBOSE=1")
	fl := &explain.Failure{
		ID: explain.ID{Rank: e.Rank, CompileID: logs.NoCompile}, Type: f.intern(name[strings.LastIndexByte(name, '.')+1:]),
		Reason: f.intern(strings.TrimSpace(reason)),
	}
	if b := explain.ParseError(e.Text); len(b.Stack) > 0 {
		fl.Stack, fl.Pos = f.stack(b.Stack), f.pos(b.Place)
		if len(b.Blocks) > 0 {
			fl.Code, fl.Hints, fl.Context = f.intern(b.Blocks[0].Code), f.interned(b.Blocks[0].Hints), f.intern(b.Blocks[0].Context)
		}
	} else if st := f.stack(explain.ParseStack(e.Text)); len(st) > 0 {
		fl.Stack, fl.Pos = st, st[len(st)-1]
		for i := len(st) - 1; i >= 0; i-- { // what the program called
			if !explain.FrameworkFile(st[i].File) && explain.InstalledPackage(st[i].File) == "" {
				fl.Stack, fl.Pos = st[:i+1], st[i]
				break
			}
		}
	}
	fl.Pos = fl.Place()
	fl.Frame = fl.Pos.Func
	fl.Fix = diagnose.FixFailure(fl, f.engine)
	return fl
}

// toldFailure says whether the trace tells an error that ended the program.
func (f *Fold) toldFailure(fl *explain.Failure) bool {
	words := func(x *explain.Failure) string { return explain.ClipText(explain.FirstLine(x.Reason), 60) }
	for _, known := range f.failures {
		if known.Eager || known.ID.Rank != fl.ID.Rank && known.ID.Rank >= 0 && fl.ID.Rank >= 0 {
			continue
		}
		said := words(known)
		if known.Type == fl.Type && (said == words(fl) || fl.Code != "" && known.Code == fl.Code) {
			return true
		}
		// What is recorded may be raised under another name: torch.export's as one of the user,
		// an error within Dynamo as one of Dynamo.
		within, _ := strings.CutPrefix(fl.Reason, known.Type+": ")
		if said != "" && explain.ClipText(explain.FirstLine(within), 60) == said {
			return true
		}
	}
	return false
}
