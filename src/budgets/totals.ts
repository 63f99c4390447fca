import type { ActiveCaps, CapUsage, Totals } from './caps.ts';
import { capUsageOf, type UsageTable } from './usage.ts';

/** Totals that are computed when a decision asks for them; afterwards the map has those that were asked for. */
export function totalsAt(table: Pick<UsageTable, 'get'>, activeCaps: Pick<ActiveCaps, 'total'>, atMs: number): Totals {
  const asked = new Map<string, CapUsage>();
  const { get } = asked;
  return Object.assign(asked, {
    get: (key: string): CapUsage | undefined => {
      const known = get.call(asked, key) as CapUsage | undefined;
      const total = known === undefined ? activeCaps.total(key) : undefined;
      if (total === undefined) return known;
      const usage = capUsageOf(table, total, atMs);
      asked.set(key, usage);
      return usage;
    },
  });
}
