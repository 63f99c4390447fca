import type { Executor } from '../../platform/db/pool.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import { type PerkStages, type PerkStagesQuery, perkStageSql } from '../../reports/perk-stages.ts';

/**
 * Counts sessions by perk funnel stage. It counts session rows, which are retained for RETENTION_RAW_DAYS days. Few
 * rows are read, because a session has a perks row only if its user changed the selection or wrapped the session. Dev
 * sessions are excluded.
 */
export async function countPerkStages(executor: Executor, query: PerkStagesQuery): Promise<PerkStages> {
  const { publisherId, fromMs, untilMs, texts, campaigns, offers, attribute } = query;
  const values: unknown[] = [publisherId, dayOf(fromMs), dayOf(untilMs), firstUuid7At(fromMs), firstUuid7At(untilMs)];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const ids = { campaign: campaigns, offer: offers };
  const conditions = [
    perkStageSql.isSelected(
      Object.entries(ids).flatMap(([name, list]) => (list === null ? [] : `${name} = any(${parameter(list)})`)),
    ),
    ...Object.entries(texts).map(([name, list]) => `coalesce(s.${name}, '') = any(${parameter(list)})`),
  ];
  if (attribute !== null)
    conditions.push(`${perkStageSql.attribute(parameter(attribute.key))} = any(${parameter(attribute.values)})`);
  const { isConfirmed, isDelivered } = perkStageSql;
  const { rows } = await executor.query<PerkStages>(
    `select count(*)::int as selected, count(*) filter (where ${isConfirmed})::int as confirmed,
      count(*) filter (where ${isDelivered})::int as delivered
    from usp_sessions t join sessions s on s.day = t.day and s.id = t.session_id
    where t.publisher_id = $1 and t.day between $2 and $3 and t.session_id >= $4 and t.session_id < $5
      and not s.dev and ${conditions.join(' and ')}`,
    values,
  );
  return rows[0] as PerkStages;
}
