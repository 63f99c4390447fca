import { type Static, Type } from '@sinclair/typebox';
import { type EventKind, eventKinds } from '../../catalog/event-kinds.ts';
import { idSchema } from '../../management/resource.ts';

/** Own events are not told apart by name, and so not asked for. */
export const askedKinds = (Object.keys(eventKinds) as EventKind[]).filter((kind) => kind !== 'own');
const kinds = [...askedKinds, 'conversion'] as const;

/** Longest time that a rule looks back (days). */
const maxDays = 180;

/** Who is in an audience by what they did (docs/interface.md#audiences). */
export const ruleSchema = Type.Object(
  {
    event: Type.Union(
      kinds.map((kind) => Type.Literal(kind)),
      { description: 'What users did: saw an offer (impression), clicked, selected a perk, converted and so on.' },
    ),
    outcome: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Of conversions: only those of this name.' }),
    ),
    times: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'At least this often; default 1.' })),
    within_days: Type.Integer({ minimum: 1, maximum: maxDays, description: 'Within so many days.' }),
    campaign_id: Type.Optional(idSchema),
    advertiser_id: Type.Optional(idSchema),
    category: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Of the campaign.' })),
  },
  { title: 'AudienceRule', additionalProperties: false },
);

export type Rule = Static<typeof ruleSchema>;

/**
 * SQL of what users of a publisher did, as a rule counts it: rows of user_key and at. Voids take nothing back.
 * @param parameter adds a value and names its parameter
 * @param written SQL condition on the transactions of rows
 */
export function factsSql(
  { event, outcome, within_days, campaign_id, advertiser_id, category }: Rule,
  publisherId: number,
  nowMs: number,
  parameter: (value: unknown) => string,
  written: (column: string) => string,
): string {
  const isConversion = event === 'conversion';
  const since = parameter(new Date(nowMs - within_days * 86_400_000));
  const conditions = [
    `t.publisher_id = ${parameter(publisherId)}`,
    `t.at > ${since}`,
    written('t.written_by'),
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
  ];
  return `
    select s.user_key, t.at ${isConversion ? 'from bookings t' : 'from events t'}
    join campaigns c on c.id = t.campaign_id
    cross join lateral (
      select user_key from sessions
      where day = t.day and id = t.session_id and not dev and user_key is not null offset 0
    ) s
    where ${conditions.join(' and ')}`;
}
