//go:build browser

package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Scheme has the browser prefer light or dark colours.
func Scheme(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	})
}

// Faults lists what is wrong with the page that a browser shows.
func Faults(b *Browser, axe string, phone bool) []string {
	Value[bool](
		b,
		"window.axe ? true : ("+`(() => { const module = undefined, define = undefined; `+axe+`; return true; })()`+")",
	)
	Value[bool](
		b,
		`(() => { window.found = null; axe.run({ resultTypes: ["violations"] }).then(r => { window.found = r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + (n.any[0]?.message || "")).join("; ")); }); return true; })()`,
	)
	b.Run(Until(`window.found !== null`))
	out := Value[[]string](b, `window.found`)
	if Value[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		out = append(out, "it is wider than the window")
	}
	broken := Value[[]string](
		b,
		`[...document.querySelectorAll("main *, dialog *")].filter(e => e.checkVisibility() && !e.classList.contains("vh") && !(e instanceof SVGElement) && e.tagName !== "OPTION" &&
		[...e.childNodes].some(n => n.nodeType === 3 && n.data.trim().length > 8) && e.getBoundingClientRect().width < 32).map(e => e.className + " " + e.textContent.slice(0, 30))`,
	)
	for _, text := range broken {
		out = append(out, "too narrow to be read: "+text)
	}
	if Value[bool](b, `[...document.querySelectorAll(".collage")].some(e => {
		const last = e.querySelector(".pic:nth-last-of-type(2)").getBoundingClientRect(), box = e.getBoundingClientRect();
		return box.right - last.right > 4 || box.bottom - last.bottom > 4; })`) {
		out = append(out, "a group's pictures leave a hole")
	}
	if Value[bool](b, `[...document.querySelectorAll(".collage .n")].some(e => {
		const box = e.getBoundingClientRect(), top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
		return top?.closest(".collage") && !e.contains(top); })`) {
		out = append(out, "what stands on a group's pictures is covered")
	}
	if Value[bool](b, `document.querySelector(".top")?.offsetHeight > 60`) {
		out = append(out, "the header is more than one line")
	}
	if phone {
		small := Value[[]string](
			b,
			`[...document.querySelectorAll("button, a.b, .tabs a, select, summary")].filter(e => e.checkVisibility() && e.getBoundingClientRect().height > 0
			&& Math.round(e.getBoundingClientRect().height) < 44 && !e.closest(".row")).map(e => e.className + " " + e.textContent.slice(0, 20) + " " + e.getBoundingClientRect().height)`,
		)
		if len(small) > 0 {
			out = append(out, "lower than 44 pixels: "+strings.Join(small, "; "))
		}
	}
	return out
}
