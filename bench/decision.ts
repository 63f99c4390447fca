import type { CampaignRules } from '../src/catalog/rules.ts';
import type { Offer } from '../src/catalog/types.ts';
import { decide } from '../src/decision/decide.ts';
import { mix } from '../src/decision/random.ts';
import type { DecisionInput } from '../src/decision/types.ts';
import { emptyModel } from '../src/learning/model.ts';
import { campaignOf, counts, inputOf, modelOf, offersOf, pays, publisherWith } from '../test/decision/support.ts';

/**
 * Measures the CPU time per decision for catalogues of 1,000 and 10,000 campaigns. Run `npm run bench:decision -- 3` to
 * measure for 3 seconds each.
 */
const seconds = Number(process.argv[2] ?? 3);

type Case = { what: string; campaigns: number; eligible: number; paid: boolean; capped: boolean; model?: boolean };

const cases: Case[] = [100, 1000].flatMap((eligible) =>
  [1000, 10_000].flatMap((campaigns) => [
    { what: 'plain', campaigns, eligible, paid: false, capped: false },
    { what: 'all offers pay per click', campaigns, eligible, paid: true, capped: false },
    { what: 'all offers pay per click, empty model', campaigns, eligible, paid: true, capped: false, model: false },
    { what: 'all offers pay per click, user near the frequency caps', campaigns, eligible, paid: true, capped: true },
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
  const countsByOffer = new Map(offers.map(({ id }) => [id, counts(1000 + id, 10 + (id % 30), 1)]));
  const exposures = Array.from({ length: capped ? 60 : 0 }, (_, at) => ({
    event: 'impression' as const,
    offerId: at + 1,
    campaignId: at + 1,
    advertiserId: at,
    atMs: Date.UTC(2026, 10, 21, 11, at),
  }));
  const geo = { country: 'US', region: null, city: null, postalCode: null, timeZone: null };
  return inputOf(publisherWith(offers), {
    model: model ? modelOf(offers, countsByOffer) : emptyModel,
    history: { optOuts: {}, exposures },
    context: { count: 5, geo },
  });
}

for (const scenario of cases) {
  const input = inputFor(scenario);
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
  process.stdout.write(
    `${scenario.eligible} of ${scenario.campaigns} eligible, ${scenario.what}: ${micros} µs of CPU time\n`,
  );
}
