package advice

import "fmt"

// limitFilled is for what is normal below the recompile limit, or has no advice of its own, and
// came when another cause had made most of the entries.
var limitFilled = Row{
	ID: "limit-filled", Kind: Recompile, Effect: Removes, Follows: true,
	Pattern: "what is normal below the recompile limit (a mode, a flag) reaches it, as another cause has made most of the entries",
	When:    func(f *Finding) bool { return f.Limit && f.FilledBy != "" },
	Text: func(f *Finding) string {
		return fmt.Sprintf(
			"%d of the %d recompiles before this one, which reaches the limit, are due to %s: look at those first",
			f.FilledTimes, f.Before, f.FilledBy,
		)
	},
}
