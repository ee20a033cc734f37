package advice

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is recompiles for what is no tensor: numbers, flags, texts, containers,
// functions and objects, and for how torch.compile was called.

// valueKinds are the guards on a value, wherever it is kept.
var valueKinds = []string{breaks.ValueChanged, breaks.AttributeChanged, breaks.GlobalChanged, breaks.ClosureChanged}

// ofValue says whether a guard is on a value that the program has a name for.
func ofValue(f *Finding) bool { return slices.Contains(valueKinds, f.Guard) && f.Name != "" }

var values = []Row{
	{
		ID: "compile-in-loop", Kind: Recompile, Effect: Removes,
		Pattern: "torch.compile is called again and again for one function",
		When:    func(f *Finding) bool { return f.Guard == breaks.BackendChanged },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"torch.compile was called %s on %s with other backends or arguments, and each has cache entries of its own: call it "+
					"once, outside of any loop, and share the result",
				times(f.Compiles+1), f.Function,
			)
		},
	},
	{
		ID: "raced", Kind: Recompile, Effect: Removes,
		Pattern: "several threads compiled a function at the same time",
		When:    func(f *Finding) bool { return f.Guard == breaks.Raced },
		Text:    say("several threads compiled this at the same time: make the first call before they start"),
	},
	{
		ID: "limit", Kind: Recompile, Effect: Removes,
		Pattern: "what an object holds has more values than a method may have entries (many modules of one class)",
		When: func(f *Finding) bool {
			root, _, dotted := strings.Cut(f.Name, ".")
			return f.Limit && dotted && has(root, "self") && (ofValue(f) || f.Guard == breaks.IdentityChanged) &&
				!has(f.Text, "allow_unspec_int_on_nn_module")
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s runs eagerly from here: it needs an entry for each value of %s, and all objects of a class share the entries of "+
					"a method: where it differs between the objects, compile what calls them as one function instead of each by "+
					"itself; where an object changes it, do outside of the compiled function what depends on it",
				f.Function, f.Name,
			)
		},
	},
	{
		ID: "membership", Kind: Recompile, Effect: Accept,
		Pattern: "a key or an element is there in some calls and not in others",
		When: func(f *Finding) bool {
			key := f.Guard == breaks.DictKeyChanged && has(f.Expected+f.Actual, "has ", "lacks ")
			return ofValue(f) && strings.Contains(f.Name, " in ") || key && !filledBy(f)
		},
		Text: func(f *Finding) string {
			name := f.Name
			if f.Guard == breaks.DictKeyChanged {
				key := strings.TrimPrefix(strings.TrimPrefix(f.Expected, "has "), "lacks ")
				name = key + " in " + f.Name
			}
			return name + " holds in one call and not in another: two entries are normal"
		},
	},
	{
		ID: "keywords", Kind: Recompile, Effect: Accept,
		Pattern: "calls come with other keyword arguments",
		When: func(f *Finding) bool {
			return (f.Guard == breaks.LengthChanged || f.Guard == breaks.ValueChanged && f.Expected == "false") && keywordsName(f.Name)
		},
		Text: func(f *Finding) string {
			if f.Keywords != "" {
				return f.Keywords
			}
			return "calls come with other keyword arguments: an entry for each set of them is normal"
		},
	},
	{
		ID: "empty", Kind: Recompile, Effect: Accept,
		Pattern: "a container or a value is empty or false in some calls",
		When:    func(f *Finding) bool { return ofValue(f) && f.Expected == "false" && !fills(f.Line, f.Name) },
		Text: func(f *Finding) string {
			return f.Name + " was false or empty when the entry was made: two entries are normal"
		},
	},
	{
		ID: "flag", Kind: Recompile, Effect: Accept,
		Pattern: "a flag changes",
		When: func(f *Finding) bool {
			return ofValue(f) && (f.Expected == "True" || f.Expected == "False")
		},
		Text: func(f *Finding) string { return f.Name + " is a flag: two entries are normal" },
	},
	{
		ID: "of-each-closure", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a string of an enclosing function differs between the functions that one def makes (hooks), and their caller runs " +
			"eagerly after a break",
		When: func(f *Finding) bool { return ofValue(f) && quoted(f.Expected) && f.CalledWithin && enclosing(f) },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s differs between the functions that this def makes, and %s is compiled by itself, because the compiled function "+
					"that calls it runs eagerly there after a graph break: what removes that break removes this",
				f.Name, f.Function,
			)
		},
	},
	{
		ID: "text-values", Kind: Recompile, Effect: Removes,
		Pattern: "a string has had four values or more (a sentence, a file's name)",
		When:    func(f *Finding) bool { return ofValue(f) && quoted(f.Expected) && f.ManyValues },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"there is an entry for each value of %s (here %s), and it has many: do what reads it outside of the compiled "+
					"function, and pass in the result",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "text", Kind: Recompile, Effect: Accept,
		Pattern: "a string changes",
		When:    func(f *Finding) bool { return ofValue(f) && quoted(f.Expected) },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"there is an entry for each value of %s (here %s): keep them few, or choose by it before the compiled function",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "of-each-module", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "an int attribute of a module that is set once differs between modules, and their caller runs eagerly after a break",
		When: func(f *Finding) bool {
			return f.Guard == breaks.AttributeChanged && f.CalledWithin && setOnce(f.File, lastName(f.Name))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s differs between objects of one class, and %s is compiled by itself, because the compiled function that calls it "+
					"runs eagerly there after a graph break: what removes that break removes this for the objects of one model",
				f.Name, f.Function,
			)
		},
	},
	{
		ID: "of-each-model", Kind: Recompile, Effect: Accept,
		Pattern: "an int attribute of a module that is set once differs between models of one class",
		When: func(f *Finding) bool {
			return f.Guard == breaks.AttributeChanged && !f.CalledWithin && !f.ManyValues &&
				has(f.Text, "allow_unspec_int_on_nn_module") && setOnce(f.File, lastName(f.Name))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s differs between objects of one class, which share the entries of a method: an entry for each value is normal",
				f.Name,
			)
		},
	},
	{
		ID: "constant", Kind: Recompile, Effect: Accept,
		Pattern: "a dtype, a device or a tuple changes",
		When: func(f *Finding) bool {
			return ofValue(f) && (strings.HasPrefix(f.Expected, "torch.") || strings.HasPrefix(f.Expected, "device(") ||
				strings.HasPrefix(f.Expected, "(") && strings.Contains(f.Expected, ","))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is a constant of each graph (here %s), so there is an entry for each value: keep these few", f.Name,
				f.Expected,
			)
		},
	},
	{
		ID: "module-counter", Kind: Recompile, Effect: Removes,
		Pattern: "an int attribute of a module changes with every call; PyTorch's own hint is on the guard",
		When: func(f *Finding) bool {
			return f.Guard == breaks.AttributeChanged && has(f.Text, "allow_unspec_int_on_nn_module") &&
				(!setOnce(f.File, lastName(f.Name)) || onlyComputes(f.File, lastName(f.Name)))
		},
		Text: func(f *Finding) string {
			const setting = "set torch._dynamo.config.allow_unspec_int_on_nn_module = True, which makes it an input"
			if setOnce(f.File, lastName(f.Name)) { // there is nothing that could be changed elsewhere
				return fmt.Sprintf(
					"%s is an int attribute of a module, which is a constant of each graph, and differs between objects of one class: %s",
					f.Name, setting,
				)
			}
			text := fmt.Sprintf(
				"%s is an int attribute of a module, which is a constant of each graph: change it outside of the compiled function, "+
					"and pass in as an argument what is computed from it",
				f.Name,
			)
			// the value after the first is asked for even then, so that it saves nothing where there are two
			if f.ManyValues && onlyComputes(f.File, lastName(f.Name)) {
				text += "; or " + setting
			}
			return text
		},
	},
	{
		ID: "number-in-text", Kind: Recompile, Effect: Removes,
		Pattern: "a string is made of a number that changes (the name of a file)",
		When: func(f *Finding) bool {
			return ofValue(f) && f.Number == Constant && makesText(f.NumberLine, f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s makes a string of %s, so there is an entry for each value: make the string outside of the compiled function",
				orElse(f.NumberPlace, "the marked line"), f.Name,
			)
		},
	},
	{
		ID: "number-written-back", Kind: Recompile, Effect: Removes,
		Pattern: "the compiled function counts a float up in a dict (stats['seconds'] += dt), which is written back where it returns",
		When: func(f *Finding) bool {
			return ofValue(f) && f.Number == Constant && opens(f.NumberLine, "return") && countsUp(f.File, f.Name) &&
				!has(sameQuotes(f.NumberLine), sameQuotes(elementOf(f.Name)))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"the compiled function changes %s, and each entry has the value that it writes back as a constant: "+
					"change it outside of the compiled function",
				f.Name,
			)
		},
	},
	{
		ID: "number-handed-on", Kind: Recompile, Effect: Removes,
		Pattern: "a float of many values is returned or handed on as a number (clamp, full), by one of the lines that have it",
		When: func(f *Finding) bool {
			return ofValue(f) && f.Number == Constant && f.ManyValues && f.FirstUse
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is a constant of each entry and has had many values: a line that the trace does not name returns what is computed "+
					"of it, or hands it on as a number (to clamp, full or **; + - * / with a tensor would leave it an input): do that "+
					"outside of the compiled function and pass in the result, as a tensor",
				bare(f.Name),
			)
		},
	},
	{
		ID: "number-constants", Kind: Recompile, Effect: Removes,
		Pattern: "a number that a line needs as a constant has had four values or more (a timestep, a schedule)",
		When: func(f *Finding) bool {
			return ofValue(f) && f.Number == Constant && f.ManyValues && !allButOne(f)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s needs %s as a constant, so there is an entry for each of its many values: do what needs it outside of the "+
					"compiled function and pass in the result, as a tensor",
				orElse(f.NumberPlace, "the marked line"), bare(f.Name),
			)
		},
	},
	{
		ID: "number-constant", Kind: Recompile, Effect: Accept,
		Pattern: "a number changes that a line needs as a constant (a loop's bound, the p of dropout, an index)",
		When:    func(f *Finding) bool { return ofValue(f) && f.Number == Constant && !f.Grows && !allButOne(f) },
		Text: func(f *Finding) string {
			place := orElse(f.NumberPlace, "the marked line")
			if f.FirstUse {
				place = "a line"
			}
			text := fmt.Sprintf(
				"%s needs %s as a constant, so there is an entry for each value: keep its values few",
				place, bare(f.Name),
			)
			if strings.HasSuffix(f.Name, "]") { // an element of a list: which numbers there are is rarely the program's choice
				text += ", or leave that line outside of the compiled function"
			}
			return text
		},
	},
	{
		ID: "number-branch", Kind: Recompile, Effect: Accept,
		Pattern: "a number changes that a line branches on",
		When:    func(f *Finding) bool { return ofValue(f) && f.Number == Branched },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is an input from this compile on, and %s asks for its value: an entry for each outcome there is normal",
				f.Name, orElse(f.NumberPlace, "a line"),
			)
		},
	},
	{
		ID: "number-zero-one", Kind: Recompile, Effect: Accept,
		Pattern: "an int changes from or to 0 or 1, and no entry holds another value of it as a constant",
		When: func(f *Finding) bool {
			return ofValue(f) && f.Known && f.Number == Unknown && ownEntry(f.Expected) && !f.Baked
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s was %s when the entry was made: an int that is 0 or 1 has an entry of its own: nothing to change",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "number-input", Kind: Recompile, Effect: Accept,
		Pattern: "a number changes, and the next compile has it as an input",
		When:    func(f *Finding) bool { return ofValue(f) && f.Number == Input },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s was baked in by the first compile (%s) and is an input from this one on: nothing to change (an int that is 0 or "+
					"1 has an entry of its own)",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "number-infinite", Kind: Recompile, Effect: Accept,
		Pattern: "a float was inf or nan when the entry was made (best = inf)",
		When: func(f *Finding) bool {
			return ofValue(f) && infinite(f.Expected)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s was %s when the entry was made, which is a constant of that entry: one entry more is normal",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "number-global-computed", Kind: Recompile, Effect: Removes,
		Pattern: "a global number changes, of which the line computes what needs it as a constant (math.exp, range)",
		When: func(f *Finding) bool {
			return f.Guard == breaks.GlobalChanged && f.Name != "" && f.Number == Unknown && f.Held && needsConstant(f.Line, f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is a global number, which %s needs as a constant: change it outside of the compiled function, "+
					"do there what that line computes of it, and pass in the result as a tensor",
				f.Name, f.Place,
			)
		},
	},
	{
		ID: "number-global", Kind: Recompile, Effect: Removes,
		Pattern: "a global number changes, and each entry has another value of it as a constant",
		When: func(f *Finding) bool {
			return f.Guard == breaks.GlobalChanged && f.Name != "" && f.Number == Unknown && f.Held
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is a global number, and each entry has its value as a constant: change it outside of the compiled function and "+
					"pass it in as an argument",
				f.Name,
			)
		},
	},
	{
		ID: "number-range", Kind: Recompile, Effect: Accept,
		Pattern: "a line branches on a number that is an input, and takes another side than when the entry was made",
		When: func(f *Finding) bool {
			return slices.Contains(valueKinds, f.Guard) && has(f.Text, " < ", " <= ", " > ", " >= ", " != ") &&
				!has(f.Text, "size()", "stride()", ".item()", "len(") && has(
				f.Line, "if ", "while ", "assert ", "min(", "max(", "elif ",
			)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf("%s branches on a number that is an input: an entry for each outcome there is normal", f.Place)
		},
	},
	{
		ID: "storage-offset", Kind: Recompile, Effect: Accept,
		Pattern: "a view begins where its storage does in some calls (the first batch of a split)",
		When: func(f *Finding) bool {
			return f.Guard == breaks.AttributeChanged && strings.HasSuffix(f.Name, ".storage_offset()") && f.Expected == ">= 2"
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s begins elsewhere in its storage than when the entry was made: an offset of 0 has an entry of its own, and so "+
					"has 1: nothing to change",
				strings.TrimSuffix(f.Name, ".storage_offset()"),
			)
		},
	},
	{
		ID: "list-grows", Kind: Recompile, Effect: Removes,
		Pattern: "a list to which every call appends",
		When: func(f *Finding) bool {
			appends := appended(sameQuotes(f.Line), sameQuotes(f.Name))
			return f.Name != "" && (f.Guard == breaks.LengthChanged && (appends || f.Grows && f.Kept) ||
				ofValue(f) && f.Expected == "false" && appends)
		},
		Text: func(f *Finding) string {
			if fillsUp(f) {
				return f.Name + untilFull + "append to it outside of the compiled function"
			}
			return f.Name + " grows with every call: append to it outside of the compiled function"
		},
	},
	{
		ID: "dict-filled", Kind: Recompile, Effect: Removes,
		Pattern: "a dict into which the compiled function puts elements (a cache, times by name)",
		When: func(f *Finding) bool {
			changed := f.Guard == breaks.LengthChanged || f.Guard == breaks.DictKeyChanged || ofValue(f) && f.Expected == "false"
			return f.Name != "" && changed && (fills(f.Line, f.Name) || filledBy(f)) && !has(f.Line, ".append(")
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"the compiled function puts elements into %s, so there is an entry for each of its lengths: read and fill it "+
					"outside of the compiled function, pass in what is read of it, and return what is put into it",
				f.Name,
			)
		},
	},
	{
		ID: "list-grows-outside", Kind: Recompile, Effect: Removes,
		Pattern: "a list that has one element more with each call, and over which the code runs",
		When: func(f *Finding) bool {
			return f.Guard == breaks.LengthChanged && f.Grows && runsOver(f.Line, f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s has one element more with each call and the code runs over it, so there is an entry for each length: pass one "+
					"tensor of a fixed length in its place, with a mask for what is not there yet; where it stops growing after a "+
					"few elements, accept the entries",
				f.Name,
			)
		},
	},
	{
		ID: "list-lengths", Kind: Recompile, Effect: Removes,
		Pattern: "a list that is an argument has had four lengths or more, or goes up from call to call",
		When: func(f *Finding) bool {
			return f.Guard == breaks.LengthChanged && f.Reachable && !f.Kept && (f.Grows || f.ManyValues) &&
				!keywordsName(f.Name) && !fills(f.Line, f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"there is an entry for each length of %s, and it has many: pass it in as one tensor on which the code works without "+
					"a loop, or leave what runs over it outside of the compiled function",
				f.Name,
			)
		},
	},
	{
		ID: "length-grows", Kind: Recompile, Effect: Removes,
		Pattern: "a list or a deque that has one element more with each call is read in another way (sampled, indexed)",
		When: func(f *Finding) bool {
			return f.Guard == breaks.LengthChanged && f.Grows && f.Name != "" && f.Line != "" && !keywordsName(f.Name)
		},
		Text: func(f *Finding) string {
			if fillsUp(f) {
				return f.Name + untilFull + "do what reads it or adds to it outside of the compiled function, and pass in what is read"
			}
			return fmt.Sprintf(
				"%s has one element more with each call, and there is an entry for each length: "+
					"do what reads it or adds to it outside of the compiled function, and pass in what is read",
				f.Name,
			)
		},
	},
	{
		ID: "dict-keys", Kind: Recompile, Effect: Accept,
		Pattern: "a dict comes with other keys, or a list with another length",
		When: func(f *Finding) bool {
			changed := f.Guard == breaks.DictKeyChanged || f.Guard == breaks.LengthChanged
			return f.Name != "" && !f.Grows && !fills(f.Line, f.Name) && !filledBy(f) && changed
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"there is an entry for each length or set of keys of %s: keep these few "+
					"(pad a list)",
				f.Name,
			)
		},
	},
	{
		ID: "optional", Kind: Recompile, Effect: Accept,
		Pattern: "a value is None in some calls",
		When:    func(f *Finding) bool { return f.Guard == breaks.NoneChanged && f.Name != "" },
		Text: func(f *Finding) string {
			return f.Name + " is None in one call and not in another: two entries are normal"
		},
	},
	{
		ID: "training", Kind: Recompile, Effect: Accept,
		Pattern: "a module changes between training and evaluation",
		When:    func(f *Finding) bool { return f.Guard == breaks.TrainingChanged },
		Text: func(f *Finding) string {
			return fmt.Sprintf("%s changes between training and evaluation: two entries are normal", f.named("a module"))
		},
	},
	{
		ID: "type-of-self", Kind: Recompile, Effect: Accept,
		Pattern: "one method serves objects of several classes",
		When:    func(f *Finding) bool { return f.Guard == breaks.TypeChanged && f.Name == "self" && f.Expected != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"this method serves objects of several classes (one of %s made the entry): an entry for each is normal",
				f.Expected,
			)
		},
	},
	{
		ID: "type", Kind: Recompile, Effect: Accept,
		Pattern: "a value comes as several types",
		When:    func(f *Finding) bool { return f.Guard == breaks.TypeChanged && f.Name != "" && f.Expected != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is no longer of type %s: an entry for each type is normal; where one is meant, convert it before the call",
				f.Name, f.Expected,
			)
		},
	},
	{
		ID: "function", Kind: Recompile, Effect: Accept,
		Pattern: "a function or another object that the graph is bound to changes",
		When: func(f *Finding) bool {
			return f.Guard == breaks.IdentityChanged && f.Name != ""
		},
		Text: func(f *Finding) string {
			// as before 2.9, where True and None are checked like this too
			if !has(f.Text, ", type=") && !strings.HasSuffix(f.Text, "__code__") {
				return fmt.Sprintf(
					"there is an entry for each object that %s is: keep them few, and make each once, not in every call; if it is a "+
						"flag or may be None, two entries are normal",
					f.Name,
				)
			}
			return fmt.Sprintf("there is an entry for each object that %s is: keep them few, and make each once, not in every call", f.Name)
		},
	},
}

