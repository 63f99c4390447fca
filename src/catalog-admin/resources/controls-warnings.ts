import { competitorDomain, hostOf } from '../../catalog/controls.ts';
import type { Controls, FindBlock, Offer, OfferLists, StoredControls } from '../../catalog/types.ts';
import type { Warning } from '../../management/resource.ts';
import { publicSuffixes } from '../../platform/lib/domains.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/** Number of offers or domains to check before yielding to other requests. */
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

/**
 * Returns warnings if the rules block every offer, either at all placements or at certain ones.
 * @param blocked number of offers that are blocked at all placements
 */
export async function warnOfNothingShown(
  controls: Controls | null,
  offers: readonly Offer[],
  blocked: number,
): Promise<Warning[]> {
  if (controls === null || offers.length === 0) return [];
  if (blocked === offers.length) return [{ path: '/', message: problem('blocksEveryOffer', { count: blocked }) }];
  const warnings: Warning[] = [];
  for (const [name, blockThere] of controls.placements) {
    const there: FindBlock = (offer) => controls.blockOf(offer) ?? blockThere(offer);
    if ((await countBlocked(offers, there)) === offers.length)
      warnings.push({ path: `/placements/${name}`, message: problem('blocksPlacement') });
  }
  return warnings;
}

type Named = { path: string; domain: string };

const domainsOf = (path: string, { blocked, allowed }: OfferLists): Named[] =>
  Object.entries({ blocked, allowed }).flatMap(([side, { domains }]) =>
    domains.map((domain, at) => ({ path: `${path}/${side}/domains/${at}`, domain })),
  );

/**
 * Returns warnings about domains that are public suffixes. A rule for `co.uk`, for example, applies to all domains
 * below it.
 */
export async function warnOfSuffixes({ placements, separate, ...lists }: StoredControls): Promise<Warning[]> {
  const listedDomains = [
    ...domainsOf('', lists),
    ...Object.entries(placements).flatMap(([name, ofPlacement]) => domainsOf(`/placements/${name}`, ofPlacement)),
    ...separate.competitors
      .map((competitor, at) => ({ path: `/separate/competitors/${at}`, domain: String(competitor) }))
      .filter(({ domain }) => competitorDomain(domain) !== null),
  ];
  if (listedDomains.length === 0) return [];
  const isSuffix = await publicSuffixes();
  return runInSlices(
    (function* () {
      const warnings: Warning[] = [];
      for (const [done, { path, domain }] of listedDomains.entries()) {
        if (done % sliceSize === sliceSize - 1) yield;
        if (isSuffix(hostOf(domain) ?? '')) warnings.push({ path, message: suffixMessage(domain) });
      }
      return warnings;
    })(),
  );
}

const suffixMessage = (domain: string): Problem => problem('publicSuffix', { domain });
