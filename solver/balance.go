package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/vector"
)

// R's balance term is Balance BalanceRange n (1 - exp(-D/BalanceRange)), D the divergence of the mean of s from uniform: it draws
// answers that are nearly balanced to balance and leaves skewed ones alone. It has no minimiser in closed form. It is concave
// in D, and by the log-sum inequality
//
//	n D <= sum_pk s_pk ( log(s_pk / s'_pk) + log(N'_k K / n) )        N' the sums of the S' before, with equality at S'
//
// so that with g = Balance exp(-D'/BalanceRange) a row's part of R is at most, up to a constant, what
//
//	log s <- (L + g log s' - g log(N'_k K / n)) / (1 + g)        L the scores without the balance
//
// minimises. S' and N' are of the beginning of a sweep, in which each row is updated once: R falls.

// balance is the state of the balance term.
type balance struct {
	weight float64   // in force: 0 in an annealed start, and where there is no balance
	slope  float64   // g of this sweep
	offset []float32 // k: what g log(N'_k K / n) takes of each score
	scores []float32 // n x k: of each row's last update, log s but for what all classes share; empty: no balance
	masses []float64 // k
}

// balances says whether the answers are balanced at all: in episodes that have prototypes to move. In large problems it has
// never been measured to help, and a sparse S does not keep what it needs.
func (e *episode) balances() bool {
	return e.settings.Balance > 0 && !e.clustering && !e.fixed && e.n <= serial
}

// balanceSweep readies the balance for a sweep.
func (e *episode) balanceSweep() {
	e.balance.slope = 0
	if !e.balances() {
		e.balance.scores = e.balance.scores[:0]
		return
	}
	e.balance.scores, e.balance.offset = vector.Resize(e.balance.scores, e.n*e.k), vector.Resize(e.balance.offset, e.k)
	if e.balance.weight == 0 || !e.started {
		return
	}
	e.masses()
	e.balance.slope = e.balance.weight * math.Exp(-e.divergence(e.soft)/e.settings.BalanceRange)
	for c, mass := range e.soft {
		e.balance.offset[c] = float32(e.balance.slope * math.Log(mass*float64(e.k)/float64(e.unlabelled)))
	}
}

// divergence is that of the classes' masses from uniform.
func (e *episode) divergence(masses []float64) float64 {
	var total, sum float64
	for _, m := range masses {
		total += m
	}
	for _, m := range masses {
		if m > 0 {
			sum += m / total * math.Log(m/total*float64(len(masses)))
		}
	}
	return max(0, sum)
}

// balanceRow takes the balance into a row of scores, and keeps them for the next sweep: log s but for what all classes share.
func (e *episode) balanceRow(p int, scores []float32) {
	if len(e.balance.scores) == 0 || e.label[p] >= 0 {
		return
	}
	before := e.balance.scores[p*e.k : p*e.k+e.k]
	if e.balance.slope > 0 {
		g := float32(e.balance.slope)
		for c, v := range scores {
			if e.soft[c] > 0 {
				scores[c] = (v + g*before[c] - e.balance.offset[c]) / (1 + g)
			} else { // no row has any of this class: it stays so while the balance counts
				scores[c] = float32(math.Inf(-1))
			}
		}
	}
	copy(before, scores)
}

// imbalance is the balance term of R.
func (e *episode) imbalance() float64 {
	if e.balance.weight == 0 || e.unlabelled == 0 {
		return 0
	}
	masses := vector.Zeroed(e.balance.masses, e.k)
	e.balance.masses = masses
	for p, y := range e.label[:e.n] {
		if y < 0 {
			for c, v := range e.s.row(p) {
				masses[c] += float64(v) * e.terms.states[p].scale
			}
		}
	}
	return e.balance.weight * e.settings.BalanceRange * float64(e.unlabelled) * (1 - math.Exp(-e.divergence(masses)/e.settings.BalanceRange))
}
