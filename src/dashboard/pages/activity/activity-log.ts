import { auditLog } from '../../../catalog/management/audit.ts';
import type { View } from '../../../catalog/management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { dispatcherLabel } from '../../../webhooks/dispatcher/settle/disabling.ts';
import { resetLabel, signInLabel, singleSignOnLabel } from '../../auth/account-audit.ts';
import type { Role } from '../../auth/users.ts';
import { badge, emptyState, link, noMatches, pager, type Tone } from '../../shell/components.ts';
import { type PageContext, queryText } from '../../shell/context.ts';
import { moment, utc } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { NavKey, Page } from '../../shell/layout.ts';
import { commonPages, type PageServices, type Pages, publisherPages } from '../../shell/pages.ts';
import { changeList, type Zone } from './changes.ts';
import { type LoggedResources, operatorResources, publisherResources } from './resources.ts';

/** Whose audit log a page shows: a publisher's, or that of the operators. */
type LogScope<C extends PageContext> = {
  pages: Pages<C>;
  path: string;
  nav: NavKey;
  requires: Role;
  resources: LoggedResources;
  zoneOf: (context: C) => Zone;
  title: string;
  lead: string;
};

const entriesPerPage = 50;

/** The audit log: who changed what, newest first. */
export function activityPages(app: App, services: PageServices): void {
  registerScope(services, {
    pages: publisherPages(app, services),
    path: '/settings/activity',
    nav: 'activity',
    requires: 'admin',
    resources: publisherResources,
    zoneOf: ({ publisher }) => publisher,
    title: 'Activity log',
    lead: 'All configuration changes, newest first. Entries are immutable and contain no secrets.',
  });
  registerScope(services, {
    pages: commonPages(app, services),
    path: '/operator/activity',
    nav: 'operator-activity',
    requires: 'operator',
    resources: operatorResources,
    zoneOf: () => utc,
    title: 'Operator activity',
    lead: 'Changes of operator accounts, newest first, in UTC. Changes of a publisher are in its own activity log.',
  });
}

function registerScope<C extends PageContext>(services: PageServices, scope: LogScope<C>): void {
  scope.pages.get(scope.path, scope.requires, (context) => logPage(services, scope, context));
}

async function logPage<C extends PageContext>(
  { management }: PageServices,
  scope: LogScope<C>,
  context: C,
): Promise<Page> {
  const { path, nav, resources, title, lead } = scope;
  const asked = queryText(context, 'resource');
  const filter = { ...(Object.hasOwn(resources, asked) && { resource: asked }) };
  const cursor = queryText(context, 'cursor');
  const { rows, nextCursor } = await management.list(context, auditLog, {
    limit: String(entriesPerPage),
    ...filter,
    ...(cursor !== '' && { cursor }),
  });
  const url = (query: Record<string, string>) => `${context.path(path)}?${new URLSearchParams(query)}`;
  const next = nextCursor === null ? null : url({ ...filter, cursor: nextCursor });
  const isEmpty = rows.length === 0 && filter.resource === undefined && cursor === '';
  const entryScope = { path: context.path, resources, zone: scope.zoneOf(context) };
  const entries = html`
    <ol class="card activity" aria-label="Entries">${rows.map((row) => entry(entryScope, row))}</ol>`;
  return {
    title,
    lead,
    nav,
    body: isEmpty
      ? emptyLog
      : html`
        ${filterForm(context.path(path), resources, filter.resource ?? '')}
        ${rows.length === 0 ? noMatches : entries}
        ${pager(cursor === '' ? null : url(filter), next)}`,
  };
}

const emptyLog = emptyState(
  'activity',
  'No activity yet',
  'Changes of offers, settings, keys and webhooks appear here.',
);

function filterForm(action: string, resources: LoggedResources, resource: string): Html {
  const choices = [
    { value: '', text: 'All' },
    ...Object.entries(resources).map(([value, { title }]) => ({ value, text: title })),
  ];
  return html`
    <form class="filters" method="get" action="${action}" role="search">
      ${createForm({ resource }).select('resource', { label: 'Resource', choices })}
      <button class="button">Apply</button>
    </form>`;
}

type EntryScope = { path: PageContext['path']; resources: LoggedResources; zone: Zone };

const entry = (scope: EntryScope, row: View): Html => html`
  <li>
    <div>
      <p>${whatChanged(scope, row)}</p>
      <p class="hint">${actorText(row)}</p>
      <p class="hint">${moment(scope.zone, String(row.at), 'second')}</p>
    </div>
    ${changeList(scope.zone, row)}
  </li>`;

/** Parts of the service that change rows by themselves. */
const systemActors: Readonly<Record<string, string>> = {
  [dispatcherLabel]: 'by webhook dispatcher',
  [signInLabel]: 'by sign-in lockout',
  [resetLabel]: 'by password reset',
  [singleSignOnLabel]: 'by single sign-on',
};

function actorText({ actor_kind: kind, actor_label: label }: View): string {
  if (kind === 'system') return systemActors[String(label)] ?? `by command ${label}`;
  return `by ${kind === 'key' ? 'API key ' : ''}${label}`;
}

const actions: Readonly<Record<string, { text: string; tone: Tone }>> = {
  create: { text: 'Created', tone: 'good' },
  update: { text: 'Changed', tone: 'info' },
  remove: { text: 'Removed', tone: 'bad' },
  sign_in: { text: 'Signed in', tone: 'plain' },
  lock: { text: 'Locked', tone: 'bad' },
};

/** Action and resource, with a link to its page unless it was removed. */
function whatChanged({ path, resources }: EntryScope, row: View): Html {
  const [name, id, action] = [String(row.resource), String(row.resource_id), String(row.action)];
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined;
  const { text, tone } = actions[action] ?? { text: action, tone: 'plain' as const };
  const named = `${resource?.singular ?? name} ${id}`;
  const to = action === 'remove' ? null : (resource?.pathOf?.(id) ?? null);
  return html`${badge(text, tone)} ${to === null ? named : link(path(to), named)}`;
}
