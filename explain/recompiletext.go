package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file reads recompile reasons: one guard of one entry each.

// ParseReasons reads the payload of recompile_reasons: a JSON list, or with
// exactly one reason the bare text.
func ParseReasons(payload string) []string {
	trimmed := strings.TrimSpace(payload)
	if strings.HasPrefix(trimmed, "[") {
		if list := logs.JSONStrings([]byte(trimmed)); len(list) > 0 {
			return list
		}
	}
	if strings.HasPrefix(trimmed, `"`) && strings.HasSuffix(trimmed, `"`) && len(trimmed) > 1 {
		return []string{logs.JSONString([]byte(trimmed))}
	}
	if trimmed == "" {
		return nil
	}
	return []string{trimmed}
}

// SplitReason parts the conditions of one entry that recompiles_verbose joins: "0/1: A
// # line  # m.py:4 in f; B  # line  # m.py:9 in f". Only after a place one can end: lines
// of a program have semicolons, too.
func SplitReason(text string) []string {
	entry, body, ok := strings.Cut(text, ": ")
	if !ok || !isCompileID(entry) {
		return []string{text}
	}
	body, stack, hasStack := strings.Cut(body, "\nUser stack trace:")
	ends := joinedReasons().FindAllStringIndex(body, -1)
	if len(ends) == 0 {
		return []string{text}
	}
	tail := ""
	if hasStack {
		tail = "\nUser stack trace:" + stack
	}
	var out []string
	from := 0
	for _, end := range append(ends, []int{len(body), len(body)}) {
		part := strings.TrimSuffix(body[from:end[1]], "; ")
		from = end[1]
		if _, comment := cutComment(part); commentPos(comment).File == "" { // the guard's own place is that of the first
			part += tail
		}
		out = append(out, entry+": "+part)
	}
	return out
}

// joinedReasons matches the place of a condition that another one follows.
var joinedReasons = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`# \(?[^\s:#]+:\d+ in [^\s;]+(?: \((?:user code shown|HINT)[^;]*\))?; `)
})

// NearestFirst puts that entry's check first which came nearest to serving the call. The
// newest entry may be for another kind of call, with more keywords or in another mode:
// where this is what it was made for, an older entry of the call's own kind tells what
// changed.
func NearestFirst(rc *Recompile) {
	list := rc.Failures
	if len(list) < 2 {
		return
	}
	slices.SortStableFunc(list, func(a, b GuardFailure) int { return cmp.Compare(a.foreign(), b.foreign()) })
	for i := range list { // of more than two values, as a list that grows has, no entry is nearer
		if g := &list[i]; g.Kind == list[0].Kind && g.Source == list[0].Source && g.Expected != list[0].Expected {
			return
		}
	}
	if i := slices.IndexFunc(list, func(g GuardFailure) bool { return passesTheOther(rc, &list[0], &g) }); i > 0 {
		putFirst(list, i)
		return
	}
	newest := rc.Entry(&list[0])
	if newest == nil || newest.Recompile == nil {
		return
	}
	madeFor := map[string]bool{} // entries that the newest one was made beside for the same check
	for i := range newest.Recompile.Failures {
		if g := &newest.Recompile.Failures[i]; g.Kind == list[0].Kind && g.Source == list[0].Source {
			madeFor[g.Entry] = true
		}
	}
	for i := range list {
		if g := &list[i]; madeFor[g.Entry] && (g.Kind != list[0].Kind || g.Source != list[0].Source) {
			putFirst(list, i)
			return
		}
	}
}

func putFirst(list []GuardFailure, i int) {
	g := list[i]
	copy(list[1:i+1], list[:i])
	list[0] = g
}

