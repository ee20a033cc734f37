package logs

import (
	"strings"
)

// This file tells errors of the compiler from those of a program in what Python prints
// of them: a traceback that ends inside the compiler is the compiler's, one that only
// passed through it is not.

// Uncaught is an error of the compiler that a process printed.
type Uncaught struct {
	Rank    int    // as torchrun marks its lines, -1: none
	Text    string // the traceback
	Message string // its end: the exception's type and words
}

const tracebackHead = "Traceback (most recent call last):"

// FindUncaught finds the compiler's errors among what a program printed, each once and
// without those that led to it.
func FindUncaught(printed string) []Uncaught {
	var out []Uncaught
	byRank := map[int]*strings.Builder{}
	var order []int
	for line := range strings.Lines(printed) {
		rank := -1
		if rest, ok := strings.CutPrefix(line, "[rank"); ok {
			if number, text, ok := strings.Cut(rest, "]:"); ok && digits(number) == len(number) {
				rank, line = intOr([]byte(number), -1), strings.TrimPrefix(text, " ")
			}
		}
		if byRank[rank] == nil {
			byRank[rank] = &strings.Builder{}
			order = append(order, rank)
		}
		byRank[rank].WriteString(line)
	}
	for _, rank := range order {
		parts := strings.Split(byRank[rank].String(), tracebackHead)
		for i, part := range parts {
			message, own := compilerError(part)
			if i == 0 || i+1 < len(parts) && leadsOn(part) || !own {
				continue
			}
			out = append(out, Uncaught{rank, tracebackHead + part, strings.TrimSpace(message)})
		}
	}
	return out
}

// leadsOn says whether a traceback is followed by that of what it caused.
func leadsOn(part string) bool {
	end := strings.TrimSpace(part)
	return strings.HasSuffix(end, "The above exception was the direct cause of the following exception:") ||
		strings.HasSuffix(end, "During handling of the above exception, another exception occurred:")
}

// compilerError finds the exception that a traceback ends with, and says whether it is the
// compiler's: by its type, or by the file that raised it. What the program's own code
// raises has merely passed through the compiler's frames.
func compilerError(traceback string) (message string, own bool) {
	file, at := "", 0
	for line := range strings.Lines(traceback) {
		from := at
		at += len(line)
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), `File "`); ok {
			file, _, _ = strings.Cut(rest, `"`)
			continue
		}
		name, ok := exceptionName(line)
		if !ok {
			continue
		}
		for _, own := range []string{"torch._dynamo.", "torch._inductor.", "torch._functorch.", "torch.fx."} {
			if strings.HasPrefix(name, own) {
				return traceback[from:], true
			}
		}
		for _, folder := range compilerFolders {
			if strings.Contains(file, folder) {
				return traceback[from:], true
			}
		}
		return traceback[from:], false
	}
	return "", false
}

// compilerFolders are where the compiler itself raises errors.
var compilerFolders = []string{"/torch/_dynamo/", "/torch/_inductor/", "/torch/_functorch/", "/torch/fx/"}

// exceptionName reads "torch._dynamo.exc.Unsupported" at the beginning of a line that
// ends a traceback.
func exceptionName(line string) (string, bool) {
	if line == "" || line[0] == ' ' || line[0] == '\t' {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
	for _, c := range name {
		if !(c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return "", false
		}
	}
	return name, name != ""
}
