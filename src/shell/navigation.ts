import { type Html, html, nothing } from '../platform/http/html.ts';
import { readerLanguages } from '../platform/i18n/languages.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import { type IconName, icon } from './components.ts';
import {
  advertiserPath,
  hasRole,
  publisherPath,
  type Role,
  type ViewedAdvertiser,
  type ViewedPublisher,
  type Viewer,
} from './context.ts';

/**
 * Groups of navigation entries, from top to bottom. A group with a title is a first-level item that contains its
 * entries. The entries of the other groups are first-level items. The group `settings` is an area with its own
 * navigation. The group `advertiser` contains an advertiser's pages. The last group contains the pages without a
 * publisher, below `/dashboard`.
 */
const groups = [
  { name: 'main', title: null },
  { name: 'offers', title: 'nav.offers', icon: 'offers' },
  { name: 'audience', title: 'nav.audience', icon: 'users' },
  { name: 'measure', title: 'nav.measure', icon: 'reports' },
  { name: 'developers', title: 'nav.developers', icon: 'integration' },
  { name: 'settings', title: 'nav.settings', icon: 'settings' },
  { name: 'advertiser', title: null },
  { name: 'operator', title: 'nav.operator', icon: 'publishers' },
] as const satisfies readonly ({ name: string; title: null } | { name: string; title: MessageKey; icon: IconName })[];

type GroupName = (typeof groups)[number]['name'];

/** Navigation entry of a page, registered by the module that owns the page. */
export type NavEntry = {
  group: GroupName;
  /** Sort position within the group. */
  rank: number;
  /** Key of the entry, which its pages specify in `Page.nav`. */
  key: string;
  text: MessageKey;
  /** Message key for additional search terms. */
  words?: MessageKey;
  /** Path within the publisher's pages, or below `/dashboard`. */
  path: string;
  icon: IconName;
  role: Role;
  /** Kind of row that the page `{path}/new` adds, and the role that may open it. The search lists this page. */
  adds?: { noun: MessageKey; role: Role };
  /**
   * Returns the number of items that need the viewer's attention, shown as a badge. The first argument is the ID of the
   * publisher, or of the advertiser in the group `advertiser`.
   */
  count?: (viewedId: number, userId: number) => Promise<number>;
  /** Description of the badge number for screen readers. Defaults to "unread items". */
  countText?: MessageKey;
};

/** Navigation entries of all modules, sorted by group and rank. */
export type Navigation = readonly NavEntry[];

export const navigationOf = (entries: readonly NavEntry[]): Navigation =>
  groups.flatMap(({ name }) => entries.filter(({ group }) => group === name).sort((a, b) => a.rank - b.rank));

/** Whether the navigation has an entry for a path below the publisher's pages. */
export const isSection = (navigation: Navigation, path: string): boolean =>
  navigation.some((entry) => entry.group !== 'operator' && entry.group !== 'advertiser' && entry.path === path);

/** Page that the search can list. `area` is the navigation group, or an empty string. */
export type ListedPage = { text: string; names: readonly string[]; area: string; href: string; inNavigation: boolean };

/**
 * Returns the pages that the viewer may open. `names` contains the page's name and search terms in all languages of the
 * dashboard. Pages that only the search lists have `inNavigation: false`.
 */
export function pagesFor(navigation: Navigation, publisherId: number | null, viewer: Viewer): ListedPage[] {
  const isAllowed = ({ role }: { role: Role }): boolean => hasRole(viewer.user.role, role);
  const open = navigation.filter(
    ({ group, ...entry }) =>
      isAllowed(entry) && group !== 'advertiser' && (group === 'operator' || publisherId !== null),
  );
  const pages = open.map((entry) => ({
    href: hrefOf(entry, publisherId),
    area: areaOf(entry),
    name: () => t(entry.text),
    words: entry.words,
    inNavigation: true,
  }));
  const additions = open.flatMap(({ adds, ...entry }) =>
    adds === undefined || !isAllowed(adds)
      ? []
      : {
          href: `${hrefOf(entry, publisherId)}/new`,
          area: t(entry.text),
          name: () => t('crud.add', { noun: t(adds.noun, { count: 1 }) }),
          words: undefined,
          inNavigation: false,
        },
  );
  const others = otherPages.map(({ text, area, ...page }) => ({
    ...page,
    area: area === null ? '' : t(area),
    name: () => t(text),
    inNavigation: area === null,
  }));
  return [...pages, ...additions, ...others].map(({ name, words, ...page }) => ({
    ...page,
    text: name(),
    names: readerLanguages.flatMap((language) =>
      inLanguage(language, () => [name(), ...(words === undefined ? [] : [t(words)])]),
    ),
  }));
}