// passesTheOther says whether the entry of a check was made because a call failed the first
// one as this call did, of which there are two outcomes: what is empty in one entry is not in
// the other, so that the other one lacks what changed.
func passesTheOther(rc *Recompile, first, g *GuardFailure) bool {
	switch first.Expected {
	case "false", "true", "False", "True":
	default:
		return false
	}
	entry := rc.Entry(g)
	if entry == nil || entry.Recompile == nil || g.Kind == first.Kind && g.Source == first.Source {
		return false
	}
	return slices.ContainsFunc(entry.Recompile.Failures, func(o GuardFailure) bool {
		return o.Entry == first.Entry && o.Kind == first.Kind && o.Source == first.Source
	})
}

// OwnKindFirst puts the newest entry first that is for calls of the same kind as this one,
// where all guards that failed are known: what such an entry lacks is what changed, while
// one that was made without gradients, or of a value that was nil, serves other calls.
func OwnKindFirst(rc *Recompile) {
	var order []string
	other := map[string]bool{} // entries for calls of another kind
	for i := range rc.Failures {
		g := &rc.Failures[i]
		if !slices.Contains(order, g.Entry) {
			order = append(order, g.Entry)
		}
		// Sizes of 0 and 1 have entries of their own; numbers have, too, but these change from call to call.
		small := (g.Expected == ">= 2" || strings.HasPrefix(g.Source, "2 <= ")) && !slices.Contains(kindsOfNumbers, g.Kind)
		other[g.Entry] = other[g.Entry] || small || slices.Contains(kindsOfCalls, g.Kind)
	}
	i := slices.IndexFunc(order, func(e string) bool { return !other[e] })
	if i <= 0 {
		return
	}
	slices.SortStableFunc(rc.Failures, func(a, b GuardFailure) int {
		switch own := order[i]; {
		case a.Entry == own && b.Entry != own:
			return -1
		case b.Entry == own && a.Entry != own:
			return 1
		}
		return 0
	})
}

// kindsOfCalls are what tells kinds of calls apart.
var kindsOfCalls = []string{
	breaks.RequiresGradChanged, breaks.NoneChanged, breaks.TypeChanged, breaks.TrainingChanged, breaks.GlobalStateChanged,
	breaks.RankChanged, breaks.DtypeChanged,
}

// kindsOfNumbers are the guards of numbers that the program holds.
var kindsOfNumbers = []string{breaks.ValueChanged, breaks.AttributeChanged, breaks.GlobalChanged, breaks.ClosureChanged}

// foreign is 1 where an entry could not serve the call whatever its values: one of
// another backend, one that another thread made meanwhile, or one of another gradient mode
// or setting, which is checked before anything else, so that an entry that failed for
// another reason has the call's settings. The others tell more.
func (g *GuardFailure) foreign() int {
	switch g.Kind {
	case breaks.BackendChanged, breaks.Raced, breaks.GlobalStateChanged:
		return 1
	}
	return 0
}

// ParseReason reads "0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5".
func ParseReason(text string) GuardFailure {
	f := GuardFailure{Text: text, Dim: -1, Kind: breaks.OtherGuard}
	body := text
	if id, rest, ok := strings.Cut(text, ": "); ok && isCompileID(id) {
		f.Entry, body = strings.Trim(id, "[]"), rest
	}
	body, stack, _ := strings.Cut(body, "User stack trace:")
	check, comment := cutComment(strings.TrimSpace(body))
	check = heldNumbers(check)
	if st := ParseStack(stack); len(st) > 0 {
		f.Pos = st[len(st)-1]
	} else {
		f.Pos = commentPos(comment)
	}
	for _, p := range reasonParsers {
		if p(check, &f) {
			return f
		}
	}
	return f
}

// heldNumbers writes a float that PyTorch wraps in a tensor to trace it, ___as_tensor(cfg.scale).item(), as the
// program has it, cfg.scale. What would then be equal to itself is left: it says that the number is no NaN.
func heldNumbers(check string) string {
	const before, after = "___as_tensor(", ").item()"
	out := check
	for {
		i := strings.Index(out, before)
		n := -1
		if i >= 0 {
			n = strings.Index(out[i:], after)
		}
		if n < 0 {
			break
		}
		out = out[:i] + out[i+len(before):i+n] + out[i+n+len(after):]
	}
	if left, right, ok := strings.Cut(out, " == "); ok && left == right {
		return check
	}
	return out
}

