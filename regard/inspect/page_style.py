"""The style sheet of a page, and the script that highlights rows of a heatmap."""

from __future__ import annotations

from regard.inspect.palette import DARK, LIGHT, Theme

LEAST = 0.75
"""How far a page shrinks a figure to fit. A wider figure scrolls sideways, and a line above it says so."""
HINT = "⟷ wider than the screen: scroll sideways"


def _variables(theme: Theme) -> str:
    return "".join(
        f"--{role}:{theme.hex(role)};" for role in ("paper", "ink", "muted", "faint", "accent", "truth")
    )


STYLE = f""":root{{color-scheme:light dark;{_variables(LIGHT)}--ground:#f6f7f9;
--shadow:0 1px 2px #1018280d,0 1px 3px #1018281a}}
@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK)}--ground:#0d0f14;--shadow:none}}}}
*{{box-sizing:border-box}}
body{{margin:0;overflow-wrap:anywhere;background:var(--ground);color:var(--ink);line-height:1.55;-webkit-text-size-adjust:100%}}
main{{max-width:72rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}}
header{{margin-bottom:2rem}}
h1{{font-size:clamp(1.5rem,4vw,2.25rem);line-height:1.2;letter-spacing:-.02em;margin:0}}
h2{{font-size:1.25rem;letter-spacing:-.01em;margin:2.75rem 0 .5rem}}
h3{{font-size:1.0625rem;margin:.5rem .75rem 0}}
p{{margin:.25rem 0 1rem;max-width:44rem}}
.subtitle,figcaption,dt{{color:var(--muted)}}
.subtitle{{font-size:1.0625rem;margin-top:.5rem}}
.answer{{display:block;font-weight:400;color:var(--accent)}}
.facts{{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.25rem 0}}
.facts div{{background:var(--paper);border:1px solid var(--faint);border-radius:.75rem;
padding:.75rem 1.25rem;min-width:8rem}}
dt{{font-size:.8125rem}}
dd{{margin:0;font-size:1.5rem;font-weight:600;letter-spacing:-.02em;font-variant-numeric:tabular-nums}}
.cards{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,23rem),1fr));gap:1rem;margin:1rem 0}}
.cards.single{{grid-template-columns:1fr;justify-items:start}}
.single figure{{max-width:100%}}
figure{{margin:0;background:var(--paper);border:1px solid var(--faint);border-radius:.75rem;box-shadow:var(--shadow);
padding:.5rem;min-width:0;break-inside:avoid}}
.drawing{{container-type:inline-size;contain-intrinsic-inline-size:var(--width)}}
.drawing::before{{content:"{HINT}";display:block;overflow:hidden;padding-left:.75rem;color:var(--muted);
font-size:.8125rem;white-space:nowrap;max-height:clamp(0px,({LEAST}*var(--width) - 100cqw)*999,1.5rem)}}
.scroller{{overflow-x:auto;overflow-y:hidden;scrollbar-width:thin}}
.drawing svg{{display:block;max-width:none;width:max({LEAST}*var(--width),min(100cqw,var(--width)));height:auto}}
figcaption{{font-size:.875rem;margin:.25rem .75rem .5rem}}
.scroll{{overflow-x:auto;scrollbar-width:thin;background:linear-gradient(90deg,var(--ground) 40%,transparent) 0 0/2.5rem
100% no-repeat local,linear-gradient(270deg,var(--ground) 40%,transparent) 100% 0/2.5rem 100% no-repeat local,
linear-gradient(90deg,var(--muted),transparent) 0 0/.75rem 100% no-repeat,
linear-gradient(270deg,var(--muted),transparent) 100% 0/.75rem 100% no-repeat}}
.steps figure+figure{{margin-top:1rem}}.steps.live figure+figure{{margin-top:0}}.steps [hidden]{{display:none}}
.slider{{display:none;align-items:center;gap:.75rem;margin:1rem 0;color:var(--muted);font-size:.9375rem}}
.live .slider{{display:flex}}.slider input{{flex:1;max-width:24rem;accent-color:var(--accent)}}
.slider output{{font-variant-numeric:tabular-nums}}
table{{border-collapse:collapse;font-size:.9375rem;margin:1rem 0;font-variant-numeric:tabular-nums}}
th,td{{text-align:left;padding:.4rem .9rem .4rem 0;border-bottom:1px solid var(--faint);overflow-wrap:break-word}}
th{{color:var(--muted);font-weight:500;font-size:.8125rem}}
.number{{text-align:right}}
pre{{background:var(--paper);border:1px solid var(--faint);border-radius:.75rem;padding:1rem 1.25rem;overflow-x:auto;
font-size:.875rem}}
.shaded th[scope=row]{{color:var(--ink);font-weight:600;font-size:.9375rem;padding-right:1.25rem}}
.shaded th small,.shaded td small{{display:block;font-weight:400;font-size:.75rem;color:var(--muted)}}
.shaded th,.shaded td{{vertical-align:top}}.shaded tbody th{{min-width:15rem}}
.shaded td{{text-align:right;padding:.4rem .75rem;white-space:nowrap}}
.shaded thead th+th{{text-align:right;padding-right:.75rem}}
.shaded td.heat{{background:color-mix(in srgb,var(--accent) calc(var(--w)*55%),transparent);print-color-adjust:exact;
-webkit-print-color-adjust:exact}}
.shaded td.heat small{{color:inherit;opacity:.75}}
.shaded tbody tr.rule>*{{border-top:2px solid var(--muted)}}
@media (max-width:40rem){{.shaded,.shaded tbody,.shaded tr,.shaded th[scope=row]{{display:block;width:100%}}
.shaded thead{{display:none}}.shaded tr{{margin:0 0 1.5rem}}
.shaded td{{display:flex;gap:.5rem;justify-content:space-between;align-items:baseline;width:100%}}
.shaded td::before{{content:attr(data-name);margin-right:auto;color:var(--muted);font-size:.8125rem}}
.shaded td.heat::before{{color:inherit}}.shaded td small{{order:1}}.shaded td.none{{display:none}}}}
.document{{background:var(--paper);border:1px solid var(--faint);border-radius:.75rem;padding:1rem 1.25rem}}
.document p{{display:flex;gap:.6rem;margin:.2rem 0;max-width:48rem;align-items:baseline}}
.document i{{flex:none;width:2.2rem;text-align:right;color:var(--muted);font-size:.75rem;font-style:normal}}
.document b{{flex:none;width:2.6rem;text-align:center;font-weight:400;font-size:.75rem;border-radius:.25rem}}
.document b,.document mark{{color:inherit;background:color-mix(in srgb,var(--accent) calc(var(--w)*55%),transparent)}}
.document mark{{border-radius:.25rem;padding:0 .15rem}}.document .decides{{outline:2px solid var(--truth)}}
.document span{{min-width:0;overflow-wrap:anywhere}}
.document summary{{color:var(--muted);font-size:.875rem;cursor:pointer;padding:.2rem 0 .2rem 5.4rem}}
@media (max-width:40rem){{main{{padding:1.25rem .5rem 2rem}}h1,h2,p,.facts{{margin-left:.5rem;margin-right:.5rem}}
.cards{{gap:.5rem}}figure{{padding:.25rem 0}}pre{{white-space:pre-wrap;padding:.75rem}}.document{{padding:.75rem .5rem}}
.document p{{margin-left:0}}.document summary{{padding-left:.5rem}}}}
@media print{{body{{background:none}}main{{max-width:none;padding:0}}figure{{box-shadow:none}}.scroll{{background:none}}
.drawing::before{{content:none}}.drawing svg{{width:auto;max-width:100%}}}}"""

