import { hasRole, type Role } from '../accounts/users.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { publisherPath, type Viewer } from './context.ts';
import { type IconName, icon } from './icons.ts';

type NavEntry = { key: string; text: MessageKey; path: string; icon: IconName; role: Role };
type NavGroup = { title: MessageKey | null; entries: readonly NavEntry[] };

const publisherNav = [
  {
    title: null,
    entries: [
      { key: 'overview', text: 'nav.overview', path: '/overview', icon: 'overview', role: 'analyst' },
      { key: 'reports', text: 'nav.reports', path: '/reports', icon: 'reports', role: 'analyst' },
      { key: 'alerts', text: 'nav.alerts', path: '/alerts', icon: 'alerts', role: 'analyst' },
      { key: 'why', text: 'nav.why', path: '/why', icon: 'search', role: 'analyst' },
    ],
  },
  {
    title: 'nav.catalogue',
    entries: [
      { key: 'offers', text: 'nav.offers', path: '/offers', icon: 'offers', role: 'analyst' },
      { key: 'campaigns', text: 'nav.campaigns', path: '/campaigns', icon: 'campaigns', role: 'analyst' },
      { key: 'advertisers', text: 'nav.advertisers', path: '/advertisers', icon: 'advertisers', role: 'analyst' },
    ],
  },
  {
    title: 'nav.developers',
    entries: [
      { key: 'integration', text: 'nav.integration', path: '/integration', icon: 'integration', role: 'analyst' },
      { key: 'live', text: 'nav.live', path: '/live', icon: 'system', role: 'analyst' },
      { key: 'webhooks', text: 'nav.webhooks', path: '/settings/webhooks', icon: 'webhooks', role: 'analyst' },
      { key: 'deliveries', text: 'nav.deliveries', path: '/deliveries', icon: 'deliveries', role: 'analyst' },
      { key: 'keys', text: 'nav.keys', path: '/settings/keys', icon: 'keys', role: 'admin' },
    ],
  },
  {
    title: 'nav.settings',
    entries: [
      { key: 'settings', text: 'nav.general', path: '/settings', icon: 'settings', role: 'analyst' },
      { key: 'themes', text: 'nav.themes', path: '/settings/themes', icon: 'themes', role: 'analyst' },
      { key: 'placements', text: 'nav.placements', path: '/settings/placements', icon: 'placements', role: 'analyst' },
      {
        key: 'sequence-rules',
        text: 'nav.sequenceRules',
        path: '/settings/sequence-rules',
        icon: 'sequence',
        role: 'analyst',
      },
      { key: 'users', text: 'nav.users', path: '/settings/users', icon: 'users', role: 'admin' },
      { key: 'activity', text: 'nav.activity', path: '/settings/activity', icon: 'activity', role: 'admin' },
    ],
  },
] as const satisfies readonly NavGroup[];

const operatorNav = {
  title: 'nav.operator',
  entries: [
    { key: 'publishers', text: 'nav.publishers', path: '/operator/publishers', icon: 'publishers', role: 'operator' },
    { key: 'operators', text: 'nav.operators', path: '/operator/users', icon: 'users', role: 'operator' },
    {
      key: 'operator-activity',
      text: 'nav.operatorActivity',
      path: '/operator/activity',
      icon: 'activity',
      role: 'operator',
    },
    { key: 'system', text: 'nav.system', path: '/operator/system', icon: 'system', role: 'operator' },
  ],
} as const satisfies NavGroup;

/** Entry of the navigation a page belongs to. */
export type NavKey =
  | (typeof publisherNav)[number]['entries'][number]['key']
  | (typeof operatorNav)['entries'][number]['key']
  | 'account';

/** Whether a path below the publisher's pages is one of the navigation. */
export const isSection = (path: string): boolean =>
  publisherNav.some(({ entries }) => entries.some((entry) => entry.path === path));

/** Every page of the navigation that the viewer may open. */
export function pagesFor(publisherId: number | null, viewer: Viewer): { text: string; href: string }[] {
  const of = (entries: readonly NavEntry[], base: string) =>
    entries
      .filter(({ role }) => hasRole(viewer.user.role, role))
      .map(({ text, path }) => ({ text: t(text), href: `${base}${path}` }));
  return [
    ...(publisherId === null ? [] : publisherNav.flatMap(({ entries }) => of(entries, publisherPath(publisherId)))),
    ...of(operatorNav.entries, '/dashboard'),
    { text: t('common.account'), href: '/dashboard/account' },
  ];
}

/** The entries the viewer's role may open. `unread`: alerts. */
export function navigation(
  publisherId: number | null,
  current: NavKey | undefined,
  viewer: Viewer,
  unread: number,
): Html {
  const ofPublisher = (id: number) =>
    publisherNav.map((entries) => group(entries, publisherPath(id), current, viewer, unread));
  return html`
    <nav aria-label="${t('layout.main')}">
      ${publisherId !== null && ofPublisher(publisherId)}
      ${group(operatorNav, '/dashboard', current, viewer, 0)}
    </nav>`;
}

/** More are shown as "99+". */
const maxUnread = 99;

function unreadBadge(unread: number): Html {
  const text = unread > maxUnread ? `${maxUnread}+` : String(unread);
  return unread === 0
    ? nothing
    : html`<span class="unread">${text}<span class="sr"> ${t('layout.unread')}</span></span>`;
}

function group(
  { title, entries }: NavGroup,
  base: string,
  current: NavKey | undefined,
  viewer: Viewer,
  unread: number,
): Html {
  const allowed = entries.filter(({ role }) => hasRole(viewer.user.role, role));
  if (allowed.length === 0) return nothing;
  const entry = ({ key, text, path, icon: name }: NavEntry) => html`
    <li>
      <a href="${base}${path}"${key === current && html` aria-current="page"`}>
        ${icon(name)}${t(text)}${key === 'alerts' && unreadBadge(unread)}
      </a>
    </li>`;
  return html`
    ${title !== null && html`<p class="nav-title">${t(title)}</p>`}
    <ul>${allowed.map(entry)}</ul>`;
}
