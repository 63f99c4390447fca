import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { logo } from '../../platform/http/logo.ts';
import { type StaticText, sendStaticText } from '../../platform/http/static-text.ts';
import type { DocsAssets } from './assets.ts';
import { ownKeysForm } from './own-keys.ts';

/** URL path of the search index. */
export const searchPath = '/docs/search.json';

const areas = [
  { name: 'Guides', path: '/docs/guides' },
  { name: 'API reference', path: '/docs' },
  { name: 'Events', path: '/docs/events' },
] as const;

type Parts = {
  title: string;
  area: (typeof areas)[number]['name'];
  assets: DocsAssets;
  isDemo: boolean;
  /** Content of the sidebar, without the surrounding element. */
  navigation: Html;
  content: Html;
  /** Additional column next to the content. */
  aside?: Html;
  /** Whether the content includes a code column. */
  isWide?: boolean;
};

/** Renders a documentation page with a search bar at the top, a sidebar, and the content. */
export const renderDocsPage = ({ title, area, assets, isDemo, navigation, content, aside, isWide }: Parts): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Perkwire ${area === 'Guides' ? 'guides' : area}</title>
<link rel="icon" href="data:,">
${assets.styles.map((style) => html`<link rel="stylesheet" href="${style}">`)}
${assets.scripts.map((script) => html`<script defer src="${script}"></script>`)}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${topBar(area)}
<div class="layout${isWide && ' wide'}">
  <nav class="guides" id="list" aria-label="${area}">${navigation}</nav>
  <main id="content" tabindex="-1">
    ${isDemo ? nothing : ownKeysForm}
    ${content}
  </main>
  ${aside}
</div>
</body>
</html>
`.markup;

const topBar = (area: Parts['area']): Html => html`
<header class="topbar">
  <a class="brand" href="/docs/guides">${logo}<span>Perkwire <small>${area}</small></span></a>
  <div class="search" role="search" data-index="${searchPath}" hidden>
    <label class="sr" for="search">Search the documentation</label>
    <input type="search" id="search" placeholder="Search" autocomplete="off" spellcheck="false">
    <div class="found" hidden><p role="status"></p><ul></ul></div>
  </div>
  <nav class="places" aria-label="Documentation">
    <a class="to-list" href="#list">Contents</a>
    ${areas.map(({ name, path }) => html`<a href="${path}"${name === area && html` aria-current="true"`}>${name}</a>`)}
    <a href="/dashboard">Dashboard</a>
  </nav>
</header>`;

/** Response headers that allow only our own styles, scripts and images. */
const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
};

/** Cache-Control value that makes browsers revalidate their copy with the ETag. If it is current, they get 304. */
export const caching = 'no-cache';

export const sendDocsPage = (request: FastifyRequest, reply: FastifyReply, page: StaticText): Promise<FastifyReply> =>
  sendStaticText(request, reply.headers(pageHeaders), page, { type: 'text/html', caching });

/** Sends Markdown for programs, which search engines don't list. */
export const sendMarkdown = (request: FastifyRequest, reply: FastifyReply, text: StaticText): Promise<FastifyReply> =>
  sendStaticText(request, reply.headers({ 'x-content-type-options': 'nosniff', 'x-robots-tag': 'noindex' }), text, {
    type: 'text/markdown',
    caching,
  });