func isCompileID(s string) bool {
	s = strings.Trim(s, "[]!")
	a, b, ok := strings.Cut(s, "/")
	return ok && a != "" && b != "" && strings.Trim(a, "0123456789-") == "" && strings.Trim(b, "0123456789-/_") == ""
}

// cutComment parts "k == 1     # code  # file:line in f".
func cutComment(s string) (check, comment string) {
	if i := strings.Index(s, "  #"); i >= 0 {
		return strings.TrimSpace(s[:i]), s[i:]
	}
	if i := strings.Index(s, " # "); i >= 0 {
		return strings.TrimSpace(s[:i]), s[i:]
	}
	return s, ""
}

// commentPos reads "# y=x*k  # m.py:19 in r (HINT: ..)".
func commentPos(comment string) logs.Pos {
	if i := strings.Index(comment, ") and "); i >= 0 { // a second reason for a shape guard
		comment = comment[:i]
	}
	if i := strings.Index(comment, " (user code shown"); i >= 0 {
		comment = comment[:i]
	}
	i := strings.LastIndex(comment, "# ")
	if i < 0 {
		return logs.Pos{}
	}
	place, _, _ := strings.Cut(comment[i+2:], " (")
	place = strings.TrimSuffix(place, " and")
	at, fn, ok := strings.Cut(strings.TrimSpace(place), " in ")
	if !ok {
		return logs.Pos{}
	}
	j := strings.LastIndexByte(at, ':')
	if j < 0 {
		return logs.Pos{}
	}
	code := strings.TrimSpace(comment[:i])
	code = strings.TrimSpace(strings.TrimPrefix(code, "#"))
	if strings.HasPrefix(at, "(") { // no line of the program: torch's own alone
		at, fn = at[1:], strings.TrimSuffix(fn, ")")
		j--
	}
	return logs.Pos{File: at[:j], Line: Atoi(at[j+1:]), Func: fn, Code: code}
}

// reasonParsers are tried in order; each fills f and says whether it knew.
var reasonParsers = []func(check string, f *GuardFailure) bool{
	membership, keyError, tensorMismatch, TypeMismatch, globalState, marking, aliasing, backendMatch, typeID, objectID, DictKeys,
	comparison, truth,
}

// membership reads "not set.__contains__(c.skip, 'relu')": it was not in the set, and is.
func membership(s string, f *GuardFailure) bool {
	body := strings.TrimPrefix(s, "not ")
	_, rest, ok := strings.Cut(body, "set.__contains__(")
	if !ok || !strings.HasPrefix(body, "set.") && !strings.HasPrefix(body, "frozenset.") {
		return false
	}
	set, element, ok := strings.Cut(strings.TrimSuffix(rest, ")"), ", ")
	if !ok {
		return false
	}
	f.Kind, f.Source, f.Expected, f.Actual = breaks.ValueChanged, element+" in "+set, "True", "False"
	if body != s {
		f.Expected, f.Actual = "False", "True"
	}
	return true
}

// keyError reads "KeyError on kwargs['scale']": what the entry reads is not there.
func keyError(s string, f *GuardFailure) bool {
	source, ok := strings.CutPrefix(s, "KeyError on ")
	at := strings.LastIndexByte(source, '[')
	if !ok || at < 0 || !strings.HasSuffix(source, "]") {
		return false
	}
	key := source[at+1 : len(source)-1]
	f.Kind, f.Source, f.Expected, f.Actual = breaks.DictKeyChanged, source[:at], "has "+key, "lacks "+key
	return true
}

