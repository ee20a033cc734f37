package explain

import (
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/logs"
)

// InstalledPackage is the library of a file that was installed; "" where it is the
// program's own.
func InstalledPackage(file string) string {
	_, rest, ok := strings.Cut(file, "-packages/")
	if !ok {
		return ""
	}
	name, _, inside := strings.Cut(rest, "/")
	if !inside {
		return strings.TrimSuffix(name, ".py")
	}
	return name
}

// Entry finds the compile that a failed guard belongs to.
func (rc *Recompile) Entry(g *GuardFailure) *Compile {
	_, number, ok := strings.Cut(g.Entry, "/")
	list := rc.Compile.Frame.Compiles // in the order of their numbers
	i, found := slices.BinarySearchFunc(list, Atoi(number), func(c *Compile, n int) int { return c.ID.Compile - n })
	if !ok || !found {
		return nil
	}
	return list[i]
}

// ResumedFunction reads outer and 16 out of torch_dynamo_resume_in_outer_at_16.
func ResumedFunction(name string) (fn string, line int, ok bool) { return logs.ResumedFunction(name) }

// FrameworkFile says whether a file belongs to torch or the standard library:
// a break there is not the user's to fix.
func FrameworkFile(file string) bool {
	for _, mark := range []string{
		"/site-packages/torch/", "site-packages/torch/", "/dist-packages/torch/", "/torch/_dynamo/", "/torch/nn/",
		"/torch/optim/", "/torch/distributed/", "/torch/utils/", "/torch/_inductor/",
	} {
		if strings.Contains(file, mark) {
			return true
		}
	}
	return LibraryFile(file) || strings.HasPrefix(file, "torch/") || strings.HasPrefix(file, "_dynamo/") || cachedCode(file)
}

// LibraryFile says whether a file belongs to Python's standard library.
func LibraryFile(file string) bool {
	if strings.HasPrefix(file, "<frozen ") {
		return true
	}
	return (strings.Contains(file, "/lib/python3") || strings.Contains(file, "/lib64/python3")) && !strings.Contains(file, "-packages/")
}

// cachedCode knows a file of Inductor's cache, CACHE/XY/cXY....py, named by a hash
// in base 32. PyTorch 2.7 traces a backward pass that comes from the cache, and the
// graph breaks at every second line of it.
func cachedCode(file string) bool {
	dir, name := filepath.Split(file)
	hash, ok := strings.CutSuffix(name, ".py")
	return ok && len(hash) == 52 && strings.Trim(hash, "abcdefghijklmnopqrstuvwxyz234567") == "" && filepath.Base(dir) == hash[1:3]
}

// ParallelClass knows the classes that replicate or shard a model.
func ParallelClass(class string) bool {
	return class == "DistributedDataParallel" || class == "DataParallel" || class == "FullyShardedDataParallel"
}

// WrapsModel says whether a break shows that a model is called through what replicates or
// shards it: by the class that was compiled, or by the calls that led to the break.
func (b *Break) WrapsModel() bool {
	if ParallelClass(b.Compile.Wrapped) {
		return true
	}
	parallel := func(p logs.Pos) bool {
		return strings.Contains(p.File, "torch/nn/parallel/") || strings.Contains(p.File, "torch/distributed/fsdp/")
	}
	return parallel(b.Pos) || slices.ContainsFunc(b.Stack, parallel)
}

// OfProgram says whether a frame's code is not the framework's.
func (fr *Frame) OfProgram() bool { return fr.Wraps == nil && !FrameworkFile(fr.Pos.File) }

// IsWrapper knows the function that Dynamo compiles for a callable without a frame of
// its own, such as a module with hooks.
func IsWrapper(name string) bool { return name == "inner" || name == "wrapper" }

// Place is where a reader looks for a frame. What Dynamo compiles for a callable without
// a frame of its own, as for nn.Sequential, is known by the line that calls it. The one around each
// optimizer's step has its own place.
func (fr *Frame) Place() logs.Pos {
	if !IsWrapper(fr.Name) || !FrameworkFile(fr.Pos.File) || len(fr.Compiles) == 0 {
		return fr.Pos
	}
	if at, ok := UserLine(fr.Compiles[0].Stack); ok && !strings.Contains(fr.Pos.File, "torch/optim/") {
		return at
	}
	return fr.Pos
}

// Line is the line of the program that breaks the graph: of a break within torch or the standard library,
// as within the wrapper that a default device puts around torch's functions, the line that calls it; of one in a module
// of torch's whose callers the message leaves out, the line that calls the compiled function. Where no line of the program is
// known, it is the place of the break.
func (b *Break) Line() logs.Pos {
	if !FrameworkFile(b.Pos.File) {
		return b.Pos
	}
	if p, ok := UserLine(b.Stack); ok {
		return p
	}
	if b.Compile != nil && b.Compile.Frame != nil {
		if p := b.Compile.Frame.Place(); p.File != "" && !FrameworkFile(p.File) {
			return p
		}
	}
	return b.Pos
}

// UserLine is the innermost line of a stack that is not the framework's.
func UserLine(stack []logs.Pos) (logs.Pos, bool) {
	for i := len(stack) - 1; i >= 0; i-- {
		if p := stack[i]; p.File != "" && !FrameworkFile(p.File) {
			return p, true
		}
	}
	return logs.Pos{}, false
}
