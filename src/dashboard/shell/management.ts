import { type Page as ListPage, type ListQuery, listRows } from '../../catalog/management/list.ts';
import type { Resource, Values, View } from '../../catalog/management/resource.ts';
import { createRow, getRow, removeRow, updateRow } from '../../catalog/management/rows.ts';
import { createManagement, type Management } from '../../catalog/management/service.ts';
import type { Actor } from '../../catalog/management/work.ts';
import { permissions } from '../../catalog/snapshot/types.ts';
import { AppError } from '../../platform/errors.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import type { WebhookDeps } from '../../webhooks/ports.ts';
import type { Role, User } from '../auth/users.ts';
import { type Context, viewerOf } from './context.ts';

/** The configuration as pages read and change it: by the functions of the REST API, in the name of who is signed in. */
export type Store = Management & {
  list: (context: Context, resource: Resource, query: ListQuery) => Promise<ListPage>;
  get: (context: Context, resource: Resource, key: string | number) => Promise<View>;
  create: (context: Context, resource: Resource, given: Values) => Promise<View>;
  /** `version`: the ETag the form was made from; null: whatever is stored is replaced. */
  update: (
    context: Context,
    resource: Resource,
    key: string | number,
    given: Values,
    version: string | null,
  ) => Promise<View>;
  remove: (context: Context, resource: Resource, key: string | number) => Promise<View>;
};

export function createStore(deps: WebhookDeps): Store {
  const management = createManagement(deps);
  const cursors = createSigner(deps.config.tokenKeys, 'list-cursor');
  const { read, write } = management;
  return {
    ...management,
    list: (context, resource, query) =>
      read(actorOf(context), publisherOf(context), (work) => listRows(resource, work, query, cursors)),
    get: (context, resource, key) =>
      read(actorOf(context), publisherOf(context), (work) => getRow(resource, work, String(key))),
    create: (context, resource, given) =>
      write(actorOf(context), publisherOf(context), (work) => createRow(resource, work, given)),
    update: (context, resource, key, given, version) =>
      write(actorOf(context), publisherOf(context), (work) =>
        updateRow(resource, work, String(key), given, { ifMatch: version, replace: false }),
      ),
    remove: (context, resource, key) =>
      write(actorOf(context), publisherOf(context), (work) => removeRow(resource, work, String(key), null)),
  };
}

/** Whoever is signed in, as the audit log knows them. */
export const actorOf = ({ request }: Context): Actor => actorFor(viewerOf(request).user);

/** Roles are checked before; these permissions bound what keys somebody may make. */
export const actorFor = ({ id, email, role, publisherId }: User): Actor => ({
  kind: 'user',
  id,
  label: email,
  permissions: permissionsOf(role),
  expiresAtMs: null,
  publisherId,
});

function permissionsOf(role: Role): Actor['permissions'] {
  if (role === 'operator') return new Set(permissions);
  if (role === 'admin') return new Set(permissions.filter((one) => one !== 'accounts'));
  return new Set(role === 'manager' ? ['ads/offers', 'reports', 'offers/management'] : ['reports']);
}

/** 0 on pages above publishers: no row belongs to it. */
export const publisherOf = ({ request }: Context): number => request.viewedPublisher?.id ?? 0;

/** The longest list of choices (count). */
const maxChoices = 100;

/** Rows to choose from, by name; the one that is chosen is among them, however many there are. */
export async function choicesOf(
  store: Store,
  context: Context,
  resource: Resource,
  chosen: unknown,
): Promise<{ value: string; text: string }[]> {
  const { rows } = await store.list(context, resource, { limit: String(maxChoices), sort: 'name' });
  const isMissing = /^[1-9]\d{0,8}$/.test(String(chosen)) && !rows.some(({ id }) => String(id) === String(chosen));
  const added = isMissing ? await store.get(context, resource, String(chosen)).catch(() => null) : null;
  return [...(added === null ? [] : [added]), ...rows].map(({ id, name }) => ({
    value: String(id),
    text: String(name),
  }));
}

/** The text of a query parameter; empty when it is absent or given twice. */
export function queryText({ request }: Context, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : '';
}

/** The key of the row in the address. */
export function keyIn({ request }: Context): string {
  const { key } = request.params as { key?: string };
  if (key === undefined) throw new AppError('not_found');
  return key;
}
