package ops

import "slices"

// AliasNames lists PyTorch's second names of operators in order, the in-place ones after
// them.
func AliasNames() []string {
	var names, inPlace []string
	for _, row := range All() {
		names = append(names, row.Aliases...)
		for _, name := range row.Aliases {
			if row.Tags.Has(TagHasInPlace) {
				inPlace = append(inPlace, name+"_")
			}
		}
	}
	slices.Sort(names)
	slices.Sort(inPlace)
	return append(names, inPlace...)
}
