package rows

// A key has so many candidates, which are rows of the table from a place on that follows from the key.
const (
	Candidates = 1_682
	Keys       = 50
	stride     = 7_919
	Wanted     = 10
)

// Candidate is the row of a key's candidate, counted from 0; keys are counted from 1.
func Candidate(key, number, count int) int { return (key*stride + number) % count }

// Best writes the ids of the rows with the highest values, counted from 1; of equal ones the smaller first.
func Best(key, count int, value func(row int) float32, ids []float32) {
	var values [Wanted]float32
	found := 0
	for number := range Candidates {
		row := Candidate(key, number, count)
		at, id := value(row), float32(row+1)
		before := func(i int) bool { return values[i] > at || (values[i] == at && ids[i] < id) }
		if found == Wanted && before(Wanted-1) {
			continue
		}
		if found < Wanted {
			found++
		}
		i := found - 1
		for ; i > 0 && !before(i-1); i-- {
			values[i], ids[i] = values[i-1], ids[i-1]
		}
		values[i], ids[i] = at, id
	}
}
