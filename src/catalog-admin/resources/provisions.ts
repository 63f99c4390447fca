import { Type } from '@sinclair/typebox';
import { checkCapOverrides, frequencyCaps, totalCaps } from '../../catalog/rules.ts';
import { audit } from '../../management/audit.ts';
import { flag } from '../../management/fields.ts';
import { orNull, type Values, type View } from '../../management/resource.ts';
import { getRow, requireMatch } from '../../management/rows.ts';
import { checkValue } from '../../management/schema-errors.ts';
import { isOperator, type Work } from '../../management/unit-of-work.ts';
import { AppError, notFound } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { checkPayout } from './campaign-payout.ts';
import { campaigns } from './campaigns.ts';

/** A campaign's overrides for one publisher. Where an override is null, the campaign's value applies. */
export const provisionInput = Type.Object(
  {
    active: flag(true, 'Whether this publisher runs the campaign.'),
    payout_amount: orNull(Type.Number({ minimum: 0, maximum: 1_000_000 }), { default: null }),
    priority: orNull(Type.Integer({ minimum: 0, maximum: 10_000 }), { default: null }),
    frequency_caps: orNull(frequencyCaps, {
      default: null,
      description: 'Frequency caps that replace those of the campaign.',
    }),
    total_caps: orNull(totalCaps, {
      default: null,
      description: 'Total caps in addition to those of the campaign. They count this publisher only.',
    }),
  },
  { additionalProperties: false },
);

const defaults = { active: true, payout_amount: null, priority: null, frequency_caps: null, total_caps: null };
const columns = 'campaign_id, publisher_id, active, payout_amount::float8, priority, frequency_caps, total_caps';

/** Reads the campaign and its provisions. A campaign of another publisher is treated as not found. */
async function find(
  work: Work,
  campaignId: string,
  lock: '' | 'for update' = '',
): Promise<{ campaign: View; provisions: View[] }> {
  const campaign = await getRow(campaigns, work, campaignId, lock);
  const { rows } = await work.executor.query<Values>(
    `select ${columns} from campaign_publishers where campaign_id = $1 and ($2 or publisher_id = $3)
    order by publisher_id`,
    [campaign.id, isOperator(work.actor), work.publisherId],
  );
  return { campaign, provisions: rows };
}

/** Lists the publishers that run a campaign. Operators see all publishers; other users see only their own. */
export const listProvisions = async (work: Work, campaignId: string): Promise<View[]> =>
  (await find(work, campaignId)).provisions;

/**
 * Serves a campaign to a publisher, changes its overrides, or ends the provision (`active` false).
 * @throws AppError permission_denied unless the actor is an operator; resource_not_found; invalid_request;
 * PreconditionFailed
 */
export async function setProvision(
  work: Work,
  campaignId: string,
  publisherId: string,
  input: Values,
  ifMatch: string | null,
): Promise<View> {
  if (!isOperator(work.actor))
    throw new AppError('permission_denied', { message: problem('permissionLacking', { permission: 'accounts' }) });
  const { campaign, provisions } = await find(work, campaignId, 'for update');
  const target = /^[1-9]\d{0,9}$/.test(publisherId) && Number(publisherId) < 2 ** 31 ? Number(publisherId) : 0;
  const { rowCount } = await work.executor.query('select 1 from publishers where id = $1', [target]);
  if (rowCount === 0) throw notFound('publisher');
  const current = provisions.find(({ publisher_id }) => publisher_id === target) ?? null;
  const { campaign_id: _campaign, publisher_id: _publisher, ...fields } = input;
  // Pass on anything but an object unchanged, so that the validation below rejects it.
  const values: Values = typeof input !== 'object' || Array.isArray(input) ? input : { ...defaults, ...fields };
  if (current !== null) requireMatch(ifMatch, current, values);
  const details = checkValue(provisionInput, values);
  if (details.length === 0) details.push(...checkCapOverrides(values as Parameters<typeof checkCapOverrides>[0]));
  if (details.length === 0) details.push(...checkPayout(campaign.payout_kind, values));
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const { rows } = await work.executor.query<Values>(
    `insert into campaign_publishers (
      campaign_id, publisher_id, active, payout_amount, priority, frequency_caps, total_caps)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (campaign_id, publisher_id) do update set
      active = excluded.active, payout_amount = excluded.payout_amount, priority = excluded.priority,
      frequency_caps = excluded.frequency_caps, total_caps = excluded.total_caps
    returning ${columns}`,
    [
      Number(campaignId),
      target,
      values.active,
      values.payout_amount,
      values.priority,
      jsonOf(values.frequency_caps),
      jsonOf(values.total_caps),
    ],
  );
  const after = rows[0] as View;
  const withKey = (view: View): View => ({ ...view, id: `${view.campaign_id}/${view.publisher_id}` });
  await audit(work, {
    resource: { name: 'provisions', key: 'id' },
    action: current === null ? 'create' : 'update',
    before: current === null ? null : withKey(current),
    after: withKey(after),
  });
  return after;
}

/** Serialises a value to JSON. This is explicit because pg would convert a list to a PostgreSQL array. */
const jsonOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