// lastName is the attribute at the end of an expression, index of self.block.index.
func lastName(expr string) string { return expr[strings.LastIndexByte(expr, '.')+1:] }

// allButOne says whether the entry that failed holds for all values of a number but one, which the call has
// and a line asks for: that value has an entry of its own, and the others share one.
func allButOne(f *Finding) bool { return strings.HasPrefix(f.Expected, "!= ") }

// untilFull is what a deque with a maxlen costs.
const untilFull = " has an entry for each length until its maxlen is reached: accept them where that is small, else "

// fillsUp says whether what grows is a deque that was made with a maxlen.
func fillsUp(f *Finding) bool {
	return slices.ContainsFunc(f.File, func(line string) bool {
		code, _, _ := strings.Cut(line, "#")
		target, value, set := strings.Cut(code, " = ")
		target, _, _ = strings.Cut(strings.TrimSpace(target), ":") // of an annotation
		return set && lastName(target) == lastName(f.Name) && has(value, "deque(") && has(value, "maxlen")
	})
}

// elementOf is the key of which an expression is the value, "['seconds']" of self.stats['seconds'].
func elementOf(name string) string {
	at := strings.LastIndexByte(name, '[')
	if at < 0 || !strings.HasSuffix(name, "]") {
		return ""
	}
	return name[at:]
}

