"""The style sheet of a report, behind that of all renderings."""

from __future__ import annotations

from sk_han.rendering.charts import CHART_STYLE

__all__ = ["REPORT_STYLE"]

REPORT_STYLE = (
    CHART_STYLE
    + """\
.sk-han h1, .sk-han h2, .sk-han h3 { margin: 0; line-height: 1.3; color: inherit; }
.sk-han h1 { font-size: 1.625rem; font-weight: 650; }
.sk-han h2 { font-size: 1.25rem; font-weight: 650; margin-bottom: .5rem; }
.sk-han h3 { font-size: 1rem; font-weight: 600; margin: 1.25rem 0 .25rem; }
.sk-han p { margin: .25rem 0 .75rem; line-height: 1.55; }
.sk-han a { color: var(--toward); text-underline-offset: .15em; }
.sk-han section { border-top: 1px solid var(--rule); padding-top: 1.25rem; margin-top: 1.75rem; }
.sk-han figure { margin: 0; min-width: 0; }
.sk-han figcaption p { margin: .25rem 0 0; max-width: 30rem; }
.sk-han figcaption, .sk-han figcaption p { opacity: 1; letter-spacing: normal; font-weight: 400; }
.sk-han .han-lead { font-size: 1.0625rem; }
.sk-han .han-tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.sk-han .han-tile {
  flex: 1 1 11rem; border: 1px solid var(--rule); border-radius: .5rem; padding: .625rem .875rem;
}
.sk-han .han-tile b { display: block; font-size: 1.75rem; line-height: 1.25; font-weight: 650; }
.sk-han .han-first { border-color: var(--toward); }
.sk-han .han-first b { color: var(--toward); }
.sk-han .han-notes {
  border-inline-start: .25rem solid var(--against); margin: 1rem 0; padding: .125rem 0 .125rem 1rem;
  list-style: none; line-height: 1.5;
}
.sk-han .han-notes li { margin: .25rem 0; }
.sk-han nav { display: flex; flex-wrap: wrap; gap: .375rem 1.125rem; font-size: .9375rem; }
.sk-han .han-figures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 2rem;
}
.sk-han .han-keys { display: flex; flex-wrap: wrap; gap: 0 1.25rem; padding-inline-start: .5rem; }
.sk-han .han-key { display: inline-block; width: 26px; height: 12px; vertical-align: -1px; }
.sk-han .han-wide { overflow-x: auto; margin: .5rem 0; }
.sk-han table { border-collapse: collapse; font-size: .875rem; line-height: 1.4; margin: 0; }
.sk-han th, .sk-han td {
  padding: .3rem .75rem .3rem 0; text-align: end; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums; vertical-align: top; background: none; color: inherit;
}
.sk-han tbody tr:nth-child(n) { background: none; }
.sk-han th { font-weight: 600; }
.sk-han th + th, .sk-han td { overflow-wrap: normal; }
.sk-han th:first-child, .sk-han td:first-child { text-align: start; }
.sk-han td .han-small, .sk-han th .han-small { display: block; white-space: nowrap; }
.sk-han .han-name {
  display: inline-block; max-width: 14rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; vertical-align: bottom;
}
.sk-han .han-confusion { border-collapse: separate; border-spacing: 2px; }
.sk-han .han-confusion th, .sk-han .han-confusion td { border: 0; vertical-align: middle; }
.sk-han .han-confusion thead th { vertical-align: bottom; text-align: center; padding: .25rem; }
.sk-han .han-confusion tbody th { text-align: end; padding: .25rem .5rem .25rem 0; }
.sk-han .han-confusion tbody .han-name { max-width: 12rem; }
.sk-han .han-confusion td {
  padding: 0; min-width: 2.75rem; height: 2.25rem; text-align: center; border-radius: .25rem;
  text-decoration: none;
}
.sk-han .han-confusion td.han-none { color: var(--muted); }
.sk-han .han-confusion td a {
  display: block; padding: .375rem .25rem; color: inherit; text-decoration: none;
}
.sk-han .han-confusion td a:hover, .sk-han .han-confusion td a:focus { text-decoration: underline; }
.sk-han .han-upright thead .han-name { writing-mode: vertical-rl; transform: rotate(180deg); }
.sk-han .han-upright thead .han-name { max-width: none; max-height: 11rem; }
.sk-han .han-many td { min-width: 1.9rem; height: 1.75rem; font-size: .75rem; }
.sk-han .han-many td a { padding: .25rem 0; }
.sk-han .han-fold { border-bottom: 1px solid var(--rule); padding: .3rem 0; }
.sk-han .han-fold > summary { line-height: 1.5; }
.sk-han .han-fold > div { scroll-margin-top: 3rem; padding-inline-start: 1rem; }
.sk-han .han-entry { padding: .2rem 0; line-height: 1.5; font-size: .9375rem; }
.sk-han .han-entry > summary { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sk-han .han-entry[open] > summary { white-space: normal; }
.sk-han .han-entry[open] > summary .han-excerpt { display: none; }
.sk-han .han-whole {
  white-space: pre-wrap; unicode-bidi: plaintext; border-inline-start: .25rem solid var(--rule);
  padding-inline-start: .875rem; margin: .25rem 0 .75rem;
}
.sk-han .han-mistake { margin: 1.5rem 0; scroll-margin-top: 1rem; }
.sk-han .han-mistake h3 { margin-top: 0; }
.sk-han .han-misled {
  margin: .375rem 0; padding: .375rem .875rem; border-inline-start: .25rem solid var(--against);
  unicode-bidi: plaintext; line-height: 1.55;
}
.sk-han .han-mistake > p { margin: .25rem 0; }
.sk-han .han-mistake > details > summary { font-size: .875rem; color: var(--muted); }
.sk-han .han-mistake > details > .han-explained { margin: .75rem 0 0; }
.sk-han dl { margin: .5rem 0; font-size: .875rem; line-height: 1.5; }
.sk-han dt { font-weight: 600; }
.sk-han dd { margin: 0 0 .5rem; }
@media (max-width: 32rem) {
.sk-han h1 { font-size: 1.375rem; }
.sk-han .han-tile b { font-size: 1.375rem; }
.sk-han .han-entry > summary { white-space: normal; }
.sk-han .han-confusion tbody .han-name { max-width: 8rem; }
}
@media print {
.sk-han { max-width: none; padding: 0; font-size: .8125rem; }
.sk-han nav { display: none; }
.sk-han p, .sk-han figure, .sk-han tr, .sk-han .han-wide { break-inside: avoid; }
.sk-han .han-tile, .sk-han .han-misled, .sk-han .han-row { break-inside: avoid; }
.sk-han h2, .sk-han h3, .sk-han h2 + p, .sk-han summary { break-after: avoid; }
.sk-han a { color: inherit; text-decoration: none; }
.sk-han .han-wide { overflow: visible; }
.sk-han .han-entry > summary { white-space: normal; }
}
"""
)