// tensorMismatch reads "tensor 'x' KIND mismatch at index D. expected E, actual A".
func tensorMismatch(s string, f *GuardFailure) bool {
	rest, ok := strings.CutPrefix(s, "tensor ")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	var name string
	if strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, `"`) {
		j := strings.Index(rest[1:], rest[:1]+" ")
		if j < 0 {
			return false
		}
		name, rest = rest[1:j+1], rest[j+2:]
	} else {
		name, rest, _ = strings.Cut(rest, " ")
	}
	what, rest, ok := strings.Cut(strings.TrimSpace(rest), " mismatch")
	if !ok {
		return false
	}
	f.Source = name
	switch what {
	case "size":
		f.Kind = breaks.SizeChanged
	case "stride":
		f.Kind = breaks.StrideChanged
	case "rank":
		f.Kind = breaks.RankChanged
	case "dtype":
		f.Kind = breaks.DtypeChanged
	case "device", "device index":
		f.Kind = breaks.DeviceChanged
	case "requires_grad":
		f.Kind = breaks.RequiresGradChanged
	case "dispatch key set", "Tensor dispatch key set":
		f.Kind = breaks.DispatchKeysChanged
	}
	at, rest, _ := strings.Cut(rest, ". ")
	if _, idx, ok := strings.Cut(at, "at index "); ok {
		f.Dim = Atoi(idx)
	}
	f.Expected, f.Actual = expectedActual(rest)
	f.Expected = strings.TrimPrefix(f.Expected, "requires_grad=")
	if f.Kind == breaks.RequiresGradChanged && f.Actual == "" {
		f.Actual = map[string]string{"0": "1", "1": "0"}[f.Expected]
	}
	return true
}

func expectedActual(s string) (want, got string) {
	s, _, _ = strings.Cut(s, ". Guard failed on a parameter") // and what PyTorch suggests
	s = strings.TrimSpace(strings.TrimPrefix(s, "expected "))
	i := strings.LastIndex(s, ", actual ")
	if i < 0 {
		return strings.TrimSuffix(s, "."), ""
	}
	return s[:i], strings.TrimSuffix(s[i+len(", actual "):], ".")
}

// TypeMismatch reads "expected type of 'x' to be <class A>, but found <class B>".
func TypeMismatch(s string, f *GuardFailure) bool {
	rest, ok := strings.CutPrefix(s, "expected type of '")
	if !ok {
		return false
	}
	name, rest, ok := strings.Cut(rest, "' to be ")
	if !ok {
		return false
	}
	want, got, _ := strings.Cut(rest, ", but found ")
	f.Kind, f.Source, f.Expected, f.Actual = breaks.TypeChanged, name, className(want), className(got)
	f.Actual = strings.TrimPrefix(f.Actual, "a tensor type of ")
	return true
}

func className(s string) string {
	s, _, _ = strings.Cut(s, " (HINT: ")
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "<class '"); ok {
		return strings.TrimSuffix(rest, "'>")
	}
	return s
}

func globalState(s string, f *GuardFailure) bool {
	rest, ok := strings.CutPrefix(s, "GLOBAL_STATE changed: ")
	if !ok {
		return false
	}
	f.Kind, f.Source = breaks.GlobalStateChanged, strings.Join(strings.Fields(rest), ", ")
	return true
}

// marking reads "_dynamo_dynamic_indices not a subset: runtime {1} is not a subset of
// compiled {0}": the call marks a dimension that the entry does not leave open.
func marking(s string, f *GuardFailure) bool {
	if strings.Contains(s, "_dynamo_dim_marking ") && strings.Contains(s, "present on runtime tensor") {
		f.Kind, f.Source = breaks.MarkingChanged, "mark_dynamic"
		return true
	}
	api, rest, ok := strings.Cut(s, " not a subset: runtime ")
	if !ok {
		return false
	}
	f.Kind, f.Source = breaks.MarkingChanged, markingCalls[api]
	if f.Source == "" {
		f.Source = api
	}
	f.Actual, f.Expected, _ = strings.Cut(rest, " is not a subset of compiled ")
	return true
}