// countsUp says whether a line of a file adds to the value of a key, or multiplies it.
func countsUp(lines []string, name string) bool {
	key := elementOf(name)
	return key != "" && slices.ContainsFunc(lines, func(line string) bool {
		code, _, _ := strings.Cut(line, "#")
		_, rest, ok := strings.Cut(sameQuotes(code), sameQuotes(key))
		rest = strings.TrimSpace(rest)
		return ok && has(rest, "=") && strings.HasPrefix(strings.TrimLeft(rest, "+-*/"), "=") && rest[0] != '='
	})
}

// infinite says whether a float is one that no graph has as an input.
func infinite(value string) bool { return slices.Contains([]string{"inf", "-inf", "nan"}, value) }

// quoted says whether a value is a string.
func quoted(value string) bool {
	return strings.HasPrefix(value, "'") || strings.HasPrefix(value, `"`)
}

// runsOver says whether a line goes through the elements of a list.
func runsOver(line, name string) bool {
	line, name = sameQuotes(line), sameQuotes(name)
	if name == "" {
		return false
	}
	for _, over := range []string{" in ", "zip(", "reversed(", "enumerate(", "sum(", "stack(", "cat("} {
		if _, rest, ok := strings.Cut(line, over); ok && strings.Contains(rest, name) && !strings.Contains(rest, name+".") &&
			!strings.Contains(rest, name+"[") {
			return true
		}
	}
	return false
}

