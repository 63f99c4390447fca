import type { Publisher } from '../../catalog/snapshot/types.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { mayAct, type Role } from '../auth/users.ts';
import type { AssetName, AssetUrl } from './assets.ts';
import { publisherPath, type Viewer } from './context.ts';
import type { Flash } from './cookies.ts';
import { csrfField } from './forms.ts';
import { type IconName, icon, mark } from './icons.ts';

/** What a page shows; the shell around it is the same everywhere. */
export type Page = {
  title: string;
  /** One line below the title. */
  lead?: Html | string;
  /** Entry of the navigation this page belongs to. */
  nav?: NavKey;
  /** Where this page hangs, outermost first; without itself. */
  trail?: readonly { text: string; href: string }[];
  /** Buttons beside the title. */
  actions?: Html;
  body: Html;
  status?: number;
  /** Files beyond those of every page. */
  assets?: readonly AssetName[];
};

type NavEntry = { key: string; text: string; path: string; icon: IconName; role: Role };

const publisherNav = [
  {
    title: null,
    entries: [{ key: 'overview', text: 'Overview', path: '/overview', icon: 'overview', role: 'analyst' }],
  },
  {
    title: 'Catalogue',
    entries: [
      { key: 'offers', text: 'Offers', path: '/offers', icon: 'offers', role: 'analyst' },
      { key: 'campaigns', text: 'Campaigns', path: '/campaigns', icon: 'campaigns', role: 'analyst' },
      { key: 'advertisers', text: 'Advertisers', path: '/advertisers', icon: 'advertisers', role: 'analyst' },
    ],
  },
  {
    title: 'Connect',
    entries: [
      { key: 'integration', text: 'Integration', path: '/integration', icon: 'integration', role: 'analyst' },
      { key: 'deliveries', text: 'Deliveries', path: '/deliveries', icon: 'deliveries', role: 'analyst' },
    ],
  },
  {
    title: 'Settings',
    entries: [
      { key: 'settings', text: 'Configuration', path: '/settings', icon: 'settings', role: 'analyst' },
      { key: 'themes', text: 'Themes', path: '/settings/themes', icon: 'themes', role: 'analyst' },
      { key: 'placements', text: 'Placements', path: '/settings/placements', icon: 'placements', role: 'analyst' },
      {
        key: 'sequence-rules',
        text: 'Sequence rules',
        path: '/settings/sequence-rules',
        icon: 'sequence',
        role: 'analyst',
      },
      { key: 'keys', text: 'API keys', path: '/settings/keys', icon: 'keys', role: 'admin' },
      { key: 'webhooks', text: 'Webhooks', path: '/settings/webhooks', icon: 'webhooks', role: 'analyst' },
      { key: 'users', text: 'Users', path: '/settings/users', icon: 'users', role: 'admin' },
      { key: 'activity', text: 'Activity log', path: '/settings/activity', icon: 'activity', role: 'admin' },
    ],
  },
] as const satisfies readonly { title: string | null; entries: readonly NavEntry[] }[];

const operatorNav = [
  {
    key: 'publishers',
    text: 'Publishers',
    path: '/dashboard/operator/publishers',
    icon: 'publishers',
    role: 'operator',
  },
  { key: 'operators', text: 'Operators', path: '/dashboard/operator/users', icon: 'users', role: 'operator' },
  {
    key: 'operator-activity',
    text: 'Operators’ log',
    path: '/dashboard/operator/activity',
    icon: 'activity',
    role: 'operator',
  },
  { key: 'system', text: 'System', path: '/dashboard/operator/system', icon: 'system', role: 'operator' },
] as const satisfies readonly NavEntry[];

export type NavKey =
  | (typeof publisherNav)[number]['entries'][number]['key']
  | (typeof operatorNav)[number]['key']
  | 'account';

type Shell = { viewer: Viewer; publisher: Publisher | null; flash: Flash | null; asset: AssetUrl };