// markingCalls are the functions that write the attributes of a marked tensor.
var markingCalls = map[string]string{
	"_dynamo_dynamic_indices": "mark_dynamic", "_dynamo_weak_dynamic_indices": "maybe_mark_dynamic",
	"_dynamo_static_indices":   "mark_static",
	"_dynamo_unbacked_indices": "mark_unbacked", "_dynamo_strict_unbacked_indices": "mark_unbacked",
}

func aliasing(s string, f *GuardFailure) bool {
	switch {
	case strings.HasPrefix(s, "Duplicate tensors found: "):
		f.Kind, f.Source = breaks.AliasingChanged, strings.Trim(strings.TrimPrefix(s, "Duplicate tensors found: "), "[]")
		f.Expected, f.Actual = "distinct tensors", "the same tensor"
	case strings.HasPrefix(s, "NO_TENSOR_ALIASING"):
		f.Kind = breaks.AliasingChanged
	case strings.Contains(s, " is not ") && strings.Contains(s, "OBJECT_ALIASING"):
		f.Kind = breaks.AliasingChanged
	default:
		return false
	}
	return true
}

func backendMatch(s string, f *GuardFailure) bool {
	switch {
	case strings.HasPrefix(s, "BACKEND_MATCH failure"):
		f.Kind = breaks.BackendChanged
		if _, rest, ok := strings.Cut(s, "Cached backend: "); ok {
			want, got, _ := strings.Cut(rest, ". New backend: ")
			f.Expected, f.Actual = backendName(want), backendName(got)
			if f.Actual == f.Expected {
				f.Actual = "one with other arguments"
			}
		}
	case strings.HasPrefix(s, "Unexpected recompilation: "):
		f.Kind = breaks.Raced
	case strings.HasPrefix(s, "Cache line invalidated because "):
		f.Kind = breaks.Deallocated
		f.Source, _, _ = strings.Cut(strings.TrimPrefix(s, "Cache line invalidated because "), " got deallocated")
	default:
		return false
	}
	return true
}

// backendName is the name of a backend that a reason gives with the object's address
// and, after the second one, with a remark.
func backendName(s string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(s, "."), " (id=")
	return strings.TrimPrefix(name, "_TorchCompile")
}

// typeID reads "___check_type_id(o, 9), type=<class 'float'>".
func typeID(s string, f *GuardFailure) bool {
	rest, ok := strings.CutPrefix(s, "___check_type_id(")
	if !ok {
		return false
	}
	f.Kind = breaks.TypeChanged
	f.Source, f.Expected = IDCheck(rest)
	return true
}

// objectID reads "___check_obj_id(G['F'], 9), type=<class 'module'>".
func objectID(s string, f *GuardFailure) bool {
	rest, ok := strings.CutPrefix(s, "___check_obj_id(")
	if !ok {
		return false
	}
	f.Kind = breaks.IdentityChanged
	var typ string
	switch f.Source, typ = IDCheck(rest); typ {
	case "NoneType":
		f.Kind = breaks.NoneChanged
	case "bool":
		f.Kind = breaks.ValueChanged
	}
	return true
}

// IDCheck takes the source, and the type where it is told, out of an identity check's text.
func IDCheck(s string) (source, typ string) {
	if i := strings.LastIndex(s, ", type="); i >= 0 {
		typ = className(s[i+len(", type="):])
		s = s[:i]
	}
	i := strings.LastIndex(s, ", ")
	if i < 0 {
		return strings.TrimSuffix(s, ")"), typ
	}
	return s[:i], typ
}

