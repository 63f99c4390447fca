import { publisherPages } from '../../../catalog/pages.ts';
import { dispatcherLabel } from '../../../management/audit.ts';
import type { View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { actionButton, badge, emptyState, link, noMatches, pager, type Tone } from '../../../shell/components.ts';
import { keyIn, type PageContext, queryText, type Role, reasonOf } from '../../../shell/context.ts';
import { moment, utc } from '../../../shell/format.ts';
import { createForm } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import { commonPages, type PageResult, type Pages } from '../../../shell/pages.ts';
import { auditLog } from '../../audit-log.ts';
import { resetLabel, signInLabel, singleSignOnLabel } from '../../sign-in/account-audit.ts';
import type { PageServices } from '../services.ts';
import { changeList, type Zone } from './changes.ts';
import { type LoggedResources, operatorResources, publisherResources } from './resources.ts';

/** Audit log shown on a page: either a publisher's log or the operators' log. */
type LogScope<C extends PageContext> = {
  pages: Pages<C>;
  path: string;
  nav: string;
  requires: Role;
  resources: LoggedResources;
  zoneOf: (context: C) => Zone;
  /** Returns the names of the logged items by `{resource} {resource_id}`, as far as they are known. */
  namesOf: (context: C, rows: readonly View[]) => ReadonlyMap<string, string>;
  title: MessageKey;
  lead: MessageKey;
  /** Text of the page while the log has no entries. */
  emptyText: MessageKey;
  /** Whether entries in this log can be undone. */
  revertible: boolean;
};

const entriesPerPage = 50;

/** Registers the audit log pages, which list the changes and their authors, newest first. */
export function activityPages(app: App, services: PageServices): void {
  registerScope(services, {
    pages: publisherPages(app, services),
    path: '/settings/activity',
    nav: 'activity',
    requires: 'admin',
    resources: publisherResources,
    zoneOf: ({ publisher }) => publisher,
    namesOf: (context, rows) => itemNames(services.pickerFor(context), rows),
    title: 'nav.activity',
    lead: 'activity.lead',
    emptyText: 'activity.noneText',
    revertible: true,
  });
  registerScope(services, {
    pages: commonPages(app, services),
    path: '/operator/activity',
    nav: 'operator-activity',
    requires: 'operator',
    resources: operatorResources,
    zoneOf: () => utc,
    namesOf: () => new Map(),
    title: 'nav.operatorActivity',
    lead: 'activity.operatorLead',
    emptyText: 'activity.operatorNone',
    revertible: false,
  });
}

function registerScope<C extends PageContext>(services: PageServices, scope: LogScope<C>): void {
  scope.pages.get(scope.path, scope.requires, (context) => logPage(services, scope, context));
  if (scope.revertible)
    scope.pages.post(`${scope.path}/:key/revert`, scope.requires, (context) => undo(services, scope, context));
}

async function undo<C extends PageContext>(
  { management, revert: { revert: revertEntry } }: PageServices,
  { path }: LogScope<C>,
  context: C,
): Promise<PageResult> {
  const to = context.path(path);
  try {
    await management.write(context, (work) => revertEntry(work, keyIn(context)));
    return { to, done: t('activity.reverted') };
  } catch (err) {
    return { to, failed: t('activity.notReverted', { reason: reasonOf(err) }) };
  }
}

async function logPage<C extends PageContext>(
  { management, revert }: PageServices,
  scope: LogScope<C>,
  context: C,
): Promise<Page> {
  const { path, nav, resources, title, lead } = scope;
  const resourceName = queryText(context, 'resource');
  const filter = { ...(Object.hasOwn(resources, resourceName) && { resource: resourceName }) };
  const cursor = queryText(context, 'cursor');
  const { rows, nextCursor } = await management.list(context, auditLog, {
    limit: String(entriesPerPage),
    ...filter,
    ...(cursor !== '' && { cursor }),
  });
  const url = (query: Record<string, string>) => `${context.path(path)}?${new URLSearchParams(query)}`;
  const next = nextCursor === null ? null : url({ ...filter, cursor: nextCursor });
  const isEmpty = rows.length === 0 && filter.resource === undefined && cursor === '';
  const revertButton = (row: View): Html =>
    actionButton(context, {
      to: `${context.path(path)}/${row.id}/revert`,
      text: row.action === 'remove' ? t('crud.restore') : t('activity.revert'),
      small: true,
      confirm: row.action === 'remove' ? t('activity.restoreConfirm') : t('activity.revertConfirm'),
    });
  const entryScope = {
    path: context.path,
    resources,
    zone: scope.zoneOf(context),
    names: scope.namesOf(context, rows),
    undo: (row: View) => (scope.revertible && revert.isPossible(row) ? revertButton(row) : nothing),
  };
  const entries = html`
    <ol class="card activity" aria-label="${t('activity.entries')}">${rows.map((row) => entry(entryScope, row))}</ol>`;
  return {
    title: t(title),
    lead: t(lead),
    nav,
    body: isEmpty
      ? emptyState('activity', t('activity.none'), t(scope.emptyText))
      : html`
        ${filterForm(context.path(path), resources, filter.resource ?? '')}
        ${rows.length === 0 ? noMatches() : entries}
        ${pager(cursor === '' ? null : url(filter), next)}`,
  };
}

function filterForm(action: string, resources: LoggedResources, resource: string): Html {
  const choices = [
    { value: '', text: t('common.all') },
    ...Object.entries(resources).map(([value, { title }]) => ({ value, text: t(title) })),
  ];
  return html`
    <form class="filters" method="get" action="${action}" role="search">
      ${createForm({ resource }).select('resource', { label: t('activity.resource'), choices })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

type EntryScope = {
  path: PageContext['path'];
  resources: LoggedResources;
  zone: Zone;
  names: ReadonlyMap<string, string>;
  undo: (row: View) => Html;
};

const entry = (scope: EntryScope, row: View): Html => html`
  <li>
    <div>
      <p>${whatChanged(scope, row)}</p>
      <p class="hint">${actorText(row)}</p>
      <p class="hint">${moment(scope.zone, String(row.at), 'second')}</p>
    </div>
    ${changeList(scope.zone, row)}
    <div class="revert">${scope.undo(row)}</div>
  </li>`;

/** Resources whose items have the name of a row that a picker lists, with the kind of that row. */
const namedKinds = {
  offers: 'offers',
  'coupon-pools': 'offers',
  campaigns: 'campaigns',
  provisions: 'campaigns',
  advertisers: 'advertisers',
} as const;

/** Returns the names of items by `{resource} {resource_id}`. Names of removed items are unknown. */
function itemNames(picker: ReturnType<PageServices['pickerFor']>, rows: readonly View[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const [resource, kind] of Object.entries(namedKinds)) {
    const keys = rows.filter((row) => row.resource === resource).map((row) => String(row.resource_id));
    const idOf = (key: string): string => key.split('/', 1)[0] as string;
    const { labels } = picker(kind, keys.map(idOf).join(', '));
    for (const key of keys) {
      const name = labels[idOf(key)];
      if (name !== undefined) names.set(`${resource} ${key}`, name);
    }
  }
  return names;
}

/** Labels for the parts of the service that change rows automatically. */
const systemActors: Readonly<Record<string, MessageKey>> = {
  [dispatcherLabel]: 'activity.byDispatcher',
  [signInLabel]: 'activity.bySignInLockout',
  [resetLabel]: 'activity.byPasswordReset',
  [singleSignOnLabel]: 'activity.bySingleSignOn',
};

function actorText({ actor_kind: kind, actor_label }: View): string {
  const label = String(actor_label);
  if (kind === 'system') {
    const part = Object.hasOwn(systemActors, label) ? systemActors[label] : undefined;
    return part === undefined ? t('activity.byCommand', { label }) : t(part);
  }
  return kind === 'key' ? t('activity.byKey', { label }) : t('activity.by', { label });
}

const actions: Readonly<Record<string, { text: MessageKey; tone: Tone }>> = {
  create: { text: 'activity.created', tone: 'good' },
  update: { text: 'activity.changed', tone: 'info' },
  remove: { text: 'activity.removed', tone: 'bad' },
  restore: { text: 'activity.restored', tone: 'good' },
  stop: { text: 'activity.stopped', tone: 'bad' },
  resume: { text: 'activity.resumed', tone: 'good' },
  sign_in: { text: 'activity.signedIn', tone: 'plain' },
  lock: { text: 'activity.locked', tone: 'bad' },
};

/** Returns the name of a created or removed item, or the URL of an endpoint. */
function loggedName({ changes }: View): string | undefined {
  const changedFields = changes as Record<string, { old: unknown; new: unknown } | undefined>;
  const value = (changedFields.name ?? changedFields.url)?.new ?? (changedFields.name ?? changedFields.url)?.old;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Renders the action and the changed resource. Links to the resource's page unless the resource was removed. */
function whatChanged({ path, resources, names }: EntryScope, row: View): Html {
  const [name, id, action] = [String(row.resource), String(row.resource_id), String(row.action)];
  const resource = Object.hasOwn(resources, name) ? resources[name] : undefined;
  const knownAction = Object.hasOwn(actions, action) ? actions[action] : undefined;
  const kind = resource === undefined ? name : t(resource.singular);
  const isWhole = action === 'create' || action === 'remove';
  const itemName = names.get(`${name} ${id}`) ?? (isWhole ? loggedName(row) : undefined);
  const itemText = itemName === undefined ? `${kind} ${id}` : `${kind}: ${itemName}`;
  const subject = resource?.isSingle === true ? kind : itemText;
  const to = action === 'remove' ? null : (resource?.pathOf?.(id) ?? null);
  const what = badge(knownAction === undefined ? action : t(knownAction.text), knownAction?.tone);
  return html`${what} ${to === null ? subject : link(path(to), subject)}`;
}
