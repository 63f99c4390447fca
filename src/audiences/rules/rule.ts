import { type Static, Type } from '@sinclair/typebox';
import { type EventKind, eventKinds, orOwnKind } from '../../catalog/event-kinds.ts';
import { idSchema } from '../../management/resource.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';

type NamedKind = Exclude<EventKind, 'own'>;

/** User actions that rules can count, in addition to custom events. Publishers report `outcome` themselves. */
export const askedKinds = [
  ...(Object.keys(eventKinds) as EventKind[]).filter((kind): kind is NamedKind => kind !== 'own'),
  ...(['conversion', 'outcome'] as const),
];

/** Maximum lookback period of a rule, in days. */
const maxDays = 180;

/** Schema of an audience rule, which determines the members (docs/reference/users-and-privacy.md#audiences). */
export const ruleSchema = Type.Object(
  {
    event: orOwnKind(
      askedKinds,
      'Event to count: an impression, click, selection, conversion and so on, or an outcome that the publisher ' +
        'reports.',
    ),
    outcome: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Name of the conversion or outcome. Allowed only for these events.',
      }),
    ),
    times: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Minimum number of events. Defaults to 1.' }),
    ),
    within_days: Type.Integer({
      minimum: 1,
      maximum: maxDays,
      description: 'Period in days within which the events must have happened.',
    }),
    campaign_id: Type.Optional(idSchema),
    advertiser_id: Type.Optional(idSchema),
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Category of the campaign.' })),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          'Key of another audience. Only events of its members count; membership is checked when an event is ' +
          'processed.',
      }),
    ),
  },
  { title: 'AudienceRule', additionalProperties: false },
);

export type Rule = Static<typeof ruleSchema>;

const campaignFields = ['campaign_id', 'advertiser_id', 'category'] as const;

/** Validates constraints of a rule that its schema does not cover. */
export const checkRule = (rule: Rule): ErrorDetail[] =>
  rule.event !== 'outcome'
    ? []
    : campaignFields.flatMap((field) =>
        rule[field] === undefined ? [] : { path: `/rule/${field}`, message: problem('notOfOutcomes') },
      );

/**
 * Returns the SQL query for the user actions that a rule counts, as rows of user_key and at. Voided conversions are not
 * subtracted.
 * @param parameter adds a value and returns its placeholder
 * @param written returns an SQL condition that selects rows by the transaction that wrote them
 */
export function factsSql(
  rule: Rule,
  publisherId: number,
  nowMs: number,
  parameter: (value: unknown) => string,
  written: (column: string) => string,
): string {
  const { event, outcome, within_days, campaign_id, advertiser_id, category, audience } = rule;
  const conditions = [
    `t.publisher_id = ${parameter(publisherId)}`,
    `t.at > ${parameter(new Date(nowMs - within_days * 86_400_000))}`,
    written('t.written_by'),
  ];
  const inAudience = (userKey: string): string[] =>
    audience === undefined
      ? []
      : [
          `exists (select from audiences a join audience_members m on m.audience_id = a.id
            where a.publisher_id = t.publisher_id and a.key = ${parameter(audience)} and m.user_key = ${userKey}
              and (m.expires_at is null or m.expires_at > ${parameter(new Date(nowMs))}))`,
        ];
  if (event === 'outcome') {
    if (outcome !== undefined) conditions.push(`t.name = ${parameter(outcome)}`);
    return `select t.user_key, t.at from own_outcomes t
      where ${[...conditions, ...inAudience('t.user_key')].join(' and ')}`;
  }
  const isConversion = event === 'conversion';
  conditions.push(
    isConversion ? 't.conversions = 1' : `t.kind = ${parameter(event)} and t.suspicious is null`,
    ...(campaign_id === undefined ? [] : [`t.campaign_id = ${parameter(campaign_id)}`]),
    ...(advertiser_id === undefined ? [] : [`c.advertiser_id = ${parameter(advertiser_id)}`]),
    ...(category === undefined ? [] : [`lower(c.category) = lower(${parameter(category)})`]),
    ...(outcome === undefined || !isConversion
      ? []
      : [
          `exists (select from conversions o where o.day = t.day and o.session_id = t.session_id and o.id = t.id
            and o.event = ${parameter(outcome)})`,
        ]),
    ...inAudience('s.user_key'),
  );
  return `
    select s.user_key, t.at ${isConversion ? 'from bookings t' : 'from events t'}
    join campaigns c on c.id = t.campaign_id
    cross join lateral (
      select user_key from sessions
      where day = t.day and id = t.session_id and not dev and user_key is not null offset 0
    ) s
    where ${conditions.join(' and ')}`;
}
