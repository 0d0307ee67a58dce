package config

// nearest is the known name that takes the fewest edits to reach from a mistaken one, or "" if none is near.
func nearest(mistaken string, known []string) string {
	best, least := "", 1+len(mistaken)/3
	for _, name := range known {
		if d := edits(mistaken, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
