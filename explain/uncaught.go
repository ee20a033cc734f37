package explain

import (
	"strings"

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
func (f *Fold) uncaught(e *logs.Uncaught) *Failure {
	name, reason, _ := strings.Cut(e.Message, ":")
	reason, _, _ = strings.Cut(reason, "\nSet TORCHDYNAMO_VERBOSE=1")
	fl := &Failure{
		ID: ID{Rank: e.Rank, CompileID: logs.NoCompile}, Type: f.intern(name[strings.LastIndexByte(name, '.')+1:]), Reason: f.intern(strings.TrimSpace(reason)),
	}
	if b := parseError(e.Text); len(b.stack) > 0 {
		fl.Stack, fl.Pos = f.stack(b.stack), f.pos(b.place)
		if len(b.blocks) > 0 {
			fl.Code, fl.Hints, fl.Context = f.intern(b.blocks[0].code), f.interned(b.blocks[0].hints), f.intern(b.blocks[0].context)
		}
	} else if st := f.stack(parseStack(e.Text)); len(st) > 0 {
		fl.Stack, fl.Pos = st, st[len(st)-1]
		for i := len(st) - 1; i >= 0; i-- { // what the program called
			if !frameworkFile(st[i].File) && installedPackage(st[i].File) == "" {
				fl.Stack, fl.Pos = st[:i+1], st[i]
				break
			}
		}
	}
	fl.Pos = fl.place()
	fl.Frame = fl.Pos.Func
	fl.Fix = fixFailure(fl, f.engine)
	return fl
}

// toldFailure says whether the trace tells an error that ended the program.
func (f *Fold) toldFailure(fl *Failure) bool {
	words := func(x *Failure) string { return clipText(firstLine(x.Reason), 60) }
	for _, known := range f.failures {
		if known.Eager || known.ID.Rank != fl.ID.Rank && known.ID.Rank >= 0 && fl.ID.Rank >= 0 {
			continue
		}
		if known.Type == fl.Type && (words(known) == words(fl) || fl.Code != "" && known.Code == fl.Code) {
			return true
		}
	}
	return false
}
