import { writeFileSync } from 'node:fs';
import { decide } from '../../src/decision/decide.ts';
import { type SampledDecisions, sampleDecisions } from '../../src/decision/propensity.ts';
import { isExploring } from '../../src/decision/rank/sampled-ranking.ts';
import type { DecisionInput } from '../../src/decision/types.ts';
import { type Alternative, otherwise } from '../../src/offers/off-policy/alternatives.ts';
import { estimateOther, intervalOf, type Observed } from '../../src/offers/off-policy/estimate.ts';
import { getOrInsert } from '../../src/platform/lib/get-or-insert.ts';
import { noonMs } from '../../test/decision/support.ts';
import { notice } from './noticing.ts';
import { engine, learnEveryMs, type Notice, type View, valuesOf } from './policies.ts';
import { type Asker, cpcOffers, uniforms, type World, worldOf } from './world.ts';

/**
 * Compares the estimated earnings of another ranking, from decisions and clicks, with the true ones: `npm run
 * bench:money -- off-policy`.
 */
const deviceWorld = (
  seed: number,
  over: Pick<World, 'name' | 'what'> & Partial<World>,
  rates: readonly number[],
): World => {
  const u = uniforms(seed);
  return worldOf({
    offers: cpcOffers(rates.length),
    asker: (at): Asker =>
      u(1, at) < 0.5
        ? { device: 'mobile', os: 'android', platform: 'android', custom: new Map() }
        : { device: 'desktop', os: 'windows', platform: 'web', custom: new Map() },
    clickRate: (offer, { device }) => rates[device === 'mobile' ? offer : rates.length - 1 - offer] as number,
    ...over,
  });
};

/**
 * Phones and desktops prefer different offers: so clearly that the ranking settles, or so little that it never does.
 */
const worldsWith = (seed: number): World[] => [
  deviceWorld(
    seed,
    {
      name: 'settled',
      what: '3 offers; phones click 36, 33 and 30 %, desktops the other way round; 60000 answers from the first on',
      answers: 60_000,
    },
    [0.36, 0.33, 0.3],
  ),
  deviceWorld(
    seed,
    {
      name: 'still trying',
      what: '4 offers; phones click 36, 35, 34 and 33 %, desktops the other way round; 150000 answers, 1000 a second',
      answers: 150_000,
      perSecond: 1000,
    },
    [0.36, 0.35, 0.34, 0.33],
  ),
];

const others: readonly Alternative[] = [
  { ranking: 'weights', campaignId: null },
  { ranking: 'no_context', campaignId: null },
  { ranking: 'without_campaign', campaignId: 1 },
];

function sampled(input: DecisionInput): SampledDecisions {
  const work = sampleDecisions(input, { salt: input.seed });
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

/** Samples decisions; what a ranking shows depends only on the version of the model and on the device. */
function createSampled(): (input: DecisionInput, ranking: string) => SampledDecisions {
  const cache = new Map<string, SampledDecisions>();
  let version = -1;
  return (input, ranking) => {
    if (input.model.version !== version) cache.clear();
    version = input.model.version;
    return getOrInsert(cache, `${ranking} ${input.context.device} ${isExploring(input.seed)}`, () => sampled(input));
  };
}

type PolicyResult = { observed: Observed[]; actual: number; other: number };

/**
 * Plays a world with the engine. Records for each answer what was shown and clicked, and what each other ranking would
 * show.
 */
function play(world: World, seed: number): PolicyResult[] {
  const u = uniforms(seed + 77);
  const policy = engine(world, seed);
  const notices = new Map<number, Notice[]>();
  const later = (atMs: number, event: Notice): void => {
    const tick = Math.floor(atMs / learnEveryMs) + 1;
    getOrInsert(notices, tick, (): Notice[] => []).push(event);
  };
  const sample = createSampled();
  const results: PolicyResult[] = others.map(() => ({ observed: [], actual: 0, other: 0 }));
  let tick = Math.floor(noonMs / learnEveryMs);
  for (let at = 0; at < world.answers; at++) {
    const nowMs = noonMs + (at * 1000) / world.perSecond;
    for (; tick < Math.floor(nowMs / learnEveryMs); tick++) {
      policy.learn(notices.get(tick + 1) ?? [], (tick + 1) * learnEveryMs);
      notices.delete(tick + 1);
    }
    const asker = world.asker(at);
    const input = policy.inputOf(asker, () => true, at, nowMs);
    const offer = (decide(input).offers[0]?.offer.id ?? 0) - 1;
    const values = valuesOf(world, asker, at);
    const asItWas = sample(input, '');
    let isClicked = false;
    const view: View = { offer, position: 1, asker, atMs: nowMs };
    notice({
      world,
      view,
      at,
      chance: (salt) => u(salt + 1000 * offer, at),
      later: (atMs, event) => {
        if (event.what === 'clicked') isClicked = true;
        later(atMs, event);
      },
    });
    for (const [index, other] of others.entries()) {
      const ofOther = sample(otherwise(input, other), other.ranking);
      const own = results[index] as PolicyResult;
      own.actual += values[offer] as number;
      own.other += values.reduce((sum, value, position) => sum + value * ofOther.ofAny(position + 1, 1), 0);
      const ratio = ofOther.ofAny(offer + 1, 1) / asItWas.ofShown(offer + 1, 1);
      own.observed.push({
        weight: 1,
        shown: [{ ratio, revenueMicros: isClicked ? 1e6 : 0 }],
        filled: [ofOther.filled(1)],
      });
    }
  }
  return results;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const lines = [
  '| World | Other ranking | truth | estimate | 95 % interval | off by | effective sessions | coverage | claims |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
];
const seeds = Number(process.argv[3] ?? 3);
const worlds = worldsWith(1);
for (const [at, { name }] of worlds.entries())
  for (let seed = 1; seed <= seeds; seed++) {
    const world = worldsWith(seed)[at] as World;
    for (const [index, { observed, actual, other }] of play(world, seed).entries()) {
      const truth = other / actual - 1;
      const estimated = estimateOther(observed);
      const { estimate, low, high } = intervalOf(estimated);
      const offBy = Math.abs((1 + estimate) / (1 + truth) - 1);
      const figures = [percent(truth), percent(estimate), `${percent(low)} to ${percent(high)}`, percent(offBy)];
      const sample = [
        Math.round(estimated.effectiveSessions),
        percent(estimated.coverage),
        estimated.isEnough ? 'yes' : 'no',
      ];
      lines.push(`| ${name}, seed ${seed} | ${[others[index]?.ranking, ...figures, ...sample].join(' | ')} |`);
      process.stdout.write(`${lines.at(-1)}\n`);
    }
  }
writeFileSync(
  'bench/results/off-policy.md',
  `# off-policy

What another ranking would have earned, more or less than the one in use, as estimated from decisions and clicks
(src/offers/off-policy), beside the truth (bench/money/off-policy.ts). Where it claims nothing, the dashboard says
“too little data”.

${worlds.map(({ name, what }) => `- **${name}**: ${what}`).join('\n')}

${lines.join('\n')}
`,
);
