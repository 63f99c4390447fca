import type { Warning } from '../../management/resource.ts';
import { publicSuffixes } from '../../platform/lib/domains.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { competitorDomain, hostOf } from '../controls.ts';
import type { Controls, FindBlock, Offer, OfferLists, StoredControls } from '../types.ts';

/** Offers, or domains, looked at between two pauses (count). */
const sliceSize = 100;

export const countBlocked = (offers: readonly Offer[], blockOf: FindBlock): Promise<number> =>
  runInSlices(
    (function* () {
      let count = 0;
      for (const [done, offer] of offers.entries()) {
        if (done % sliceSize === sliceSize - 1) yield;
        if (blockOf(offer) !== null) count += 1;
      }
      return count;
    })(),
  );

/** Rules that leave no offer: at all placements, or at some. @param blocked how many are at all */
export async function warnOfNothingShown(
  controls: Controls | null,
  offers: readonly Offer[],
  blocked: number,
): Promise<Warning[]> {
  if (controls === null || offers.length === 0) return [];
  if (blocked === offers.length) return [{ path: '/', message: `block every offer (${blocked}): nothing is shown` }];
  const found: Warning[] = [];
  for (const [name, blockThere] of controls.placements) {
    const there: FindBlock = (offer) => controls.blockOf(offer) ?? blockThere(offer);
    if ((await countBlocked(offers, there)) === offers.length)
      found.push({ path: `/placements/${name}`, message: 'block every offer: nothing is shown there' });
  }
  return found;
}

type Named = { path: string; domain: string };

const domainsOf = (path: string, { blocked, allowed }: OfferLists): Named[] =>
  Object.entries({ blocked, allowed }).flatMap(([side, { domains }]) =>
    domains.map((domain, at) => ({ path: `${path}/${side}/domains/${at}`, domain })),
  );

/** Domains below which anyone registers names: a rule for `co.uk` holds for all of them. */
export async function warnOfSuffixes({ placements, separate, ...lists }: StoredControls): Promise<Warning[]> {
  const named = [
    ...domainsOf('', lists),
    ...Object.entries(placements).flatMap(([name, ofPlacement]) => domainsOf(`/placements/${name}`, ofPlacement)),
    ...separate.competitors
      .map((one, at) => ({ path: `/separate/competitors/${at}`, domain: String(one) }))
      .filter(({ domain }) => competitorDomain(domain) !== null),
  ];
  if (named.length === 0) return [];
  const isSuffix = await publicSuffixes();
  return runInSlices(
    (function* () {
      const found: Warning[] = [];
      for (const [done, { path, domain }] of named.entries()) {
        if (done % sliceSize === sliceSize - 1) yield;
        if (isSuffix(hostOf(domain) ?? '')) found.push({ path, message: suffixMessage(domain) });
      }
      return found;
    })(),
  );
}

const suffixMessage = (domain: string): string =>
  `is a public suffix, below which anyone registers names: it stands for all that lead to ${domain}`;