/** Pages for all users that have no navigation entry. */
const otherPages = [
  { href: '/dashboard/account', area: null, text: 'common.account', words: 'navWords.account' },
  {
    href: '/dashboard/account/two-factor',
    area: 'common.account',
    text: 'account.twoFactor',
    words: 'navWords.twoFactor',
  },
  { href: '/dashboard/account/passkeys', area: 'common.account', text: 'account.passkeys', words: 'navWords.passkeys' },
  { href: '/docs/guides', area: null, text: 'layout.guides', words: 'navWords.guides' },
] as const;

function areaOf({ group }: NavEntry): string {
  const title = groups.find(({ name }) => name === group)?.title ?? null;
  return title === null ? '' : t(title);
}

const hrefOf = (
  { group, path }: Pick<NavEntry, 'group' | 'path'>,
  publisherId: number | null,
  advertiserId: number | null = null,
): string => {
  if (group === 'advertiser' && advertiserId !== null) return advertiserPath(advertiserId, path);
  return group === 'operator' || publisherId === null ? `/dashboard${path}` : publisherPath(publisherId, path);
};

/** Badge numbers for a viewer, by entry key. */
export type Counts = ReadonlyMap<string, number>;

export async function countsFor(navigation: Navigation, publisherId: number, userId: number): Promise<Counts> {
  const counted = navigation.flatMap(({ key, count }) => (count === undefined ? [] : [{ key, count }]));
  return new Map(
    await Promise.all(counted.map(async ({ key, count }) => [key, await count(publisherId, userId)] as const)),
  );
}

type NavigationScope = {
  publisher: ViewedPublisher | null;
  advertiser: ViewedAdvertiser | null;
  /** Key of the open page's entry. */
  current: string | undefined;
  viewer: Viewer;
  counts: Counts;
};

/** Whether a navigation group is shown while the current publisher or advertiser is viewed. */
const isShown = (group: GroupName, { publisher, advertiser }: NavigationScope): boolean => {
  if (group === 'advertiser') return advertiser !== null;
  return group === 'operator' || publisher !== null;
};

/**
 * Renders the navigation entries that the viewer's role may open. Only the group of the open page is expanded. On a
 * settings page, renders the navigation of the settings.
 */
export function navigationView(navigation: Navigation, scope: NavigationScope): Html {
  const allowed = navigation.filter(
    ({ group, role }) => hasRole(scope.viewer.user.role, role) && isShown(group, scope),
  );
  const openGroup = allowed.find(({ key }) => key === scope.current)?.group;
  const entriesOf = (name: GroupName): Navigation => allowed.filter(({ group }) => group === name);
  const { publisher } = scope;
  return html`
    <nav class="main-nav" aria-label="${t('layout.main')}">
      ${
        openGroup === 'settings' && publisher !== null
          ? settingsView(entriesOf('settings'), publisher, scope)
          : html`<ul>${groups.map((group) => groupView(group, entriesOf(group.name), openGroup, scope))}</ul>`
      }
    </nav>`;
}

const settingsView = (entries: Navigation, { id, name }: ViewedPublisher, scope: NavigationScope): Html => html`
  <ul>
    <li><a class="back" href="${publisherPath(id, '/overview')}">${icon('back')}${t('nav.back', { name })}</a></li>
  </ul>
  <p class="nav-title">${t('nav.settings')}</p>
  <ul>${entries.map((entry) => entryView(entry, scope))}</ul>`;

