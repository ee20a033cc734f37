package explain

import (
	"regexp"
	"strings"
	"sync"

	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file words failures: what every screen and report calls one, what its
// error says, and what removes it.

// Title is the short name of a failure's cause, the words in which breaks of the
// same code are spoken of; else the first line of the error.
func (f *Failure) Title() string {
	if c, ok := breaks.Lookup(f.Code); ok && c.Short != "" {
		return f.asBreak().Title()
	}
	if c, ok := brokenConstraint(f); ok {
		return c.words()
	}
	if f.Type == recompileError {
		return "recompiled although config.error_on_recompile forbids it"
	}
	return firstLine(f.Reason)
}

// Function is the name of the function that failed, as frames are titled.
func (f *Failure) Function() string { return titleOf(f.Frame) }

// What is a failure in one line: code, type and cause.
func (f *Failure) What() string { return strings.TrimSpace(f.Code+" "+f.Type) + ": " + f.Title() }

// Raised are the failures that the program saw; after the others it went on, and their
// breaks tell more: they are counted in words, "" where there are none.
func (r *Report) Raised() (raised []*Failure, eager string) {
	n := 0
	for _, f := range r.Failures {
		if f.Eager {
			n++
		} else {
			raised = append(raised, f)
		}
	}
	switch n {
	case 0:
		return raised, ""
	case 1:
		return raised, "1 left its function to eager execution: its break tells why"
	}
	return raised, itoa(n) + " left their functions to eager execution: their breaks tell why"
}

// place is where a failure belongs.
func (f *Failure) place() logs.Pos { return ownPlace(f.Pos, f.Stack) }

// ownPlace is the innermost line of a stack that is not the framework's own, which has
// nothing that the user can change; where there is none, the place itself.
func ownPlace(at logs.Pos, stack []logs.Pos) logs.Pos {
	for i := len(stack) - 1; i >= 0 && frameworkFile(at.File); i-- {
		if p := stack[i]; p.File != "" && !frameworkFile(p.File) {
			return p
		}
	}
	return at
}

// maxDetails is how many lines of an error are shown below its title.
const maxDetails = 3

// Details are the lines of a failure's error that say what is wrong, where the
// title only announces them.
func (f *Failure) Details() []string {
	if call, said, ok := fakeError(f.Reason); ok {
		return []string{strings.TrimSuffix(said, ".") + ", in " + call} // a call with symbolic sizes is long
	}
	if _, ok := brokenConstraint(f); ok {
		return nil
	}
	if said := raised(f.Context); f.Code == breaks.ObservedPanic && said != "" {
		return []string{said}
	}
	var out []string
	if _, reasons := notAllowed(f.Reason); f.Type == recompileError {
		for _, s := range reasons[:min(len(reasons), maxDetails)] {
			g := parseReason(s)
			out = append(out, failureText(&g))
		}
		return out
	}
	head, rest, _ := strings.Cut(strings.TrimLeft(f.Reason, "\n "), "\n")
	announced := strings.HasSuffix(strings.TrimSpace(head), ":")
	for line := range strings.SplitSeq(rest, "\n") {
		line = strings.TrimSpace(line)
		item, listed := strings.CutPrefix(line, "- ")
		if len(out) < maxDetails && (listed && f.Type == "ConstraintViolationError" || announced && line != "") {
			out = append(out, item)
		}
		announced = announced && line == ""
	}
	if operator, _, ok := executing(f.Reason); ok {
		out = append(out, "in "+operator)
	}
	return out
}

// operatorFailed is the code of an operator that could not be run on tensors
// without data.
const operatorFailed = "GB4315"

// fixFailure advises on a compile that failed: what removes a break that was not
// allowed removes the failure.
func fixFailure(fl *Failure, engine string) Fix {
	if !strings.HasPrefix(engine, "tcdbg") {
		if text, id, settled := advice.Advise(failureFinding(fl)); text != "" {
			return Fix{Text: text, Row: id, Settled: settled}
		}
	}
	if fl.Code == "" && !strings.HasPrefix(engine, "tcdbg") {
		return Fix{Text: backendAdvice(fl)}
	}
	return fixBreak(fl.asBreak(), engine)
}

// backendAdvice says how to go on where a backend could not compile what was captured,
// and for PyTorch's own how to tell its makers.
func backendAdvice(fl *Failure) string {
	switch {
	case strings.Contains(fl.Reason, "InvalidCxxCompiler"):
		return "Install a C++ compiler (g++ or clang++), or name one in the environment variable CXX."
	case strings.Contains(fl.Reason, "TritonMissing"):
		return "Install triton (pip install triton): Inductor's kernels for this device are written in it."
	case fl.backendOf() == "inductor":
		return `The graph was captured, Inductor failed on it: torch.compile(..., backend="aot_eager") goes on without it; TORCHDYNAMO_REPRO_AFTER=aot writes a program that shows the error by itself, for a bug report.`
	case fl.Type == "BackendCompilerFailed":
		return `Read the backend's error; torch.compile(..., backend="eager") tells whether capture alone works.`
	}
	return ""
}

// backendOf is the backend that failed: releases from 2.7 on have a type of their own
// for Inductor's errors; "" where the failure is not a backend's.
func (f *Failure) backendOf() string {
	if f.Type == "InductorError" {
		return "inductor"
	}
	if rest, ok := strings.CutPrefix(f.Reason, "backend='"); ok && f.Type == "BackendCompilerFailed" {
		name, _, _ := strings.Cut(rest, "'")
		return name
	}
	return ""
}

// asBreak is the break that was not allowed.
func (f *Failure) asBreak() *Break {
	return &Break{Code: f.Code, Hints: f.Hints, Pos: f.Pos, Context: f.Context}
}

const oldFakeError = "Failed running "

// fakeError reads the operator and its error out of the message on one that
// could not be run on tensors without data:
//
//	... with fake tensors: call_function <built-in function matmul>(*(FakeTensor(...,
//	size=(3, 4)), FakeTensor(..., size=(5, 6))), **{}): got RuntimeError('...')
//
// Releases before 2.7 write "Failed running CALL:" and the error below.
func fakeError(message string) (call, said string, ok bool) {
	if rest, old := strings.CutPrefix(message, oldFakeError); old {
		call, said, ok = strings.Cut(rest, "):\n")
		said, _, _ = strings.Cut(said, "\n\n")
		return operatorCall(call + ")"), squeeze(said), ok
	}
	_, rest, ok := strings.Cut(message, "with fake tensors: ")
	if !ok {
		return "", "", false
	}
	rest, _, _ = strings.Cut(rest, "\n  Hint: ")
	i := strings.LastIndex(rest, "): got ")
	if i < 0 {
		return "", "", false
	}
	return operatorCall(rest[:i+1]), exceptionText(strings.TrimSpace(rest[i+len("): got "):])), true
}

// isFakeError says whether an operator could not be run on tensors without data.
func isFakeError(message string) bool {
	_, _, ok := fakeError(message)
	return ok
}

// raised reads the exception out of the context of a break at one: "raised exception
// ValueError('no')".
func raised(context string) string {
	repr, ok := strings.CutPrefix(context, "raised exception ")
	if !ok {
		return ""
	}
	return exceptionText(repr)
}

// fakeTensor matches a tensor without data as Python prints it.
var fakeTensor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:Fake|Functional)Tensor\(\.\.\.,[^()]*?size=\(([^()]*?),?\)[^()]*\)`)
})

// operatorCall turns "call_function <built-in function matmul>(*(A, B), **{})"
// into "matmul(A, B)", with tensors as tensor[3, 4].
func operatorCall(s string) string {
	for _, kind := range []string{"call_function ", "call_method ", "call_module "} {
		s = strings.TrimPrefix(s, kind)
	}
	s = fakeTensor().ReplaceAllString(s, "tensor[$1]")
	target, args, ok := strings.Cut(s, "(*(")
	if !ok {
		return squeeze(s)
	}
	if strings.HasPrefix(target, "<") { // <built-in function matmul>, <function f at 0x7f>
		words := strings.Fields(strings.Trim(target, "<>"))
		target = words[len(words)-1]
		if len(words) > 2 && words[len(words)-2] == "at" {
			target = words[len(words)-3]
		}
	}
	if i := strings.LastIndex(args, "), **{"); i >= 0 {
		keywords := strings.Trim(args[i+len("), **{"):], "})")
		args = strings.TrimSuffix(args[:i], ",")
		if keywords != "" {
			args += ", " + keywords
		}
	}
	return squeeze(target + "(" + args + ")")
}

// exceptionText turns ValueError('no such size') into "ValueError: no such size".
func exceptionText(repr string) string {
	name, rest, ok := strings.Cut(repr, "(")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, ")"), ",")
	if !ok || len(rest) < 2 || !isExceptionName(name) || !strings.ContainsAny(rest[:1], `'"`) {
		return squeeze(repr)
	}
	rest = strings.NewReplacer(`\n`, " ", `\'`, "'", `\"`, `"`, `\\`, `\`).Replace(rest[1 : len(rest)-1])
	return name + ": " + squeeze(rest)
}