// filledBy says whether a line of the function that asks for a key of a dict puts elements into it.
func filledBy(f *Finding) bool {
	return slices.ContainsFunc(f.Body, func(line string) bool { return fills(line, f.Name) })
}

// fills says whether a line puts an element into a container, cache[key] = value or
// list.append(value): a cache
// that the compiled function fills has an entry for each of its lengths, and they are not few.
func fills(line, name string) bool {
	line = strings.TrimSpace(sameQuotes(line))
	name = sameLast(line, sameQuotes(name))
	if appended(line, name) {
		return true
	}
	rest, ok := strings.CutPrefix(line, name+"[")
	_, after, closed := strings.Cut(rest, "] ")
	return ok && closed && strings.HasPrefix(after, "= ")
}

// sameLast is a container as the line that fills it may spell it: self.cache where the guard
// is on self.grid.cache; the guard's own spelling where the line has another name.
func sameLast(line, name string) string {
	target, _, _ := strings.Cut(strings.TrimSpace(line), "[")
	if lastName(target) == lastName(name) {
		return target
	}
	return name
}

// needsConstant says whether a line has a number in what no graph computes of an input: a
// function of math, the bound of a loop.
func needsConstant(line, name string) bool {
	for _, call := range []string{"math", "range"} {
		at := wordAt(line, call)
		if at < 0 {
			continue
		}
		if _, args, called := strings.Cut(line[at:], "("); called && wordAt(argumentsOf(args), name) >= 0 {
			return true
		}
	}
	return false
}

