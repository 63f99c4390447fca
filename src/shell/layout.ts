import { createRequire } from 'node:module';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { logo } from '../platform/http/logo.ts';
import { immutable, loadStaticText, type StaticText, sendStaticText } from '../platform/http/static-text.ts';
import { t } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import { csrfField, hiddenField, icon, link, tabs } from './components.ts';
import {
  browserMessages,
  type Cookies,
  csrfHeader,
  type Flash,
  type Portal,
  portalPath,
  roleName,
  type SubmitOnce,
  type Undo,
  type ViewedAdvertiser,
  type ViewedPublisher,
  type Viewer,
} from './context.ts';
import {
  type Counts,
  finderButton,
  finderDialogs,
  type Navigation,
  navigationView,
  pinButton,
  pinnedPages,
} from './navigation.ts';

/** Dependencies that every page needs. */
export type Shell = {
  asset: AssetUrl;
  cookies: Cookies;
  /** Public origin of the service. */
  publicUrl: string;
  navigation: Navigation;
  submitOnce: SubmitOnce;
  /** Whether the pages are those of a portal, below `/portal/{id}`. */
  isPortal?: true;
};

/** Message about the last action, for the element of the page that the action has changed. */
export type PlacedMessage = { at: string; html: Html };

/** Page content, which is rendered in the common page layout. */
export type Page = {
  title: string;
  /** One-line introduction below the title. */
  lead?: Html | string;
  /** Key of the navigation entry to highlight. */
  nav?: string;
  /** Breadcrumbs, outermost first, without the current page. */
  trail?: readonly { text: string; href: string }[];
  /** Buttons next to the title. */
  actions?: Html;
  body: Html;
  /** Renders the body with a message at one of its elements. If absent, messages are shown in a corner of the page. */
  bodyWith?: (message: PlacedMessage) => Html;
  status?: number;
  /** Scripts and styles that this page loads in addition to those that all pages load. */
  assets?: readonly AssetName[];
};

type Layout = {
  viewer: Viewer;
  /** Publisher whose navigation is shown. */
  publisher: ViewedPublisher | null;
  advertiser?: ViewedAdvertiser | null;
  /** Whether the page can be opened again at the same URL, so that it can be pinned. */
  isPinnable?: boolean;
  counts?: Counts;
  flash: Flash | null;
  shell: { asset: AssetUrl; navigation: Navigation };
};

/** Renders the HTML document of a page for a signed-in user. */
export function renderPage(
  page: Page,
  { viewer, publisher, advertiser = null, isPinnable = false, counts = new Map(), flash, shell }: Layout,
): string {
  const message = flash === null ? nothing : toast(flash, viewer);
  const placed = flash?.at ? page.bodyWith?.({ at: flash.at, html: message }) : undefined;
  const canFind = publisher !== null || viewer.user.role === 'operator';
  const content = html`
    <a class="skip" href="#content">${t('layout.skip')}</a>
    ${topBar(publisher ?? advertiser, canFind)}
    <div class="layout">
      <aside class="sidebar" id="sidebar" data-user="${viewer.user.id}">
        ${brandLink}
        ${publisher !== null && publisherBadge(publisher, viewer)}
        ${advertiser !== null && advertiserBadge(advertiser, viewer)}
        ${canFind && html`${finderButton()}${pinnedPages(publisher?.id ?? null)}`}
        ${navigationView(shell.navigation, { publisher, advertiser, current: page.nav, viewer, counts })}
        ${accountMenu(viewer, page.nav)}
      </aside>
      <main id="content" tabindex="-1">
        ${breadcrumbs(page)}
        ${pageHead(page, canFind && isPinnable)}
        ${placed ?? page.body}
      </main>
    </div>
    ${canFind && finderDialogs(publisher?.id ?? null)}
    <div class="toasts" role="status" aria-live="polite">${placed === undefined && message}</div>`;
  const assets: AssetName[] = ['recent.js', ...(canFind ? (['finder.js'] as const) : []), ...(page.assets ?? [])];
  return renderDocument({ title: page.title, asset: shell.asset, assets, content, csrf: viewer.csrf });
}

const portalTabs = [
  ['deliveries', '/deliveries', 'deliveries', 'nav.deliveries'],
  ['endpoints', '/settings/webhooks/all', 'webhooks', 'nav.webhooks'],
  ['live', '/live', 'live', 'nav.live'],
] as const;

/**
 * Renders a page of a portal: the operator's logo, links to the pages that the portal may show, and the page itself.
 * The documentation opens in a new tab, because it cannot be shown in a frame.
 */
