package order

// QuickSelect brings the k-th smallest element to position k: Hoare's selection with the
// median of three, step for step as Numerical Recipes has it, since the steps decide
// which of equal elements it is.
func QuickSelect(s []Place, k int) {
	order := func(i, j int) {
		if s[i].Key > s[j].Key {
			s[i], s[j] = s[j], s[i]
		}
	}
	left, right := 0, len(s)-1
	for right > left+1 {
		mid := (left + right) / 2
		s[mid], s[left+1] = s[left+1], s[mid] // the median of three becomes the pivot
		order(left+1, right)
		order(left, right)
		order(left+1, left)
		i, j, pivot := left+1, right, s[left].Key
		for {
			for i++; s[i].Key < pivot; i++ {
			}
			for j--; s[j].Key > pivot; j-- {
			}
			if j < i {
				break
			}
			s[i], s[j] = s[j], s[i]
		}
		s[left], s[j] = s[j], s[left]
		if j <= k {
			left = i
		}
		if j >= k {
			right = j - 1
		}
	}
	if right == left+1 {
		order(left, right)
	}
}
