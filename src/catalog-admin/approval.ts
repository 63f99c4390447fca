import { isDeepStrictEqual } from 'node:util';
import { offerLimits } from '../catalog/names.ts';
import { ApprovalRequired } from '../management/approval.ts';
import type { Resource, Values, View } from '../management/resource.ts';
import { type Actor, isOperator, type Work } from '../management/unit-of-work.ts';
import type { Permission } from '../platform/http/auth.ts';
import { problem } from '../platform/problem.ts';

/** Permission to approve drafts and to save material changes without approval (docs/reference/management.md#drafts). */
export const approvalPermission: Permission = 'offers/approval';

/**
 * Fields whose changes are material: copy that users see, and URLs that an offer leads to. Creating an offer or a
 * creative also counts as a material change.
 */
export const materialFields = {
  offers: [...Object.keys(offerLimits), 'useraction_url', 'adv_pixel_url', 'language', 'translations'],
  creatives: ['creative_type', 'is_primary', 'url', 'language', 'type', 'width', 'height'],
  campaigns: ['landing_url', 'click_id_param', 'offer_description'],
} as const satisfies Record<string, readonly string[]>;

export type ReviewedKind = keyof typeof materialFields;

export const isReviewedKind = (name: unknown): name is ReviewedKind =>
  typeof name === 'string' && Object.hasOwn(materialFields, name);

export const mayApprove = (actor: Actor): boolean => isOperator(actor) || actor.permissions.has(approvalPermission);

/** Validates a change to an advertiser: only users who may approve drafts can change the `trusted` field. */
export const checkTrust: NonNullable<Resource['check']> = ({ trusted }, { actor }, current) =>
  trusted === (current?.trusted ?? false) || mayApprove(actor)
    ? []
    : [{ path: '/trusted', message: problem('needsApproval') }];

/**
 * Whether the actor may publish changes to a campaign without approval. If other publishers also run the campaign, only
 * operators may publish changes.
 */
export async function mayPublish({ actor, executor }: Work, campaignId: number): Promise<boolean> {
  if (isOperator(actor)) return true;
  if (!mayApprove(actor)) return false;
  const { rowCount } = await executor.query(
    `select from campaign_publishers p join campaigns c on c.id = p.campaign_id
    where p.campaign_id = $1 and p.active and p.publisher_id <> c.publisher_id limit 1`,
    [campaignId],
  );
  return rowCount === 0;
}

/** Whether the publisher requires approval, cached per unit of work. */
const isRequired = new WeakMap<Work, Promise<boolean>>();

async function readRequired({ executor, publisherId }: Work): Promise<boolean> {
  const { rows } = await executor.query<{ approval_required: boolean }>(
    'select approval_required from publishers where id = $1',
    [publisherId],
  );
  return rows[0]?.approval_required === true;
}

const changedOf = (values: Values, current: View | null): Values =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => !isDeepStrictEqual(value, current?.[name])));

/**
 * `beforeSave` hook that rejects a material change if the publisher requires approval and the actor may not approve.
 * @throws ApprovalRequired with the change that can be proposed instead
 */
export async function requireApproval(kind: ReviewedKind, work: Work, values: Values, current: View | null) {
  if (work.approved === true || isOperator(work.actor)) return;
  const changes = current === null ? values : changedOf(values, current);
  const material: readonly string[] = materialFields[kind];
  const isMaterial = current === null ? kind !== 'campaigns' : Object.keys(changes).some((n) => material.includes(n));
  if (!isMaterial) return;
  const required = isRequired.get(work) ?? readRequired(work);
  isRequired.set(work, required);
  if (!(await required) || (await mayPublish(work, await campaignOf(kind, work, values, current)))) return;
  throw new ApprovalRequired({ resource: kind, rowId: current === null ? null : (current.id as number), changes });
}

/** Returns the ID of the campaign that an offer or another row belongs to. */
export async function campaignOf(kind: ReviewedKind, { executor }: Work, values: Values, current: View | null) {
  if (kind === 'campaigns') return Number(current?.id);
  if (kind === 'offers') return Number(values.campaign_id);
  const { rows } = await executor.query<{ campaign_id: number }>('select campaign_id from offers where id = $1', [
    values.offer_id,
  ]);
  return rows[0]?.campaign_id ?? 0;
}