export function renderPortal(
  page: Page,
  { portal, viewer, flash, shell }: { portal: Portal; viewer: Viewer; flash: Flash | null; shell: { asset: AssetUrl } },
): string {
  const entries = portalTabs
    .filter(([permission]) => portal.permissions.includes(permission))
    .map(([, path, nav, text]) => ({ text: t(text), href: portalPath(portal.id, path), current: page.nav === nav }));
  const logo = portal.theme.logo_url;
  const content = html`
    <div class="portal">
      <header>
        ${logo !== undefined && html`<img src="${logo}" alt="" height="28" referrerpolicy="no-referrer">`}
        ${entries.length > 1 && tabs(t('portal.pages'), entries)}
      </header>
      <main id="content" tabindex="-1">
        ${breadcrumbs(page)}
        ${pageHead(page, false)}
        ${page.body}
      </main>
    </div>
    <div class="toasts" role="status" aria-live="polite">${flash !== null && toast(flash, viewer)}</div>`;
  const { assets = [] } = page;
  const styles = [portalPath(portal.id, '/theme.css')];
  return renderDocument({
    title: page.title,
    asset: shell.asset,
    assets,
    content,
    csrf: viewer.csrf,
    styles,
  }).replaceAll('<a href="/docs/', '<a target="_blank" rel="noopener" href="/docs/');
}

/** Renders the HTML document for a user who is not signed in: a single card in the centre of the page. */
export function renderCard(title: string, asset: AssetUrl, body: Html, assets: readonly AssetName[] = []): string {
  const content = html`
    <main class="entrance" id="content">
      <div class="entrance-card">
        <p class="brand">${logo}<span>Perkwire</span></p>
        <h1>${title}</h1>
        ${body}
      </div>
    </main>`;
  return renderDocument({ title, asset, assets, content, csrf: null });
}

/** Configure htmx for the content security policy, which forbids eval and inline styles. */
const htmxConfig = JSON.stringify({
  // Set focus and handlers of new content immediately. After a delay, the focus would jump away from a field in use.
  defaultSettleDelay: 0,
  allowEval: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
});

type DocumentParts = {
  title: string;
  asset: AssetUrl;
  assets: readonly AssetName[];
  content: Html;
  csrf: string | null;
  /** Paths of additional style sheets. */
  styles?: readonly string[];
};

function renderDocument({ title, asset, assets, content, csrf, styles = [] }: DocumentParts): string {
  const names: AssetName[] = ['tokens.css', 'dashboard.css', 'htmx.js', 'dashboard.js', 'drafts.js', ...assets];
  const tag = (name: AssetName) =>
    name.endsWith('.css')
      ? html`<link rel="stylesheet" href="${asset(name)}">`
      : html`<script defer src="${asset(name)}"></script>`;
  const { language, locale } = reader();
  const headers = csrf !== null && html` hx-headers="${JSON.stringify({ [csrfHeader]: csrf })}"`;
  return html`<!doctype html>
<html lang="${language}" data-locale="${locale}" data-messages="${browserMessages()}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${htmxConfig}">
<title>${title} · Perkwire</title>
<link rel="icon" href="data:,">
${names.map(tag)}
${styles.map((path) => html`<link rel="stylesheet" href="${path}">`)}
</head>
<body${headers}>
${content}
</body>
</html>
`.markup;
}

const brandLink = html`<a class="brand" href="/dashboard">${logo}<span>Perkwire</span></a>`;

/** Renders the top bar for small screens, with the name of the open publisher or advertiser. */
const topBar = (open: ViewedPublisher | ViewedAdvertiser | null, canFind: boolean): Html => html`
  <header class="topbar">
    <button class="menu-button" type="button" aria-controls="sidebar" aria-expanded="false" data-menu>
      ${icon('menu')}<span class="sr">${t('layout.menu')}</span>
    </button>
    ${brandLink}
    ${open !== null && html`<strong class="open-name">${open.name}</strong>`}
    ${
      canFind &&
      html`
        <button class="menu-button" type="button" data-find="" hidden>
          ${icon('search')}<span class="sr">${t('common.search')}</span>
        </button>`
    }
  </header>`;

function publisherBadge(publisher: ViewedPublisher, viewer: Viewer): Html {
  const name = html`<span><small>${t('layout.publisher')}</small><strong>${publisher.name}</strong></span>`;
  const isOperator = viewer.user.role === 'operator';
  const others = isOperator ? '/dashboard/operator/publishers' : '/dashboard/account';
  return isOperator || viewer.publisherIds.length > 1
    ? html`
      <a class="publisher" href="${others}" title="${t('layout.switchPublisher')}"
        data-find="publishers">
        ${name}${icon('chevron')}
      </a>`
    : html`<p class="publisher">${name}</p>`;
}

