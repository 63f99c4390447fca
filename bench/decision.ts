import type { CampaignRules } from '../src/catalog/rules.ts';
import type { Offer } from '../src/catalog/types.ts';
import { decide } from '../src/decision/decide.ts';
import { mix, uniform } from '../src/decision/random.ts';
import type { DecisionInput } from '../src/decision/types.ts';
import { noPosteriors, type Posteriors } from '../src/learning/types.ts';
import { campaignOf, inputOf, offersOf, pays, publisherWith } from '../test/decision/support.ts';

/**
 * Processor time of one decision, for catalogues of 1,000 and 10,000 campaigns, and the regret of learning from its own
 * decisions. `npm run bench:decision -- 3`: seconds of each measurement of time.
 */
const seconds = Number(process.argv[2] ?? 3);

type Case = { what: string; campaigns: number; eligible: number; paid: boolean; capped: boolean; model?: boolean };

const cases: Case[] = [100, 1000].flatMap((eligible) =>
  [1000, 10_000].flatMap((campaigns) => [
    { what: 'plain', campaigns, eligible, paid: false, capped: false },
    { what: 'all pay by click', campaigns, eligible, paid: true, capped: false },
    { what: 'all pay by click, empty model', campaigns, eligible, paid: true, capped: false, model: false },
    { what: 'all pay by click, user near the frequency caps', campaigns, eligible, paid: true, capped: true },
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
      for (let at = 0; at < 50; at++, decisions++) decide({ ...input, seed: mix(1, seed++) });
    }
    return (process.cpuUsage().user - used) / decisions;
  };
  run(500); // warm-up
  const micros = run(seconds * 1000).toFixed(1);
  process.stdout.write(`${one.eligible} of ${one.campaigns} eligible, ${one.what}: ${micros} µs of processor time\n`);
}

const impressions = 200_000;
/** Impressions between two refreshes of the model. */
const refreshEvery = 500;

/** Share of the best possible revenue that is lost while the click rates of all offers (0.5 to 10 %) are learned. */
function regretOf(count: number, world: number): number {
  const rates = Array.from({ length: count }, (_, at) => 0.005 + 0.095 * uniform(123 + world, at));
  const payouts = rates.map((_, at) => 0.2 + 1.6 * uniform(999 + world, at));
  const revenues = rates.map((rate, at) => rate * (payouts[at] as number));
  const best = Math.max(...revenues);
  const publisher = publisherWith(
    offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout: pays('cpc', payout) }))),
  );
  const live = rates.map(() => ({ impressions: 0, clicks: 0, conversions: 0 }));
  let posteriors = noPosteriors;
  let lost = 0;
  for (let at = 0; at < impressions; at++) {
    if (at % refreshEvery === 0) {
      const offers = new Map(live.map((one, offer) => [offer + 1, { ...one }]));
      const clicks = live.reduce((all, one) => all + one.clicks, 0);
      const categories = new Map([['', { impressions: at, clicks, conversions: 0 }]]);
      const placements = new Map([['1 checkout', offers]]);
      posteriors = { placements, offers, categories, averageSaleMicros: new Map() };
    }
    const { offers } = decide(inputOf(publisher, { posteriors, seed: mix(world, at), context: { count: 1 } }));
    const offer = (offers[0]?.offer.id ?? 1) - 1;
    lost += best - (revenues[offer] as number);
    const own = live[offer] as { impressions: number; clicks: number };
    own.impressions += 1;
    if (uniform(world, at) < (rates[offer] as number)) own.clicks += 1;
  }
  return lost / (best * impressions);
}

for (const count of [10, 100]) {
  const worlds = count === 10 ? 16 : 4;
  const regrets = Array.from({ length: worlds }, (_, world) => regretOf(count, world + 1));
  const mean = (100 * regrets.reduce((a, b) => a + b, 0)) / worlds;
  process.stdout.write(`regret of ${impressions} impressions among ${count} offers: ${mean.toFixed(2)} %\n`);
}
