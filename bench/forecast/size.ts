import { competitorOf } from '../../src/forecasts/competitor.ts';
import { forecast } from '../../src/forecasts/engine/forecast.ts';
import type { SampledSession } from '../../src/forecasts/engine/types.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { campaignOf, contextOf, counts, modelOf, offersOf, pays, publisherWith } from '../../test/decision/support.ts';
import { startMs } from './world.ts';

/**
 * Measures a forecast next to many campaigns: its CPU time, and the longest slice for which it blocks other work. CPU
 * time does not depend on what else the machine does.
 */
const [campaigns, sessionCount] = [10_000, 2000];
const devices = ['mobile', 'desktop', 'tablet'];
const countries = ['DE', 'AT', 'CH', 'US'];

const offers = offersOf(
  ...Array.from({ length: campaigns + 1 }, (_, at) =>
    campaignOf(at + 1, {
      payout: pays('cpc', 0.1 + (at % 17) / 10 + (at === campaigns ? 5 : 0)),
      rules: at % 3 === 0 && at < campaigns ? { targeting: { countries: { include: ['US'] } } } : {},
    }),
  ),
);
const publisher = publisherWith(offers.slice(0, -1), { offersPerResponse: 3 });
const model = modelOf(
  offers.slice(0, -1),
  new Map(offers.slice(0, -1).map(({ id }) => [id, counts(1000, 10 + (id % 30))])),
);
const sessions = Array.from(
  { length: sessionCount },
  (_, at): SampledSession => ({
    context: contextOf({
      nowMs: startMs - (at / sessionCount) * 7 * dayMs,
      userKey: `user-${at % 700}`,
      device: devices[at % 3] as string,
      geo: { country: countries[at % 4] as string, region: null, city: null, postalCode: null, timeZone: null },
    }),
    themeId: null,
    history: { optOuts: {}, exposures: [] },
    totals: new Map(),
    seed: at,
    isEmptied: false,
    offers: [1, 2, 3].map((offerId) => ({ offerId, isSeen: true, isClicked: at % 20 === 0, isDeclined: false })),
  }),
);
const visits = new Map<string, number[]>();
for (const { context } of sessions)
  visits.set(String(context.userKey), [...(visits.get(String(context.userKey)) ?? []), context.nowMs]);

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
let [longestMs, longestStep, steps] = [0, 0, 0];
function run<T>(work: Generator<void, T>): T {
  for (;;) {
    const stepMs = cpuMs();
    const step = work.next();
    steps += 1;
    const tookMs = cpuMs() - stepMs;
    if (tookMs > longestMs) [longestMs, longestStep] = [tookMs, steps];
    if (step.done === true) return step.value;
  }
}
const beganMs = cpuMs();
const draft = {
  campaign: (offers.at(-1) as (typeof offers)[number]).campaign,
  offers: offers.slice(-1),
  used: () => 0,
  liveSinceMs: null,
  delivered: [],
  recent: { impressions: 0, clicks: 0, conversions: 0 },
};
const competitor = run(competitorOf(draft, publisher, { timeZoneOf: () => 'UTC', isRepeated: true }));
const hours = Array.from({ length: 1344 }, (_, at) => ({ startMs: startMs - (1344 - at) * hourMs, sessions: 300 }));
const isLate = (): boolean => cpuMs() - beganMs > 3000;
const { totals } = run(
  forecast({ ...competitor, model, sessions, visits, visitDays: 28, hours, nowMs: startMs, seed: 1, isLate }),
);
process.stdout.write(
  `${campaigns} campaigns: ${Math.round(cpuMs() - beganMs)} ms of CPU time, longest slice ${longestMs.toFixed(1)} ms ` +
    `(step ${longestStep} of ${steps}), ${Math.round(totals.impressions.mid)} impressions\n`,
);
