import type { Signer } from '../platform/security/tracking-token.ts';
import { type PageContext, type Portal, type User, viewerOf } from '../shell/context.ts';
import type { Choice } from '../shell/forms.ts';
import type { AllAdditions } from './additions.ts';
import type { ApprovalRequired, Proposal } from './approval.ts';
import { type Page as ListPage, type ListQuery, listNames, listRows } from './list.ts';
import type { Resource, Values, View } from './resource.ts';
import { restoreRow } from './restore.ts';
import { createRow, getRow, removeRow, updateRow } from './rows.ts';
import { type Actor, type Management, type PermissionEntry, permissionsOf, type Work } from './unit-of-work.ts';

type RowKey = string | number;

/** Management API for dashboard pages. The signed-in user is the actor, and the URL determines the publisher. */
export type ManagementClient = {
  now: () => number;
  permissions: readonly PermissionEntry[];
  /** Returns the signed-in user as an audit log actor. */
  actorOf: (context: PageContext) => Actor;
  actorFor: (user: User) => Actor;
  read: <T>(context: PageContext, work: (work: Work) => Promise<T>) => Promise<T>;
  readMoment: <T>(context: PageContext, work: (work: Work) => Promise<T>) => Promise<T>;
  write: <T>(context: PageContext, work: (work: Work) => Promise<T>) => Promise<T>;
  list: (context: PageContext, resource: Resource, query: ListQuery) => Promise<ListPage>;
  get: (context: PageContext, resource: Resource, key: RowKey) => Promise<View>;
  create: (context: PageContext, resource: Resource, values: Values) => Promise<View>;
  /**
   * Updates a row. `version` is the ETag of the row version from which the form was rendered. If it is null, any
   * version is overwritten.
   */
  update: (
    context: PageContext,
    resource: Resource,
    key: RowKey,
    values: Values,
    version: string | null,
  ) => Promise<View>;
  remove: (context: PageContext, resource: Resource, key: RowKey) => Promise<View>;
  restore: (context: PageContext, resource: Resource, key: RowKey) => Promise<View>;
  /**
   * Saves a change that needs approval as a draft.
   * @throws ApprovalRequired if drafts are not available
   */
  propose: (context: PageContext, refused: ApprovalRequired) => Promise<{ id: number; state: string }>;
};

type ClientDeps = {
  management: Management;
  permissions: readonly PermissionEntry[];
  cursors: Signer;
  additions: AllAdditions;
  now: () => number;
  propose: ((work: Work, proposal: Proposal) => Promise<{ id: number; state: string }>) | null;
};

export function createManagementClient({
  management,
  permissions,
  cursors,
  additions,
  now,
  propose,
}: ClientDeps): ManagementClient {
  /**
   * Returns the actor for a user. Its permissions limit which API keys the user may create. The user's role is checked
   * earlier.
   */
  const actorFor = ({ id, email, role, publisherId }: User): Actor => ({
    kind: 'user',
    id,
    label: email,
    permissions: permissionsOf(role, permissions),
    expiresAtMs: null,
    ratePerS: null,
    restrictions: null,
    publisherId,
  });
  const actorOf = ({ request }: PageContext): Actor => {
    const { portal } = request;
    if (portal !== null) return portalActor(portal);
    const actor = actorFor(viewerOf(request).user);
    // In the publisher's audit log, an advertiser's users appear under their own names, so the actor belongs to the
    // publisher.
    const { viewedAdvertiser: advertiser } = request;
    const isOwn = advertiser !== null && viewerOf(request).user.advertiserId === advertiser.id;
    return isOwn ? { ...actor, publisherId: advertiser.publisherId } : actor;
  };
  const read: ManagementClient['read'] = (context, work) =>
    management.read(actorOf(context), publisherIdOf(context), work);
  const readMoment: ManagementClient['readMoment'] = (context, work) =>
    management.readMoment(actorOf(context), publisherIdOf(context), work);
  const write: ManagementClient['write'] = (context, work) =>
    management.write(actorOf(context), publisherIdOf(context), work);
  return {
    now,
    permissions,
    actorOf,
    actorFor,
    read,
    readMoment,
    write,
    list: (context, resource, query) =>
      read(context, (work) =>
        listRows(resource, work, query, { signer: cursors, added: additions[resource.name]?.filters }),
      ),
    get: (context, resource, key) => read(context, (work) => getRow(resource, work, String(key))),
    create: (context, resource, values) => write(context, (work) => createRow(resource, work, values)),
    update: (context, resource, key, values, version) => {
      const options = { ifMatch: version, replace: false };
      return write(context, (work) => updateRow(resource, work, String(key), values, options));
    },
    remove: (context, resource, key) => write(context, (work) => removeRow(resource, work, String(key), null)),
    propose: (context, refused) => {
      if (propose === null) throw refused;
      return write(context, (work) => propose(work, refused.proposal));
    },
    restore: (context, resource, key) => write(context, (work) => restoreRow(resource, work, String(key))),
  };
}

/** Returns the actor for the user of a portal, who acts with the API key that created the link. */
export const portalActor = ({ keyId, publisherId, userLabel }: Portal): Actor => ({
  kind: 'key',
  id: keyId,
  label: userLabel === '' ? 'portal' : `${userLabel} (portal)`,
  permissions: new Set(),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId,
});

/** Publisher ID of the page, or 0 on pages without a publisher. No row has publisher ID 0. */
const publisherIdOf = ({ request }: PageContext): number =>
  request.viewedPublisher?.id ?? request.viewedAdvertiser?.publisherId ?? 0;

/** Maximum number of options in a select field. */
const maxChoices = 1000;

/** Returns the rows to offer in a select field, sorted by name. The currently selected row is always included. */
export async function choicesOf(
  management: ManagementClient,
  context: PageContext,
  resource: Resource,
  selected: unknown,
): Promise<Choice[]> {
  const rows: View[] = await management.read(context, (work) => listNames(resource, work, maxChoices));
  const isMissing = /^[1-9]\d{0,8}$/.test(String(selected)) && !rows.some(({ id }) => String(id) === String(selected));
  const added = isMissing ? await management.get(context, resource, String(selected)).catch(() => null) : null;
  return [...(added === null ? [] : [added]), ...rows].map(({ id, name }) => ({
    value: String(id),
    text: String(name),
  }));
}
