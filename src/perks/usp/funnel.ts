import type { Executor } from '../../platform/db/pool.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import type { PerkStages, PerkStagesQuery } from '../../reports/perk-stages.ts';

/**
 * Counts sessions by perk funnel stage. It counts session rows, which are retained for RETENTION_RAW_DAYS days. Few
 * rows are read, because a session has a perks row only if its user changed the selection or wrapped the session. Dev
 * sessions are excluded.
 */
export async function countPerkStages(executor: Executor, query: PerkStagesQuery): Promise<PerkStages> {
  const { publisherId, fromMs, untilMs, texts, campaigns, offers, attribute } = query;
  const values: unknown[] = [
    publisherId,
    dayOf(fromMs),
    dayOf(untilMs),
    firstUuid7At(fromMs),
    firstUuid7At(untilMs),
    campaigns,
    offers,
  ];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = Object.entries(texts).map(
    ([name, list]) => `and coalesce(s.${name}, '') = any(${parameter(list)})`,
  );
  if (attribute !== null)
    conditions.push(`and s.custom ->> ${parameter(attribute.key)} = any(${parameter(attribute.values)})`);
  const { rows } = await executor.query<PerkStages>(
    `select count(*)::int as selected, count(*) filter (where wrapped_at is not null)::int as confirmed,
      count(*) filter (where wrapped_at is not null and exists (
        select from deliveries d
        where d.session_id = touched.session_id and d.day between touched.day and touched.day + 2
          and d.event = 'usp.selection' and d.status = 'delivered'
      ))::int as delivered
    from (
      select u.day, u.session_id, u.wrapped_at
      from usp_sessions u join sessions s on s.day = u.day and s.id = u.session_id
      where u.publisher_id = $1 and u.day between $2 and $3 and u.session_id >= $4 and u.session_id < $5
        and not s.dev and exists (
          select from unnest(s.offer_ids, s.campaign_ids) as shown (offer, campaign)
          where campaign = any(u.selected) and ($6::integer[] is null or campaign = any($6))
            and ($7::integer[] is null or offer = any($7))
        )
        ${conditions.join(' ')}
    ) touched`,
    values,
  );
  return rows[0] as PerkStages;
}