REPORT = """main>section{content-visibility:auto;contain-intrinsic-size:auto 40rem;overflow-clip-margin:1rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0 0 1rem;font-size:.9375rem}
a{color:var(--accent)}nav a{text-decoration:none}nav a:hover,nav a:focus-visible{text-decoration:underline}
section section>h3,section section>h4{font-size:1.0625rem;margin:1.75rem 0 .25rem}
.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:0 2.5rem}
.beside>section{min-width:0}.beside>section>h3{margin-top:.75rem}
td{white-space:pre-line;vertical-align:top;overflow-wrap:break-word;max-width:26rem}
th,td.number{white-space:nowrap}.sortable td:last-child{min-width:min(20rem,70vw)}
.tall{max-height:36rem;overflow-y:auto}
.tall thead th{position:sticky;top:0;background:var(--ground)}.facts dd{font-size:1.25rem}.facts div{max-width:100%}
th button{all:unset;cursor:pointer;white-space:nowrap}th button:focus-visible{outline:2px solid var(--accent)}
th button::after{content:" ↕";opacity:.4}th[aria-sort=ascending] button::after{content:" ↑";opacity:1}
th[aria-sort=descending] button::after{content:" ↓";opacity:1}
.filter{display:flex;gap:.75rem;align-items:baseline;color:var(--muted);font-size:.9375rem;margin:.5rem 0}
.filter input{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--muted);border-radius:.5rem;
padding:.25rem .6rem;min-width:0;width:16rem}
@media (max-width:40rem){nav,.filter,section section>h3,section section>h4{margin-left:.5rem;margin-right:.5rem}
.scroll{margin:0 .5rem}}
@media print{nav,.filter{display:none}.scroll{overflow:visible}.tall{max-height:none}.beside{display:block}}"""
"""What a page with contents has beside `STYLE`: a report."""

SCRIPT = """
for (const matrix of document.querySelectorAll('svg .matrix, svg .segments')) {
  const labels = [...matrix.querySelectorAll('.columns text[data-column]')];
  for (const row of matrix.querySelectorAll('.row')) {
    const weights = {};
    for (const cell of row.querySelectorAll('[data-value]')) weights[cell.dataset.column] = +cell.dataset.value;
    const most = Math.max(...Object.values(weights), 1e-9);
    row.addEventListener('mouseenter', () => {
      for (const label of labels) {
        const share = weights[label.dataset.column] / most;
        label.style.opacity = 0.15 + 0.85 * share;
        label.style.fontWeight = share > 0.5 ? 700 : '';
      }
    });
    row.addEventListener('mouseleave', () => {
      for (const label of labels) label.style.opacity = label.style.fontWeight = '';
    });
  }
}
for (const steps of document.querySelectorAll('.steps')) {
  const slider = steps.querySelector('input'), told = steps.querySelector('output');
  const figures = [...steps.querySelectorAll('figure')];
  const show = () => {
    figures.forEach((figure, place) => { figure.hidden = place + 1 !== +slider.value; });
    told.textContent = slider.value + ' of ' + figures.length;
  };
  steps.classList.add('live');
  slider.addEventListener('input', show);
  show();
}
"""