function groupView(
  group: (typeof groups)[number],
  entries: Navigation,
  openGroup: GroupName | undefined,
  scope: NavigationScope,
): Html {
  const [first] = entries;
  if (first === undefined) return nothing;
  if (group.title === null) return html`${entries.map((entry) => entryView(entry, scope))}`;
  const label = html`${icon(group.icon)}${t(group.title)} ${entries.map((entry) => countBadge(entry, scope))}`;
  if (group.name === 'settings') return html`<li><a href="${linkOf(first, scope)}">${label}</a></li>`;
  const isOpen = group.name === openGroup || (scope.publisher ?? scope.advertiser) === null;
  return html`
    <li>
      <details${isOpen && html` open`}>
        <summary>${label}${icon('chevron')}</summary>
        <ul>${entries.map((entry) => entryView(entry, scope))}</ul>
      </details>
    </li>`;
}

const linkOf = (entry: NavEntry, { publisher, advertiser }: NavigationScope): string =>
  hrefOf(entry, publisher?.id ?? null, advertiser?.id);

/** Renders a link. CSS hides the icons of entries within a group. */
const entryView = (entry: NavEntry, scope: NavigationScope): Html => html`
  <li>
    <a href="${linkOf(entry, scope)}"${entry.key === scope.current && html` aria-current="page"`}>
      ${icon(entry.icon)}${t(entry.text)} ${countBadge(entry, scope)}
    </a>
  </li>`;

/** Maximum number shown in a badge. Larger numbers are shown as "99+". */
const maxCount = 99;

function countBadge({ key, countText = 'layout.unread' }: NavEntry, { counts }: NavigationScope): Html {
  const count = counts.get(key) ?? 0;
  const text = count > maxCount ? `${maxCount}+` : String(count);
  return count === 0 ? nothing : html`<span class="unread">${text}<span class="sr"> ${t(countText)}</span></span>`;
}

/** Renders the list of the user's pinned pages, which is hidden until its script fills it (recent.js). */
export const pinnedPages = (publisherId: number | null): Html => html`
  <nav class="pinned" aria-label="${t('layout.pinned')}" hidden
    data-pinned="${publisherId === null ? '/dashboard/' : publisherPath(publisherId, '/')}">
    <p class="nav-title">${t('layout.pinned')}</p>
    <ul></ul>
  </nav>`;

/** Renders the button that pins the open page. It is hidden until its script runs. */
export const pinButton = (): Html => html`
  <button type="button" class="pin" data-pin aria-pressed="false" title="${t('layout.pin')}" hidden>
    ${icon('pin')}<span class="sr">${t('layout.pin')}</span>
  </button>`;

/**
 * Renders the button that opens the global search, which the keys `/` and Ctrl-K also open. The button is hidden until
 * its script runs.
 */
export const finderButton = (): Html => html`
  <button type="button" class="finder-button" data-find="" hidden>
    ${icon('search')}<span>${t('common.search')}</span><kbd>/</kbd>
  </button>`;

const shortcuts = [
  ['finder.searchKey', 'finder.search'],
  ['finder.rowsKey', 'finder.rows'],
  ['finder.openKey', 'finder.open'],
  ['finder.shortcutsKey', 'finder.shortcuts'],
  ['finder.closeKey', 'common.close'],
] as const;

/** Renders the dialogs for the global search and the keyboard shortcuts (finder.js). */
export const finderDialogs = (publisherId: number | null): Html => html`
  <dialog class="finder" id="finder" aria-label="${t('common.search')}"
    data-url="${publisherId === null ? '/dashboard/find' : publisherPath(publisherId, '/find')}">
    <input type="search" role="combobox" aria-label="${t('common.search')}" aria-controls="found" aria-expanded="true"
      aria-autocomplete="list" autocomplete="off" spellcheck="false"
      placeholder="${t('browser.finderPlaceholder')}">
    <div class="found" id="found" role="listbox" aria-label="${t('finder.results')}"></div>
    <p class="hint" aria-live="polite" data-found-state></p>
  </dialog>
  <dialog id="shortcuts" aria-labelledby="shortcuts-title">
    <h2 id="shortcuts-title">${t('finder.keyboard')}</h2>
    <dl class="description">
      ${shortcuts.map(([keys, text]) => html`<div><dt><kbd>${t(keys)}</kbd></dt><dd>${t(text)}</dd></div>`)}
    </dl>
    <form method="dialog" class="actions"><button class="button">${t('common.close')}</button></form>
  </dialog>`;
