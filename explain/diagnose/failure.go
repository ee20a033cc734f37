package diagnose

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
)

// FixFailure advises on a compile that failed: what removes a break that was not
// allowed removes the failure.
func FixFailure(fl *explain.Failure, engine string) explain.Fix {
	if !strings.HasPrefix(engine, "tcdbg") {
		if text, id, settled := advice.Advise(failureFinding(fl)); text != "" {
			return explain.Fix{Text: text, Row: id, Settled: settled}
		}
	}
	if fl.Code == "" && !strings.HasPrefix(engine, "tcdbg") {
		return explain.Fix{Text: backendAdvice(fl)}
	}
	if fl.Type == explain.CompilerFailed {
		return explain.Fix{Text: "The program goes on: the interpreter runs this graph, more slowly. " +
			"See what the compiler says; tcdbg doctor names the compiler, CC another one."}
	}
	return FixBreak(fl.AsBreak(), engine)
}

// backendAdvice says how to go on where a backend could not compile what was captured,
// and for PyTorch's own how to tell its makers.
func backendAdvice(fl *explain.Failure) string {
	switch {
	case strings.Contains(fl.Reason, "InvalidCxxCompiler"):
		return "Install a C++ compiler (g++ or clang++), or name one in the environment variable CXX."
	case strings.Contains(fl.Reason, "TritonMissing"):
		return "Install triton (pip install triton): Inductor's kernels for this device are written in it."
	case BackendOf(fl) == "inductor":
		return `The graph was captured, Inductor failed on it: torch.compile(..., backend="aot_eager") goes on without it; ` +
			`TORCHDYNAMO_REPRO_AFTER=aot writes a program that shows the error by itself, for a bug report.`
	case fl.Type == "BackendCompilerFailed":
		return `Read the backend's error; torch.compile(..., backend="eager") tells whether capture alone works.`
	}
	return ""
}

// BackendOf is the backend that failed: releases from 2.7 on have a type of their own
// for Inductor's errors; "" where the failure is not a backend's.
func BackendOf(f *explain.Failure) string {
	if f.Type == "InductorError" {
		return "inductor"
	}
	if rest, ok := strings.CutPrefix(f.Reason, "backend='"); ok && f.Type == "BackendCompilerFailed" {
		name, _, _ := strings.Cut(rest, "'")
		return name
	}
	return ""
}