// DictKeys reads a guard on the keys of a dict into f.
func DictKeys(s string, f *GuardFailure) bool {
	body := strings.TrimPrefix(s, "not ")
	switch {
	case strings.HasPrefix(body, "___dict_contains("):
		f.Kind = breaks.DictKeyChanged
		key, src := lastArgument(strings.TrimSuffix(body[len("___dict_contains("):], ")"))
		f.Source = src
		has, lacks := "has "+key, "lacks "+key
		if body == s {
			f.Expected, f.Actual = has, lacks
		} else {
			f.Expected, f.Actual = lacks, has
		}
	case strings.HasPrefix(body, "list(dict.keys("):
		f.Kind = breaks.DictKeyChanged
		f.Source = strings.TrimPrefix(body, "list(dict.keys(")
		f.Source, _, _ = strings.Cut(f.Source, "))")
		_, f.Expected, _ = strings.Cut(body, "== ")
	default:
		return false
	}
	return true
}

// lastArgument cuts the arguments of a call before the last one: the others may have commas
// of their own, as a tuple that is a key has.
func lastArgument(args string) (others, last string) {
	depth, cut := 0, -1
	var quote rune
	for i, c := range args {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune("([{<", c):
			depth++
		case strings.ContainsRune(")]}>", c):
			depth--
		case c == ',' && depth == 0:
			cut = i
		}
	}
	if cut < 0 {
		return "", args
	}
	return args[:cut], strings.TrimSpace(args[cut+1:])
}

// negated reads "not (EXPR)".
func negated(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, "not (")
	if !ok || !strings.HasSuffix(inner, ")") {
		return "", false
	}
	inner = inner[:len(inner)-1]
	depth := 0
	for _, c := range inner {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return "", false // "not (a) and (b)"
			}
		}
	}
	return inner, depth == 0
}

// mirrored are comparisons with their sides changed: 2 <= x is x >= 2.
var mirrored = map[string]string{" <= ": " >= ", " < ": " > ", " >= ": " <= ", " > ": " < "}

// comparison reads "EXPR == VALUE" and its relatives.
func comparison(s string, f *GuardFailure) bool {
	if inner, ok := negated(s); ok && comparison(inner, f) {
		f.Expected = "not " + f.Expected
		f.Actual = ""
		return true
	}
	for _, op := range []string{" == ", " is not ", " is ", " != ", " <= ", " >= ", " < ", " > "} {
		i := strings.LastIndex(s, op)
		if op == " == " || op == " is " || op == " is not " {
			i = strings.Index(s, op)
		}
		if i < 0 {
			continue
		}
		left, right := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+len(op):])
		if flipped, ok := mirrored[op]; ok && IsNumber(left) && !strings.Contains(right, ".size()") {
			left, op, right = right, flipped, left
		}
		f.Source, f.Expected = left, PlainSource(right)
		if op != " == " && op != " is " {
			f.Expected = strings.TrimSpace(op) + " " + PlainSource(right)
		}
		classify(left, right, op, f)
		if withinBounds(left, op) && f.Source == left {
			f.Source, f.Expected = left+op+right, ""
		}
		return true
	}
	return false
}

// withinBounds says whether what stands left of a number and its sign has a bound, too: "1 <= L['t'] <= 5".
func withinBounds(left, op string) bool {
	if op != " <= " && op != " < " {
		return false
	}
	for _, first := range []string{" <= ", " < "} {
		if number, rest, ok := strings.Cut(left, first); ok && IsNumber(number) && !strings.Contains(rest, " ") {
			return true
		}
	}
	return false
}

