import { type Html, html, nothing, trusted } from '../../platform/http/html.ts';
import { logo } from '../../platform/http/logo.ts';
import { type Guide, guideGroups, guidesPath } from './guides.ts';
import type { Rendered } from './render.ts';

export type GuideAssets = { styles: readonly string[]; script: string };

type Parts = { guide: Guide; rendered: Rendered; assets: GuideAssets; isDemo: boolean };

/** A guide as a page: navigation and search of all guides, its text, and its headings. */
export const renderGuidePage = ({ guide, rendered, assets, isDemo }: Parts): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${guide.title} · Perkwire guides</title>
<link rel="icon" href="data:,">
${assets.styles.map((style) => html`<link rel="stylesheet" href="${style}">`)}
<script defer src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${topBar}
<div class="layout">
  <nav class="guides" id="guides" aria-label="Guides">${guideGroups.map((group) => navGroup(group, guide))}</nav>
  <main id="content" tabindex="-1">
    ${isDemo ? nothing : ownKeys}
    <article>${trusted(rendered.markup)}</article>
  </main>
  ${tableOfContents(rendered)}
</div>
</body>
</html>
`.markup;

const topBar: Html = html`
<header class="topbar">
  <a class="brand" href="${guidesPath}">${logo}<span>Perkwire <small>Guides</small></span></a>
  <div class="search" role="search" data-index="${guidesPath}/search.json" hidden>
    <label class="sr" for="search">Search the guides</label>
    <input type="search" id="search" placeholder="Search" autocomplete="off" spellcheck="false">
    <div class="found" hidden><p role="status"></p><ul></ul></div>
  </div>
  <nav class="places" aria-label="Documentation">
    <a class="to-guides" href="#guides">All guides</a>
    <a href="/docs">API reference</a>
    <a href="/docs/events">Events</a>
    <a href="/dashboard">Dashboard</a>
  </nav>
</header>`;

const navGroup = ({ title, guides }: (typeof guideGroups)[number], current: Guide): Html => html`
  <p class="nav-title">${title}</p>
  <ul>${guides.map(
    (guide) => html`
    <li>
      <a href="${guidesPath}/${guide.slug}"${guide === current && html` aria-current="page"`}>${guide.title}</a>
    </li>`,
  )}
  </ul>`;

/** Filled in and read by the script alone: what is typed here never leaves the browser. */
const ownKeys: Html = html`
<details class="own" hidden>
  <summary>Your key in the snippets</summary>
  <p>Kept by this browser until the tab is closed; it is not sent anywhere.</p>
  <div class="fields">
    <label>API key <input data-own-field="key" type="password" autocomplete="off" spellcheck="false"></label>
    <label>SDK id <input data-own-field="sdk" autocomplete="off" spellcheck="false"></label>
    <label>
      Operator’s key <input data-own-field="operator" type="password" autocomplete="off" spellcheck="false">
    </label>
  </div>
</details>`;

function tableOfContents({ sections }: Rendered): Html {
  const shown = sections.filter(({ depth }) => depth === 2);
  if (shown.length < 2) return nothing;
  return html`
  <nav class="contents" aria-label="On this page">
    <p class="nav-title">On this page</p>
    <ul>${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
  </nav>`;
}