/** A page of somebody who is signed in. */
export function renderPage(page: Page, { viewer, publisher, flash, asset }: Shell): string {
  return documentOf(
    page.title,
    asset,
    page.assets ?? [],
    html`<a class="skip" href="#content">Skip to the content</a>
<header class="topbar"><button class="menu-button" type="button" aria-controls="sidebar" aria-expanded="false" data-menu>${icon('menu')}<span class="sr">Menu</span></button><a class="brand" href="/dashboard">${mark}<span>Perkwire</span></a></header>
<div class="shell">
<aside class="sidebar" id="sidebar">
<a class="brand" href="/dashboard">${mark}<span>Perkwire</span></a>
${publisher === null ? nothing : publisherBadge(publisher, viewer)}
<nav aria-label="Main">${publisher === null ? nothing : publisherNav.map((group) => navGroup(group.title, group.entries, publisherPath(publisher.id), page.nav, viewer))}
${navGroup('Operator', operatorNav, '', page.nav, viewer)}</nav>
<div class="who"><a href="/dashboard/account" ${page.nav === 'account' ? html`aria-current="page"` : nothing}>${icon('account')}<span><strong>${viewer.user.email}</strong><small>${viewer.user.role}</small></span></a>
<form method="post" action="/dashboard/sign-out">${csrfField(viewer)}<button class="button quiet small">Sign out</button></form></div>
</aside>
<main id="content" tabindex="-1">
${trailOf(page)}
<div class="page-head"><div><h1>${page.title}</h1>${page.lead === undefined ? nothing : html`<p class="lead">${page.lead}</p>`}</div>${page.actions === undefined ? nothing : html`<div class="actions">${page.actions}</div>`}</div>
${page.body}
</main>
</div>
<div class="toasts" role="status" aria-live="polite">${flash === null ? nothing : html`<div class="toast ${flash.kind}" data-toast>${icon(flash.kind === 'done' ? 'check' : 'alert')}<p>${flash.text}</p><button type="button" class="close" aria-label="Dismiss" data-dismiss>×</button></div>`}</div>`,
    viewer.csrf,
  );
}

/** A page of somebody who is not signed in: one card in the middle. */
export const renderCard = (title: string, asset: AssetUrl, body: Html): string =>
  documentOf(
    title,
    asset,
    [],
    html`<main class="entrance" id="content"><div class="entrance-card"><p class="brand">${mark}<span>Perkwire</span></p><h1>${title}</h1>${body}</div></main>`,
    null,
  );

/** Neither eval nor styles of its own: the content security policy allows neither. */
const htmxConfig = JSON.stringify({
  allowEval: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
});

function documentOf(
  title: string,
  asset: AssetUrl,
  more: readonly AssetName[],
  content: Html,
  csrf: string | null,
): string {
  const names: AssetName[] = ['dashboard.css', 'htmx.js', 'dashboard.js', ...more];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${htmxConfig}">
<title>${title} · Perkwire</title>
<link rel="icon" href="data:,">
${names.map((name) => (name.endsWith('.css') ? html`<link rel="stylesheet" href="${asset(name)}">` : html`<script defer src="${asset(name)}"></script>`))}
</head>
<body${csrf === null ? nothing : html` hx-headers="${JSON.stringify({ 'x-csrf-token': csrf })}"`}>
${content}
</body>
</html>
`.markup;
}

function navGroup(
  title: string | null,
  entries: readonly NavEntry[],
  base: string,
  current: NavKey | undefined,
  viewer: Viewer,
): Html {
  const allowed = entries.filter((entry) => mayAct(viewer.user.role, entry.role));
  if (allowed.length === 0) return nothing;
  return html`${title === null ? nothing : html`<p class="nav-title">${title}</p>`}<ul>${allowed.map(
    (entry) =>
      html`<li><a href="${base}${entry.path}"${entry.key === current ? html` aria-current="page"` : nothing}>${icon(entry.icon)}${entry.text}</a></li>`,
  )}</ul>`;
}

const publisherBadge = (publisher: Publisher, viewer: Viewer): Html =>
  viewer.user.role === 'operator'
    ? html`<a class="publisher" href="/dashboard/operator/publishers" title="Switch publisher"><span><small>Publisher</small><strong>${publisher.name}</strong></span>${icon('chevron')}</a>`
    : html`<p class="publisher"><span><small>Publisher</small><strong>${publisher.name}</strong></span></p>`;

const trailOf = ({ trail, title }: Page): Html =>
  trail === undefined
    ? nothing
    : html`<nav class="trail" aria-label="Where you are"><ol>${trail.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}<li aria-current="page">${title}</li></ol></nav>`;