func classify(left, right, op string, f *GuardFailure) {
	if tensor, dim, ok := SizeOf(left); ok && op == " == " && IsNumber(right) {
		f.Kind, f.Source, f.Dim = breaks.SizeSpecialised, tensor, dim
		return
	}
	switch {
	case op == " is " && (strings.HasSuffix(left, CodeOfFunction) || right == "the object of the first call"):
		f.Kind = breaks.IdentityChanged
	case op == " is " && isObject(right):
		f.Kind, f.Source, f.Expected, f.Actual = breaks.AliasingChanged, left+", "+PlainSource(right), "the same tensor", "distinct tensors"
	case strings.Contains(left, ".size()") || strings.Contains(right, ".size()") || strings.Contains(left, ".stride()"):
		f.Kind = breaks.ShapeRelation
		f.Source = left
		if strings.Contains(left, "<") || IsNumber(left) || strings.Contains(right, ".size()") {
			f.Source, f.Expected = left+op+right, ""
		}
	case strings.HasPrefix(left, "len("):
		f.Kind = breaks.LengthChanged
		f.Source = strings.TrimSuffix(strings.TrimPrefix(left, "len("), ")")
		if f.Expected == "!= "+right && IsNumber(right) && f.Pos.File == "" { // a dict's guard tells what it met: "len(d) != 2"
			f.Expected = right
		}
	case right == "None", right == "nil":
		f.Kind = breaks.NoneChanged
	case strings.HasSuffix(left, ".training"):
		f.Kind = breaks.TrainingChanged
		f.Actual = map[string]string{"True": "False", "False": "True"}[right]
	case strings.Contains(left, ".__closure__[") || strings.Contains(left, ".cell_contents"):
		f.Kind = breaks.ClosureChanged
		if _, hint, ok := strings.Cut(f.Text, `guard on "`); ok {
			if name, _, ok := strings.Cut(hint, `"`); ok {
				f.Source = name
			}
		}
	case strings.HasPrefix(left, "G[") && strings.Count(left, ".") == 0:
		f.Kind = breaks.GlobalChanged
	case right == "True" || right == "False":
		f.Kind = breaks.ValueChanged
		f.Actual = map[string]string{"True": "False", "False": "True"}[right]
	case strings.Contains(PlainSource(left), "."): // L['x'] of older releases is an argument, xs[0] an element
		f.Kind = breaks.AttributeChanged
	default:
		f.Kind = breaks.ValueChanged
	}
	if (right == "True" || right == "False") && op == " == " {
		f.Actual = map[string]string{"True": "False", "False": "True"}[right]
	}
}

// isObject says whether an expression names something of the program and is no constant.
func isObject(s string) bool {
	return s != "None" && s != "nil" && s != "True" && s != "False" && !IsNumber(s) && !strings.ContainsAny(s[:1], `'"`)
}

// IsSize reports whether one size of a tensor failed, that of dimension Dim.
func (g *GuardFailure) IsSize() bool {
	return g.Dim >= 0 && (g.Kind == breaks.SizeChanged || g.Kind == breaks.SizeSpecialised)
}

// IsRelation reports whether what failed is a relation between sizes.
func (g *GuardFailure) IsRelation() bool { return g.Kind == breaks.ShapeRelation }

// Words say what kind of change a guard found; "" for kinds that are not known.
func (g *GuardFailure) Words() string {
	kind, _ := breaks.Recompile(g.Kind)
	return kind.Short
}

// SizeOf reads L['x'].size()[1].
func SizeOf(s string) (tensor string, dim int, ok bool) {
	tensor, index, ok := strings.Cut(s, ".size()[")
	index, closed := strings.CutSuffix(index, "]")
	dim, err := strconv.Atoi(index)
	return tensor, dim, ok && closed && err == nil && dim >= 0 && !strings.ContainsAny(tensor, " *+(")
}

// IsNumber reports whether s is written as a number.
func IsNumber(s string) bool { return s != "" && strings.Trim(s, "-0123456789.") == "" }

// truth reads a bare expression: it was true and is not, or "not EXPR".
func truth(s string, f *GuardFailure) bool {
	if s == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "not "); ok && isExpression(rest) {
		f.Kind, f.Source, f.Expected, f.Actual = breaks.ValueChanged, rest, "false", "true"
		return true
	}
	return false
}

func isExpression(s string) bool { return !strings.ContainsAny(s, " \t") }