function advertiserBadge({ name }: ViewedAdvertiser, viewer: Viewer): Html {
  const label = html`<span><small>${t('dimensions.advertiser')}</small><strong>${name}</strong></span>`;
  return viewer.advertiserIds.length + viewer.publisherIds.length > 1
    ? html`<a class="publisher" href="/dashboard/account">${label}${icon('chevron')}</a>`
    : html`<p class="publisher">${label}</p>`;
}

const accountMenu = (viewer: Viewer, nav: string | undefined): Html => html`
  <div class="account">
    <a href="/docs/guides">${icon('integration')}<span>${t('layout.guides')}</span></a>
    <a href="/dashboard/account"${nav === 'account' && html` aria-current="page"`}>
      ${icon('account')}<span><strong>${viewer.user.email}</strong><small>${roleName(viewer.user.role)}</small></span>
    </a>
    <form method="post" action="/dashboard/sign-out">
      ${csrfField(viewer)}<button class="button quiet small">${t('layout.signOut')}</button>
    </form>
  </div>`;

function breadcrumbs({ trail, title }: Page): Html {
  if (trail === undefined) return nothing;
  return html`
    <nav class="trail" aria-label="${t('layout.breadcrumb')}">
      <ol>
        ${trail.map(({ text, href }) => html`<li>${link(href, text)}</li>`)}
        <li aria-current="page">${title}</li>
      </ol>
    </nav>`;
}

const pageHead = ({ title, lead, actions }: Page, canPin: boolean): Html => html`
  <div class="page-head">
    <div>
      <div class="page-title"><h1>${title}</h1>${canPin && pinButton()}</div>
      ${lead !== undefined && html`<p class="lead">${lead}</p>`}
    </div>
    ${actions !== undefined && html`<div class="actions">${actions}</div>`}
  </div>`;

/**
 * Renders a message that disappears by itself, unless it has an undo button. In that case, it stays until it is
 * dismissed.
 */
const toast = ({ kind, text, undo }: Flash, viewer: Viewer): Html => html`
  <div class="toast ${kind}" data-toast>
    ${icon(kind === 'done' ? 'check' : 'alert')}
    <p>${text}</p>
    ${undo !== undefined && undoForm(undo, viewer)}
    <button type="button" class="close" aria-label="${t('layout.dismiss')}" data-dismiss>×</button>
  </div>`;

function undoForm({ to, values = {} }: Undo, viewer: Viewer): Html {
  const fields = Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((item) => hiddenField(name, item)),
  );
  return html`
    <form class="inline undo" method="post" action="${to}">
      ${csrfField(viewer)}${fields}
      <button class="button small">${t('common.undo')}</button>
    </form>`;
}

const { resolve } = createRequire(import.meta.url);
const asset = (path: string): URL => new URL(`../../assets/${path}`, import.meta.url);
const own = (name: string): URL => asset(`dashboard/${name}`);

/** All static files that the pages load. Library files come from their npm packages. */
const files = {
  'tokens.css': asset('tokens.css'),
  'dashboard.css': own('dashboard.css'),
  'dashboard.js': own('dashboard.js'),
  'drafts.js': own('drafts.js'),
  'recent.js': own('recent.js'),
  'finder.js': own('finder.js'),
  'charts.js': own('charts.js'),
  'language.js': own('language.js'),
  'passkeys.js': own('passkeys.js'),
  'pickers.js': own('pickers.js'),
  'preview.js': own('preview.js'),
  'preview-frame.js': own('preview-frame.js'),
  'preview.css': own('preview.css'),
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
} as const;

export type AssetName = keyof typeof files;

/**
 * Returns the URL of a static file. The URL contains a content hash, so that browsers can cache the file indefinitely.
 */
export type AssetUrl = (name: AssetName) => string;

const types: Record<string, string> = { css: 'text/css', js: 'text/javascript' };

/** Registers the route for static files and returns a function that builds their URLs. */
export async function registerAssets(app: App): Promise<AssetUrl> {
  const contents = new Map<string, StaticText>();
  const urls = new Map<string, string>();
  for (const [name, file] of Object.entries(files)) {
    const content = await loadStaticText(file);
    if (content === null) throw new Error(`dashboard asset ${name} is missing`);
    const [stem, extension] = name.split('.');
    const hashed = `${stem}.${content.hash}.${extension}`;
    contents.set(hashed, content);
    urls.set(name, `/dashboard/assets/${hashed}`);
  }
  app.get<{ Params: { name: string } }>(
    '/dashboard/assets/:name',
    { schema: { hide: true } },
    async (request, reply) => {
      const content = contents.get(request.params.name);
      if (content === undefined) throw new AppError('not_found');
      return sendStaticText(request, reply, content, {
        type: types[request.params.name.split('.')[2] ?? ''] ?? 'text/plain',
        caching: immutable,
      });
    },
  );
  return (name) => urls.get(name) as string;
}
