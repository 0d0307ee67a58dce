package evaluate

import (
	"fmt"
	"strings"
)

// The headings of the tables of results; the Row of a result is a line below. Cells end in a tab.
var (
	FewShotHeading = tabbed("data,shots,mix,preset,method,accuracy %,± 95 %,against the first,± 95 %," +
		"task µs,iterations,rises,lost")
	FewShotMeanHeading = tabbed("mean over sets; then shots and mixes,preset,method,accuracy %,± 95 %," +
		"against the first,± 95 %")
	StreamHeading = tabbed("data,shots,seed,preset,method,warm,items,accuracy,first answers,first 10th," +
		"last 10th,admitted,taught,unknown AUROC,found,false,at 5 % false,ECE,calibrated,NMI,pair F1,clusters," +
		"id switches,sweeps,rises")
	FileHeading = tabbed("data,order,shots,seed,method,rows,accuracy,coherence,ECE,calibrated,unknown AUROC," +
		"code,seconds,rises")
	TrialMeanHeading = tabbed("mean over trials,shots,preset,method,accuracy (NMI without shots),± 95 %," +
		"against the first,± 95 %")
	ClusterHeading = tabbed("data,n,k,method,NMI,ARI,accuracy,one cluster,energy,objective," +
		"graph s,solve s,rises")
	NeighbourHeading = tabbed("data,n,d,index,chosen,recall,build s,query s")
	PaperHeading     = tabbed("data,method,NMI,accuracy,ARI,one cluster,paper NMI,paper accuracy,rises,seeds," +
		"not run because")
	EnergyHeading = tabbed("lambda,LK,LK; graph start,SLK-MS; k-means++ start,SLK-MS,one cluster," +
		"paper's E: LK,paper's E: SLK-MS,rises")
	TuneHeading = tabbed("rung,measured on,lambda,rho,tau,beta,accuracy %,against the start,± 95 %,chosen")
)

func tabbed(cells string) string {
	return strings.NewReplacer(",", "\t", ";", ",").Replace(cells) + "\t"
}

// cell formats a fraction that may be missing.
func cell(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *v)
}

// versus formats a difference that may be missing.
func versus(d *Estimate, decimals int) string {
	if d == nil {
		return "\t"
	}
	return fmt.Sprintf("%+.*f\t%.*f", decimals, d.Mean, decimals, d.CI95)
}

// Row implements the row of a table.
func (r FewShotResult) Row() string {
	var paired *Estimate
	if r.Paired != nil {
		paired = &Estimate{r.Paired.Difference, r.Paired.CI95}
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%.0f\t%.1f\t%d\t%d\t", r.Data, r.Shots, r.Mix,
		r.Preset,
		r.Method, r.Accuracy, r.CI95, versus(paired, 2), r.EpisodeMicros, r.Iterations, r.ObjectiveRises,
		r.LostSupports)
}

// Row implements the row of a table.
func (m MeanResult) Row() string {
	return fmt.Sprintf("%s\t%s\t%s\t%.2f\t%.2f\t%s\t", m.Cells, m.Preset, m.Method, m.Accuracy.Mean,
		m.Accuracy.CI95, versus(m.Versus, 2))
}

// Row implements the row of a table.
func (r StreamResult) Row() string {
	switches := ""
	if r.IDSwitches != nil {
		switches = fmt.Sprint(*r.IDSwitches)
	}
	return fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%t\t%d\t%s\t%s\t%s\t%s\t%.3f\t%d\t%s\t%s\t%s\t%s\t%s\t"+
		"%.2f\t%s\t%s\t%d\t%s\t%.1f\t%d\t", r.Data, r.Shots, r.Seed, r.Preset, r.Method, r.Warm, r.N,
		cell(r.Accuracy), cell(r.NowAccuracy), cell(r.FirstTenth), cell(r.LastTenth), r.Admitted, r.Taught,
		cell(r.UnknownAUROC), cell(r.UnknownFound), cell(r.UnknownFalse), cell(r.UnknownBest), cell(r.ECE),
		r.Calibrated, cell(r.NMI), cell(r.PairF1), r.Clusters, switches, r.Iterations, r.ObjectiveRises)
}

// Row implements the row of a table.
func (r FileResult) Row() string {
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%s\t%d\t%.3f\t%.3f\t%s\t%t\t%s\t%d\t%.2f\t%d\t", r.Data, r.Order,
		r.Shots,
		r.Seed, r.Method, r.N, r.Accuracy, r.Coherence, cell(r.ECE), r.Calibrated, cell(r.UnknownAUROC), r.Code,
		r.Seconds, r.ObjectiveRises)
}

// Row implements the row of a table.
func (r ClusterResult) Row() string {
	return fmt.Sprintf("%s\t%d\t%d\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t", r.Data, r.N, r.K,
		r.Method, r.NMI, r.ARI, r.Accuracy, r.OneCluster, r.Energy, r.Objective, r.GraphSeconds, r.SolveSeconds,
		r.ObjectiveRises)
}

// Row implements the row of a table.
func (r NeighbourResult) Row() string {
	return fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%.4f\t%.3f\t%.6f\t", r.Data, r.N, r.D, r.Index, r.Chosen, r.Recall,
		r.BuildSeconds, r.QuerySeconds)
}

// Row implements the row of a table.
func (r PaperRow) Row() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t", r.Data, r.Method, cell(r.NMI),
		cell(r.Accuracy), cell(r.ARI), cell(r.OneCluster), cell(r.PaperNMI), cell(r.PaperAccuracy), r.Rises,
		r.Trials,
		r.Reason)
}

// Row implements the row of a table.
func (r EnergyRow) Row() string {
	return fmt.Sprintf("%g\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t", r.Lambda, r.LK, r.LKGraph,
		r.SLKPlusPlus, r.SLK, r.OneCluster, r.PaperLK, r.PaperSLK, r.Rises)
}

// Row implements the row of a table.
func (r TuneRow) Row() string {
	chosen := ""
	if r.Chosen {
		chosen = "yes"
	}
	return fmt.Sprintf("%d\t%d\t%g\t%d\t%g\t%g\t%.2f\t%+.2f\t%.2f\t%s\t", r.Rung, r.Units, r.Lambda, r.Rho,
		r.Tau,
		r.Beta, r.Accuracy, r.Difference, r.CI95, chosen)
}
