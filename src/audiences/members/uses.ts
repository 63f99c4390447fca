import type { Work } from '../../management/unit-of-work.ts';

/** Campaign or audience rule that uses an audience. */
export type AudienceUse =
  | { kind: 'campaign'; id: number; name: string; active: boolean; side: 'include' | 'exclude' }
  | { kind: 'audience'; key: string; name: string };

type UseRow = { id: number | null; key: string | null; name: string; active: boolean; side: 'include' | 'exclude' };

/** Lists the campaigns that include or exclude an audience, and the audiences whose rules are limited to it. */
export async function findUses({ executor, publisherId }: Work, key: string): Promise<AudienceUse[]> {
  const { rows } = await executor.query<UseRow>(
    `select c.id, null as key, c.name, c.active, side
    from campaigns c cross join (values ('include'), ('exclude')) s (side)
    where c.publisher_id = $1 and c.deleted_at is null and c.rules -> 'targeting' -> 'audiences' -> side ? $2
    union all
    select null, key, name, true, '' from audiences where publisher_id = $1 and rule ->> 'audience' = $2
    order by 1, 2, 5`,
    [publisherId, key],
  );
  return rows.map(({ id, key: audience, name, active, side }) =>
    id === null ? { kind: 'audience', key: audience ?? '', name } : { kind: 'campaign', id, name, active, side },
  );
}
