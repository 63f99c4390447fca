import { isDeepStrictEqual } from 'node:util';
import { auditLog } from '../../../catalog/management/audit.ts';
import type { View } from '../../../catalog/management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { dispatcherLabel } from '../../../webhooks/dispatcher/settle/disabling.ts';
import { signInLabel } from '../../auth/account-log.ts';
import type { Role } from '../../auth/users.ts';
import { badge, emptyState, pager, type Tone } from '../../shell/components.ts';
import type { Context } from '../../shell/context.ts';
import { moment, plural, utc } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { NavKey } from '../../shell/layout.ts';
import { queryText } from '../../shell/management.ts';
import { commonPages, type Pages, publisherPages, type Tools } from '../../shell/pages.ts';

/** Kinds of things in the log: how one is called, and where it is shown; null: it has no page. */
type Kinds = Readonly<Record<string, { title: string; one: string; pathOf: ((id: string) => string) | null }>>;

const publisherKinds: Kinds = {
  offers: { title: 'Offers', one: 'Offer', pathOf: (id) => `/offers/${id}` },
  creatives: { title: 'Pictures of offers', one: 'Picture', pathOf: null },
  campaigns: { title: 'Campaigns', one: 'Campaign', pathOf: (id) => `/campaigns/${id}` },
  provisions: {
    title: 'Campaigns served to publishers',
    one: 'Campaign for publisher',
    pathOf: (id) => `/campaigns/${id.split('/', 1)}/publishers`,
  },
  advertisers: { title: 'Advertisers', one: 'Advertiser', pathOf: (id) => `/advertisers/${id}` },
  themes: { title: 'Themes', one: 'Theme', pathOf: (id) => `/settings/themes/${id}` },
  placements: {
    title: 'Placements',
    one: 'Placement',
    pathOf: (id) => `/settings/placements/${encodeURIComponent(id)}`,
  },
  'sequence-rules': { title: 'Sequence rules', one: 'Sequence rule', pathOf: (id) => `/settings/sequence-rules/${id}` },
  'webhook-endpoints': {
    title: 'Webhooks',
    one: 'Webhook',
    pathOf: (id) => `/settings/webhooks/${encodeURIComponent(id)}`,
  },
  keys: { title: 'API keys', one: 'API key', pathOf: () => '/settings/keys' },
  users: { title: 'Users', one: 'User', pathOf: () => '/settings/users' },
  publishers: { title: 'Configuration', one: 'Configuration', pathOf: () => '/settings' },
  catalogue: { title: 'Imports', one: 'Import', pathOf: null },
};

const operatorKinds: Kinds = { users: { title: 'Operators', one: 'Operator', pathOf: () => '/operator/users' } };

const actions: Readonly<Record<string, { text: string; tone: Tone }>> = {
  create: { text: 'Added', tone: 'good' },
  update: { text: 'Changed', tone: 'info' },
  remove: { text: 'Removed', tone: 'bad' },
  sign_in: { text: 'Signed in', tone: 'plain' },
  lock: { text: 'Locked', tone: 'bad' },
};

/** Entries on a page (count). */
const listed = 50;

/** An entry with more values than these is folded (count). */
const shownValues = 4;

/** Of a value (characters). */
const longest = 500;

/** Whose log a page shows: a publisher's, or that of the operators. */
type Place<C extends Context> = {
  pages: Pages<C>;
  path: string;
  nav: NavKey;
  needs: Role;
  kinds: Kinds;
  zoneOf: (context: C) => Zone;
  title: string;
  lead: string;
};

type Zone = { timeZone: string };

/** Settings > Activity log: who changed what, newest first. */
export function activityPages(app: App, tools: Tools): void {
  register(tools, {
    pages: publisherPages(app, tools),
    path: '/settings/activity',
    nav: 'activity',
    needs: 'admin',
    kinds: publisherKinds,
    zoneOf: ({ publisher }) => publisher,
    title: 'Activity log',
    lead: 'Who changed what, newest first. Entries are never changed; secrets are not in them.',
  });
  register(tools, {
    pages: commonPages(app, tools),
    path: '/operator/activity',
    nav: 'operator-activity',
    needs: 'operator',
    kinds: operatorKinds,
    zoneOf: () => utc,
    title: 'Operators’ log',
    lead: 'What became of the accounts of operators, newest first, in UTC. What concerns a publisher is in its own log.',
  });
}

