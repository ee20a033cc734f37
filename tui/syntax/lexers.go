package syntax

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// This file is the lexers: one state each, since lines are lexed alone.

func rulesOf(lang Lang) chroma.Rules {
	switch lang {
	case Go:
		return chroma.Rules{"root": goRules()}
	case Python:
		return chroma.Rules{"root": pythonRules()}
	case C:
		return chroma.Rules{"root": cRules()}
	case FX:
		return chroma.Rules{"root": fxRules()}
	}
	return nil
}

// words is a pattern for any of the given words.
func words(list string) string {
	return `\b(?:` + strings.Join(strings.Fields(list), "|") + `)\b`
}

func rule(pattern string, t chroma.TokenType) chroma.Rule {
	return chroma.Rule{Pattern: pattern, Type: t}
}

const (
	number     = `\b(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?[fFuUlL]*)\b`
	doubleText = `"(?:\\.|[^"\\])*"?`
	singleText = `'(?:\\.|[^'\\])*'?`
	call       = `[A-Za-z_][A-Za-z0-9_]*(?=\()`
	name       = `[A-Za-z_][A-Za-z0-9_]*`
)

// rest are the rules that end every lexer.
func rest() []chroma.Rule {
	return []chroma.Rule{
		rule(number, chroma.LiteralNumber),
		rule(call, chroma.NameFunction),
		rule(name, chroma.Name),
		rule(`\s+`, chroma.Text),
		rule(`.`, chroma.Operator),
	}
}

func goRules() []chroma.Rule {
	return append([]chroma.Rule{
		rule(`//.*`, chroma.Comment),
		rule(`/\*.*?(?:\*/|$)`, chroma.Comment),
		rule(doubleText, chroma.LiteralString),
		rule("`[^`]*`?", chroma.LiteralString),
		rule(singleText, chroma.LiteralString),
		rule(words(`break case chan const continue default defer else fallthrough for func go goto if import
			interface map package range return select struct switch type var nil true false`), chroma.Keyword),
		rule(words(`bool byte rune string error any int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64
			uintptr float32 float64 complex64 complex128`), chroma.KeywordType),
	}, rest()...)
}

func pythonRules() []chroma.Rule {
	return append([]chroma.Rule{
		rule(`#.*`, chroma.Comment),
		rule(`[rRbBfFuU]{0,2}(?:""".*?(?:"""|$)|'''.*?(?:'''|$))`, chroma.LiteralString),
		rule(`[rRbBfFuU]{0,2}`+doubleText, chroma.LiteralString),
		rule(`[rRbBfFuU]{0,2}`+singleText, chroma.LiteralString),
		rule(`@[A-Za-z_][A-Za-z0-9_.]*`, chroma.NameDecorator),
		rule(words(`and as assert async await break class continue def del elif else except finally for from global
			if import in is lambda nonlocal not or pass raise return try while with yield None True False`), chroma.Keyword),
		rule(words(`int float bool str list dict tuple set object constexpr`), chroma.KeywordType),
	}, rest()...)
}

func cRules() []chroma.Rule {
	return append([]chroma.Rule{
		rule(`//.*`, chroma.Comment),
		rule(`/\*.*?(?:\*/|$)`, chroma.Comment),
		rule(`#\s*[a-z]+.*`, chroma.CommentPreproc),
		rule(doubleText, chroma.LiteralString),
		rule(singleText, chroma.LiteralString),
		rule(words(`auto break case class const constexpr continue default do else enum extern for goto if inline
			namespace operator private public restrict return sizeof static struct switch template typedef
			typename union using volatile while __restrict__ __attribute__ nullptr true false`), chroma.Keyword),
		rule(words(`void bool char short int long float double signed unsigned size_t int8_t int16_t int32_t int64_t
			uint8_t uint16_t uint32_t uint64_t vf vi half bfloat16`), chroma.KeywordType),
	}, rest()...)
}

func fxRules() []chroma.Rule {
	return append([]chroma.Rule{
		rule(`#.*`, chroma.Comment),
		rule(`"[a-z0-9]+\[[^"]*\](?:\[[^"]*\])?[^"]*"`, chroma.KeywordType),
		rule(doubleText, chroma.LiteralString),
		rule(singleText, chroma.LiteralString),
		rule(
			words(`class def return self None True False placeholder get_attr call_function call_method call_module output`),
			chroma.Keyword,
		),
		rule(`%[A-Za-z_][A-Za-z0-9_]*`, chroma.NameVariable),
		rule(`(?:torch|aten|prims|operator|inductor)\.[A-Za-z0-9_.]+`, chroma.NameFunction),
	}, rest()...)
}
