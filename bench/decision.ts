import type { CampaignRules } from '../src/catalog/rules/rules.ts';
import type { Offer } from '../src/catalog/snapshot/types.ts';
import { decide } from '../src/decision/decide.ts';
import { mix } from '../src/decision/random.ts';
import { type DecisionInput, noPosteriors, type Posteriors } from '../src/decision/types.ts';
import { campaignOf, inputOf, offersOf, pays, publisherWith } from '../test/decision/support.ts';

/**
 * Processor time of one decision, for catalogues of 1,000 and 10,000 campaigns. `npm run bench:decision -- 3`: seconds
 * of
 * each measurement.
 */
const seconds = Number(process.argv[2] ?? 3);

type Case = { what: string; campaigns: number; eligible: number; paid: boolean; capped: boolean; model?: boolean };

const cases: Case[] = [100, 1000].flatMap((eligible) =>
  [1000, 10_000].flatMap((campaigns) => [
    { what: 'plain', campaigns, eligible, paid: false, capped: false },
    { what: 'all pay by click', campaigns, eligible, paid: true, capped: false },
    { what: 'all pay by click, nothing is learned', campaigns, eligible, paid: true, capped: false, model: false },
    { what: 'all pay and are capped, user near the caps', campaigns, eligible, paid: true, capped: true },
  ]),
);

const elsewhere: CampaignRules = { targeting: { countries: { include: ['CA', 'MX'] } } };
const caps: CampaignRules = {
  frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 3, window_minutes: 1440 }],
};

function inputFor({ campaigns, eligible, paid, capped, model = true }: Case): DecisionInput {
  const offers: Offer[] = offersOf(
    ...Array.from({ length: campaigns }, (_, at) => {
      const isEligible = at % (campaigns / eligible) === 0;
      const payout = pays('cpc', paid ? 0.1 + (at % 7) / 10 : 0);
      return campaignOf(at + 1, {
        advertiserId: at % Math.ceil(campaigns / 4),
        payout,
        rules: { ...(capped ? caps : {}), ...(isEligible ? {} : elsewhere) },
      });
    }),
  );
  const counts = new Map(
    offers.map(({ id }) => [id, { impressions: 1000 + id, clicks: 10 + (id % 30), conversions: 1 }]),
  );
  const posteriors: Posteriors = {
    placements: new Map([['1 checkout', counts]]),
    offers: counts,
    categories: new Map(),
    averageSaleMicros: new Map(),
  };
  const exposures = Array.from({ length: capped ? 60 : 0 }, (_, at) => ({
    event: 'impression' as const,
    offerId: at + 1,
    campaignId: at + 1,
    advertiserId: at,
    atMs: Date.UTC(2026, 10, 21, 11, at),
  }));
  const geo = { country: 'US', region: null, city: null, postalCode: null, timeZone: null };
  return inputOf(publisherWith(offers), {
    posteriors: model ? posteriors : noPosteriors,
    history: { optOuts: {}, exposures },
    context: { count: 5, geo },
  });
}

for (const one of cases) {
  const input = inputFor(one);
  let seed = 0;
  const run = (ms: number): number => {
    const start = performance.now();
    const used = process.cpuUsage().user;
    let decisions = 0;
    while (performance.now() - start < ms) {
      for (let turn = 0; turn < 50; turn++, decisions++) decide({ ...input, seed: mix(1, seed++) });
    }
    return (process.cpuUsage().user - used) / decisions;
  };
  run(500); // until it is compiled
  const micros = run(seconds * 1000);
  process.stdout.write(
    `${String(one.eligible).padStart(5)} of ${String(one.campaigns).padStart(6)} eligible, ${one.what}: ${micros.toFixed(1)} µs of processor time a decision\n`,
  );
}
