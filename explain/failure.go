package explain

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file words failures: what every screen and report calls one, what its
// error says, and what removes it.

// Title is the short name of a failure's cause, the words in which breaks of the
// same code are spoken of; else the first line of the error.
func (f *Failure) Title() string {
	if c, ok := breaks.Lookup(f.Code); ok && c.Short != "" {
		return f.AsBreak().Title()
	}
	if c, ok := BrokenConstraint(f); ok {
		return c.words()
	}
	if f.Type == RecompileError {
		return "recompiled although config.error_on_recompile forbids it"
	}
	return FirstLine(f.Reason)
}

// Function is the name of the function that failed, as frames are titled.
func (f *Failure) Function() string { return TitleOf(f.Frame) }

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
	return raised, strconv.Itoa(n) + " left their functions to run eagerly: see their breaks"
}

// Place is where a failure belongs.
func (f *Failure) Place() logs.Pos { return OwnPlace(f.Pos, f.Stack) }

// OwnPlace is the innermost line of a stack that is not the framework's own, which has
// nothing that the user can change; where there is none, the place itself.
func OwnPlace(at logs.Pos, stack []logs.Pos) logs.Pos {
	for i := len(stack) - 1; i >= 0 && FrameworkFile(at.File); i-- {
		if p := stack[i]; p.File != "" && !FrameworkFile(p.File) {
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
	if _, ok := BrokenConstraint(f); ok {
		return nil
	}
	if said := Raised(f.Context); f.Code == breaks.ObservedPanic && said != "" {
		return []string{said}
	}
	var out []string
	if _, reasons := NotAllowed(f.Reason); f.Type == RecompileError {
		for _, s := range reasons[:min(len(reasons), maxDetails)] {
			g := ParseReason(s)
			out = append(out, FailureText(&g))
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
	if operator, _, ok := Executing(f.Reason); ok {
		out = append(out, "in "+operator)
	}
	return out
}

// CompilerFailed is the type of a failure of the C compiler, or of loading what it made:
// the graph runs in the interpreter.
const CompilerFailed = "CompilerFailure"

// OperatorFailed is the code of an operator that could not be run on tensors
// without data.
const OperatorFailed = "GB4315"

// AsBreak is the break that was not allowed.
func (f *Failure) AsBreak() *Break {
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
		return OperatorCall(call + ")"), Squeeze(said), ok
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
	return OperatorCall(rest[:i+1]), exceptionText(strings.TrimSpace(rest[i+len("): got "):])), true
}

// IsFakeError says whether an operator could not be run on tensors without data.
func IsFakeError(message string) bool {
	_, _, ok := fakeError(message)
	return ok
}

// Raised reads the exception out of the context of a break at one: "raised exception
// ValueError('no')".
func Raised(context string) string {
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

// OperatorCall turns "call_function <built-in function matmul>(*(A, B), **{})"
// into "matmul(A, B)", with tensors as tensor[3, 4].
func OperatorCall(s string) string {
	for _, kind := range []string{"call_function ", "call_method ", "call_module "} {
		s = strings.TrimPrefix(s, kind)
	}
	s = fakeTensor().ReplaceAllString(s, "tensor[$1]")
	target, args, ok := strings.Cut(s, "(*(")
	if !ok {
		return Squeeze(s)
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
	return Squeeze(target + "(" + args + ")")
}

// exceptionText turns ValueError('no such size') into "ValueError: no such size".
func exceptionText(repr string) string {
	name, rest, ok := strings.Cut(repr, "(")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, ")"), ",")
	if !ok || len(rest) < 2 || !IsExceptionName(name) || !strings.ContainsAny(rest[:1], `'"`) {
		return Squeeze(repr)
	}
	rest = strings.NewReplacer(`\n`, " ", `\'`, "'", `\"`, `"`, `\\`, `\`).Replace(rest[1 : len(rest)-1])
	return name + ": " + Squeeze(rest)
}