// sameQuotes writes one kind of quotes for both.
func sameQuotes(s string) string { return strings.ReplaceAll(s, `"`, "'") }

// keywordsName reports whether an expression is the keyword arguments of a function.
func keywordsName(name string) bool {
	return slices.Contains([]string{"kwargs", "kw", "kwds"}, name)
}

// times is "5 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// makesText says whether a line has a number in an f-string.
func makesText(line, name string) bool {
	return has(line, `f"`, "f'") && has(sameQuotes(line), "{"+sameQuotes(name)+"}", "{"+sameQuotes(name)+":")
}

// bare is an expression without the brackets around it.
func bare(name string) string {
	for strings.HasPrefix(name, "(") && strings.HasSuffix(name, ")") && strings.Count(name, "(") == strings.Count(name, ")") &&
		!strings.Contains(name[1:len(name)-1], ") ") {
		name = name[1 : len(name)-1]
	}
	return name
}

// appended reports whether a line appends to the list name, or to one that it takes out of
// the dict which holds that list.
func appended(line, name string) bool {
	if has(line, name+".append(", name+".extend(", name+".insert(", name+".appendleft(") {
		return true
	}
	at := strings.LastIndexByte(name, '[')
	return at > 0 && (has(line, name[:at]+".setdefault(") && has(line, ").append(") || has(line, name[:at]+"[") && has(line, "].append("))
}