function register<C extends Context>(
  { store }: Tools,
  { pages, path, nav, needs, kinds, zoneOf, title, lead }: Place<C>,
): void {
  pages.get(path, needs, async (context) => {
    const asked = queryText(context, 'resource');
    const resource = Object.hasOwn(kinds, asked) ? asked : '';
    const cursor = queryText(context, 'cursor');
    const filter = { ...(resource !== '' && { resource }) };
    const { rows, nextCursor } = await store.list(context, auditLog, {
      limit: String(listed),
      ...filter,
      ...(cursor !== '' && { cursor }),
    });
    const at = context.path(path);
    const first = `${at}?${new URLSearchParams(filter)}`;
    const after = nextCursor === null ? null : `${at}?${new URLSearchParams({ ...filter, cursor: nextCursor })}`;
    const choices = [
      { value: '', text: 'Everything' },
      ...Object.entries(kinds).map(([value, { title }]) => ({ value, text: title })),
    ];
    return {
      title,
      lead,
      nav,
      body:
        rows.length === 0 && resource === '' && cursor === ''
          ? emptyState(
              'activity',
              'Nothing was changed yet',
              'Every change of offers, settings, keys and webhooks appears here, by whom and from what to what.',
            )
          : html`<form class="filters" method="get" action="${at}" role="search">${createForm({ resource }).select('resource', { label: 'Kind', choices })}<button class="button">Show</button></form>
${rows.length === 0 ? html`<p class="hint">Nothing matches.</p>` : html`<ol class="card activity" aria-label="Entries">${rows.map((row) => entryOf({ path: context.path, kinds, zone: zoneOf(context) }, row))}</ol>`}
${pager(cursor === '' ? null : first, after)}`,
    };
  });
}

type Surface = { path: Context['path']; kinds: Kinds; zone: Zone };

const entryOf = (on: Surface, row: View): Html =>
  html`<li><div><p>${what(on, row)}</p><p class="hint">${who(row)}</p><p class="hint">${moment(on.zone, new Date(String(row.at)), 'second')}</p></div>${changes(on.zone, row)}</li>`;

/** Parts of the service that change something by themselves. */
const ours = new Set([dispatcherLabel, signInLabel]);

function who({ actor_kind: kind, actor_label: label }: View): string {
  if (kind === 'system') return ours.has(String(label)) ? `by the ${label}` : `by command ${label}`;
  return `by ${kind === 'key' ? 'API key ' : ''}${label}`;
}

/** What was removed has no page any more. */
function what({ path: pathOf, kinds }: Surface, row: View): Html {
  const [resource, id, action] = [String(row.resource), String(row.resource_id), String(row.action)];
  const kind = Object.hasOwn(kinds, resource) ? kinds[resource] : undefined;
  const { text, tone } = actions[action] ?? { text: action, tone: 'plain' as const };
  const named = `${kind?.one ?? resource} ${id}`;
  const to = action === 'remove' ? null : (kind?.pathOf?.(id) ?? null);
  return html`${badge(text, tone)} ${to === null ? named : html`<a href="${pathOf(to)}">${named}</a>`}`;
}

/** Every value that differs, old and new; of what was added or removed, only what it held. */
function changes(zone: Zone, { action, changes: all }: View): Html {
  const values = Object.entries(all as Record<string, { old: unknown; new: unknown }>)
    .filter(([name]) => name !== 'id')
    .flatMap(([name, { old, new: now }]) => differences(name.replaceAll('_', ' '), old, now));
  const list = html`<dl class="changes">${values.map(([name, old, now]) => {
    const [was, is] = [shown(zone, old), shown(zone, now)];
    const value =
      action === 'create'
        ? is
        : action === 'remove'
          ? was
          : html`<del>${was}</del> <span aria-hidden="true">→</span><span class="sr"> became </span> <ins>${is}</ins>`;
    return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  })}</dl>`;
  if (values.length <= shownValues) return list;
  return html`<details class="more"><summary>${plural(values.length, 'value')}</summary>${list}</details>`;
}

type Difference = [name: string, old: unknown, now: unknown];

/** What differs inside of nested values, by its way there; lists of plain values stay whole. */
function differences(name: string, old: unknown, now: unknown): Difference[] {
  if (isDeepStrictEqual(old, now)) return [];
  if (!isNested(old) && !isNested(now)) return [[name, old, now]];
  if (!isNested(old ?? {}) || !isNested(now ?? {})) return [[name, old, now]];
  const [was, is] = [Object(old ?? {}), Object(now ?? {})] as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys({ ...was, ...is }).flatMap((key) =>
    differences(`${name} › ${key.replaceAll('_', ' ')}`, own(was, key), own(is, key)),
  );
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((one) => typeof one === 'object'));

const own = (value: Record<string, unknown>, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : null);

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** A value as people read it: times in the publisher's zone. */
function shown(zone: Zone, value: unknown): Html | string {
  if (value === null || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && instant.test(value)) {
    const at = new Date(value);
    if (!Number.isNaN(at.getTime())) return moment(zone, at, 'second');
  }
  if (typeof value !== 'object') return cut(String(value));
  if (isNested(value) && Object.keys(value).length > 0) return html`<code>${cut(JSON.stringify(value))}</code>`;
  return cut(Object.values(value).join(', ')) || 'none';
}

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text);
