import { type Html, html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { type IconName, icon } from './components.ts';
import { advertiserPath, hasRole, publisherPath, type Role, type Viewer } from './context.ts';

/**
 * Navigation groups, from top to bottom. The group `advertiser` contains an advertiser's pages. The last group contains
 * the pages without a publisher, below `/dashboard`.
 */
const groups = [
  { name: 'main', title: null },
  { name: 'catalogue', title: 'nav.catalogue' },
  { name: 'developers', title: 'nav.developers' },
  { name: 'settings', title: 'nav.settings' },
  { name: 'advertiser', title: null },
  { name: 'operator', title: 'nav.operator' },
] as const satisfies readonly { name: string; title: MessageKey | null }[];

/** Navigation entry of a page, registered by the module that owns the page. */
export type NavEntry = {
  group: (typeof groups)[number]['name'];
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

/** Returns the navigation pages that the viewer may open. */
export function pagesFor(
  navigation: Navigation,
  publisherId: number | null,
  viewer: Viewer,
): { text: string; words: string; href: string }[] {
  const open = navigation.filter(
    ({ group, role }) =>
      hasRole(viewer.user.role, role) && group !== 'advertiser' && (group === 'operator' || publisherId !== null),
  );
  return [
    ...open.map((entry) => ({
      text: t(entry.text),
      words: entry.words === undefined ? '' : t(entry.words),
      href: hrefOf(entry, publisherId),
    })),
    { text: t('common.account'), words: t('navWords.account'), href: '/dashboard/account' },
  ];
}

const hrefOf = ({ group, path }: NavEntry, publisherId: number | null, advertiserId: number | null = null): string => {
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

type ViewedScope = {
  publisherId: number | null;
  advertiserId: number | null;
  current: string | undefined;
  viewer: Viewer;
  counts: Counts;
};

/** Whether a navigation group is shown while the current publisher or advertiser is viewed. */
const isShown = (group: NavEntry['group'], { publisherId, advertiserId }: ViewedScope): boolean => {
  if (group === 'advertiser') return advertiserId !== null;
  return group === 'operator' || publisherId !== null;
};

/** Renders the navigation entries that the viewer's role may open. */
export function navigationView(navigation: Navigation, scope: ViewedScope): Html {
  return html`
    <nav aria-label="${t('layout.main')}">
      ${groups.map(({ name, title }) =>
        groupView(
          title,
          navigation.filter(({ group }) => group === name && isShown(group, scope)),
          scope,
        ),
      )}
    </nav>`;
}

/** Maximum number shown in a badge. Larger numbers are shown as "99+". */
const maxCount = 99;

function countBadge(count: number, counted: MessageKey = 'layout.unread'): Html {
  const text = count > maxCount ? `${maxCount}+` : String(count);
  return count === 0 ? nothing : html`<span class="unread">${text}<span class="sr"> ${t(counted)}</span></span>`;
}

function groupView(
  title: MessageKey | null,
  entries: Navigation,
  { publisherId, advertiserId, current, viewer, counts }: ViewedScope,
): Html {
  const allowed = entries.filter(({ role }) => hasRole(viewer.user.role, role));
  if (allowed.length === 0) return nothing;
  const entryView = (entry: NavEntry): Html => html`
    <li>
      <a href="${hrefOf(entry, publisherId, advertiserId)}"${entry.key === current && html` aria-current="page"`}>
        ${icon(entry.icon)}${t(entry.text)} ${countBadge(counts.get(entry.key) ?? 0, entry.countText)}
      </a>
    </li>`;
  return html`
    ${title !== null && html`<p class="nav-title">${t(title)}</p>`}
    <ul>${allowed.map(entryView)}</ul>`;
}

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
