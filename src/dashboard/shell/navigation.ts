import { type Html, html, nothing } from '../../platform/http/html.ts';
import { hasRole, type Role } from '../auth/users.ts';
import { publisherPath, type Viewer } from './context.ts';
import { type IconName, icon } from './icons.ts';

type NavEntry = { key: string; text: string; path: string; icon: IconName; role: Role };
type NavGroup = { title: string | null; entries: readonly NavEntry[] };

const publisherNav = [
  {
    title: null,
    entries: [
      { key: 'overview', text: 'Overview', path: '/overview', icon: 'overview', role: 'analyst' },
      { key: 'reports', text: 'Reports', path: '/reports', icon: 'reports', role: 'analyst' },
      { key: 'alerts', text: 'Alerts', path: '/alerts', icon: 'alerts', role: 'analyst' },
      { key: 'why', text: 'Why (not) shown', path: '/why', icon: 'search', role: 'analyst' },
    ],
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
    title: 'Developers',
    entries: [
      { key: 'integration', text: 'Integration', path: '/integration', icon: 'integration', role: 'analyst' },
      { key: 'live', text: 'Live', path: '/live', icon: 'system', role: 'analyst' },
      { key: 'webhooks', text: 'Webhooks', path: '/settings/webhooks', icon: 'webhooks', role: 'analyst' },
      { key: 'deliveries', text: 'Deliveries', path: '/deliveries', icon: 'deliveries', role: 'analyst' },
      { key: 'keys', text: 'API keys', path: '/settings/keys', icon: 'keys', role: 'admin' },
    ],
  },
  {
    title: 'Settings',
    entries: [
      { key: 'settings', text: 'General', path: '/settings', icon: 'settings', role: 'analyst' },
      { key: 'themes', text: 'Themes', path: '/settings/themes', icon: 'themes', role: 'analyst' },
      { key: 'placements', text: 'Placements', path: '/settings/placements', icon: 'placements', role: 'analyst' },
      {
        key: 'sequence-rules',
        text: 'Sequence rules',
        path: '/settings/sequence-rules',
        icon: 'sequence',
        role: 'analyst',
      },
      { key: 'users', text: 'Users', path: '/settings/users', icon: 'users', role: 'admin' },
      { key: 'activity', text: 'Activity log', path: '/settings/activity', icon: 'activity', role: 'admin' },
    ],
  },
] as const satisfies readonly NavGroup[];

const operatorNav = {
  title: 'Operator',
  entries: [
    { key: 'publishers', text: 'Publishers', path: '/operator/publishers', icon: 'publishers', role: 'operator' },
    { key: 'operators', text: 'Operators', path: '/operator/users', icon: 'users', role: 'operator' },
    {
      key: 'operator-activity',
      text: 'Operator activity',
      path: '/operator/activity',
      icon: 'activity',
      role: 'operator',
    },
    { key: 'system', text: 'System', path: '/operator/system', icon: 'system', role: 'operator' },
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
      .map(({ text, path }) => ({ text, href: `${base}${path}` }));
  return [
    ...(publisherId === null ? [] : publisherNav.flatMap(({ entries }) => of(entries, publisherPath(publisherId)))),
    ...of(operatorNav.entries, '/dashboard'),
    { text: 'Account', href: '/dashboard/account' },
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
    <nav aria-label="Main">
      ${publisherId !== null && ofPublisher(publisherId)}
      ${group(operatorNav, '/dashboard', current, viewer, 0)}
    </nav>`;
}

/** More are shown as "99+". */
const maxUnread = 99;

function unreadBadge(unread: number): Html {
  const text = unread > maxUnread ? `${maxUnread}+` : String(unread);
  return unread === 0 ? nothing : html`<span class="unread">${text}<span class="sr"> unread</span></span>`;
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
        ${icon(name)}${text}${key === 'alerts' && unreadBadge(unread)}
      </a>
    </li>`;
  return html`
    ${title !== null && html`<p class="nav-title">${title}</p>`}
    <ul>${allowed.map(entry)}</ul>`;
}
