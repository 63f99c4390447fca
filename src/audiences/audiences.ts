import { Type } from '@sinclair/typebox';
import { normaliseName } from '../catalog/names.ts';
import { nameField } from '../management/fields.ts';
import { orNull, type Resource, stamps } from '../management/resource.ts';
import { patternProblem } from '../management/schema-errors.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail, notFound } from '../platform/errors.ts';
import { noun, type Problem, problem } from '../platform/problem.ts';
import { findUses } from './members/uses.ts';
import { checkRule, type Rule, ruleSchema } from './rules/rule.ts';

/** Maximum number of audiences per publisher. */
const maxAudiences = 500;

/**
 * Resource for audiences, which are lists of users that campaigns include or exclude
 * (docs/reference/users-and-privacy.md#audiences).
 */
export const audiences: Resource = {
  name: 'audiences',
  noun: 'audience',
  table: 'audiences',
  key: 'key',
  permission: 'configurations',
  input: Type.Object(
    {
      key: Type.String({
        pattern: '^[a-z0-9][a-z0-9.-]{0,63}$',
        [patternProblem]: problem('audienceKey'),
        description:
          'Key of the audience in calls and campaigns. It is converted to lower case; spaces and underscores ' +
          'become hyphens. It cannot be changed later.',
      }),
      name: nameField(),
      rule: orNull(ruleSchema, {
        default: null,
        description:
          'Rule that selects members by their behaviour, updated within seconds. `null` for a list that you ' +
          'maintain.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: {
    size: Type.Integer({ description: 'Number of members.' }),
    size_week_ago: orNull(Type.Integer(), {
      title: 'AudienceSizeWeekAgo',
      description: 'Number of members 7 days ago. `null` for newer audiences.',
    }),
    ...stamps,
  },
  expressions: () => ({
    size: 'coalesce((select s.members from audience_sizes s where s.audience_id = audiences.id), 0)::float8',
    size_week_ago: `(select g.members::float8 from audience_growth g
      where g.audience_id = audiences.id and g.day <= (now() at time zone 'utc')::date - 7
      order by g.day desc limit 1)`,
  }),
  fixed: ['key'],
  unique: { audiences_key: 'key' },
  sorts: { key: 'text', name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: [],
  searched: ['key', 'name'],
  prepare: (values) => (typeof values.key === 'string' ? { ...values, key: normaliseName(values.key) } : values),
  check: async (values, work, current) => {
    if (current !== null && (current.rule === null) !== (values.rule === null))
      return [{ path: '/rule', message: problem('ruleKept') }];
    const rule = values.rule as Rule | null;
    return rule === null ? [] : [...checkRule(rule), ...(await checkIncluded(rule, String(values.key), work))];
  },
  beforeSave: async ({ executor, publisherId }, _values, current) => {
    if (current !== null) return;
    await executor.query('select 1 from publishers where id = $1 for update', [publisherId]);
    const { rows } = await executor.query<{ count: number }>(
      'select count(*)::int as count from audiences where publisher_id = $1',
      [publisherId],
    );
    if ((rows[0]?.count ?? 0) >= maxAudiences)
      throw new AppError('conflict', { message: problem('maxAudiences', { max: maxAudiences }) });
  },
  beforeRemove: async (work, { key }) => refuseIfUsed(work, String(key)),
};

/**
 * Validates the audience to which a rule is limited. Returns errors if it is unknown or refers back to the rule's own
 * audience.
 */
async function checkIncluded({ audience }: Rule, key: string, work: Work): Promise<ErrorDetail[]> {
  if (audience === undefined) return [];
  const { rows } = await work.executor.query<{ key: string; included: string | null }>(
    `select key, rule ->> 'audience' as included from audiences where publisher_id = $1`,
    [work.publisherId],
  );
  const includedBy = new Map(rows.map((row) => [row.key, row.included]));
  const wrong = (message: Problem): ErrorDetail[] => [{ path: '/rule/audience', message }];
  const by: string[] = [];
  for (let at: string | null = audience; at !== null && !by.includes(at); at = includedBy.get(at) ?? null) {
    if (at === key)
      return wrong(by.length === 0 ? problem('audienceItself') : problem('audienceLoop', { keys: by.join(', ') }));
    by.push(at);
  }
  return includedBy.has(audience) ? [] : wrong(problem('noAudience', { key: audience }));
}

/**
 * Rejects the removal of an audience that is in use.
 * @throws AppError in_use if a campaign or a rule uses the audience
 */
async function refuseIfUsed(work: Work, key: string): Promise<void> {
  const [used] = await findUses(work, key);
  if (used !== undefined)
    throw new AppError('in_use', {
      message: problem('inUse', { noun: noun('audience') }),
      details: [
        {
          path: '/key',
          message:
            used.kind === 'audience'
              ? problem('usedByAudience', { key: used.key })
              : problem('usedByCampaign', { name: used.name }),
        },
      ],
    });
}

/** SQL lock mode. Member changes lock the audience, so that it cannot be removed until they are committed. */
type Lock = '' | 'for key share';

/**
 * Returns the ID of the audience with this key. The audience must not have a rule.
 * @throws AppError resource_not_found; conflict if a rule determines the members of the audience
 */
export async function listId(work: Work, key: string, lock: Lock = ''): Promise<number> {
  const { id, hasRule } = await findAudience(work, key, lock);
  if (hasRule) throw new AppError('conflict', { message: problem('membersFollowRule') });
  return id;
}

/**
 * Finds an audience by its key.
 * @throws AppError resource_not_found
 */
export async function findAudience(
  { executor, publisherId }: Work,
  key: string,
  lock: Lock = '',
): Promise<{ id: number; key: string; hasRule: boolean }> {
  const { rows } = await executor.query<{ id: number; key: string; hasRule: boolean }>(
    `select id, key, rule is not null as "hasRule" from audiences where publisher_id = $1 and key = $2 ${lock}`,
    [publisherId, key.includes('\0') ? '' : normaliseName(key)],
  );
  const [row] = rows;
  if (row === undefined) throw notFound('audience');
  return row;
}
