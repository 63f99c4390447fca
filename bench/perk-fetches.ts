import { createPublisher } from './catalogue.ts';
import { type Costs, costOfEach } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { postRequest, runLoad } from './load.ts';
import type { Stage } from './stage.ts';

const campaigns = 100;
const tags = ['de', 'fr', 'es'] as const;
const connections = 32;

/** Adds translations in each language that are about as long as the offer's original copy. */
const translateSql = `update offers o set translations = (
  select jsonb_object_agg(tag, jsonb_build_object('title', tag || ' ' || o.title, 'description',
    tag || ' ' || o.description, 'cta_yes', tag || ' ' || o.cta_yes, 'cta_no', tag || ' ' || o.cta_no))
  from unnest($1::text[]) tag
) where publisher_id = $2`;

type Kind = 'one' | 'languages' | 'placements' | 'any';
type Timed = { port: number; costs: () => Promise<Costs>; requests: number; rounds: number };

/**
 * Returns table rows for fetches in three languages, for three placements, and in count-only mode. Each alternates with
 * plain fetches.
 */
export async function fetchRows({ pool }: Stage, { port, costs, requests, rounds }: Timed): Promise<string[][]> {
  await createPublisher(pool, { key: 'bench-one', campaigns });
  const translated = await createPublisher(pool, { key: 'bench-languages', campaigns });
  await pool.query(translateSql, [tags, translated]);
  const bodyOf = (at: number): object => ({
    ...(JSON.parse(fetchBody(`user-${at}`)) as object),
    language: tags[at % tags.length],
  });
  const fetchOf = (key: string, path: string, body: object): string =>
    postRequest(`/native/v4/${path}.json?api_key=${key}`, JSON.stringify(body));
  const placements = ['checkout', 'second', 'third'].map((name) => ({ name }));
  const kinds: Record<Kind, (at: number) => string> = {
    one: (at) => fetchOf('bench-one', 'offers', bodyOf(at)),
    languages: (at) => fetchOf('bench-languages', 'offers', bodyOf(at)),
    placements: (at) => fetchOf('bench-one', 'offers', { ...bodyOf(at), placements }),
    any: (at) => fetchOf('bench-one', 'any', bodyOf(at)),
  };
  const costsByKind: Record<Kind, Costs[]> = { one: [], languages: [], placements: [], any: [] };
  let sent = 0;
  const inOrder = Object.entries(kinds) as [Kind, (at: number) => string][];
  // The first two rounds warm up. The order is reversed in each round, because work that PostgreSQL defers is charged
  // to the next kind of fetch.
  for (let round = -2; round < rounds; round += 1)
    for (const [kind, requestOf] of round % 2 === 0 ? inOrder : inOrder.toReversed()) {
      const before = await costs();
      const next = (): string => requestOf(sent++);
      const { ok, failed } = await runLoad({ port, connections, requests, next });
      if (failed > 0) throw new Error(`${failed} of ${ok + failed} calls failed: ${kind}`);
      if (round >= 0) costsByKind[kind].push(costOfEach(before, await costs(), ok));
    }
  const medianOf = (kind: Kind, name: 'serverUs' | 'databaseUs'): number => {
    const sorted = costsByKind[kind].map((costs) => costs[name]).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  const of = (kind: Kind): number => medianOf(kind, 'serverUs') + medianOf(kind, 'databaseUs');
  const row = (what: string, kind: Kind, figure = '', limit = ''): string[] => [
    ...[what, medianOf(kind, 'serverUs').toFixed(0), medianOf(kind, 'databaseUs').toFixed(0), figure, limit],
  ];
  const times = (a: Kind, b: Kind): string => `${(of(a) / of(b)).toFixed(2)}×`;
  return [
    row(`fetch, ${campaigns} campaigns, median of ${rounds} × ${requests}`, 'one'),
    row('speed with offers in three languages', 'languages', times('one', 'languages'), '≥ 0.97×'),
    row('three placements in one call', 'placements', times('placements', 'one'), '≤ 1.6×'),
    row('speed of `any` compared with a fetch', 'any', times('one', 'any'), '≥ 2×'),
  ];
}
