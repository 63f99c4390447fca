import { normalQuantile } from '../../../src/decision/random.ts';
import { pays } from '../../../test/decision/support.ts';
import { type Asker, logistic, paidOffers, uniforms, type World, worldOf } from '../world.ts';

/** A simulated world with the report groups that it belongs to. */
export type RandomWorld = World & {
  groups: string[];
  /** Number of user attributes. */
  keys: number;
};

/** Maximum number of responses in a world: enough to see learning, and few enough to simulate hundreds of worlds. */
const maxAnswers = 20_000;

/** Delay until a second process learns of an event, in milliseconds. The event must be stored and read again. */
const secondProcessMs = 3000;

/** Generates a world from broad priors. The same seed always gives the same world. */
export function randomWorld(seed: number): RandomWorld {
  const u = uniforms(seed + 1_000_003);
  const pick = (salt: number): number => u(salt, 0);
  const normal = (salt: number, at: number): number => normalQuantile(u(salt, at) + 2 ** -33);
  const logUniform = (salt: number, from: number, to: number): number => from * (to / from) ** pick(salt);
  const offerCount = Math.round(logUniform(1, 2, pick(2) < 0.15 ? 1000 : 60));
  const keyCount = pick(3) < 0.25 ? 0 : Math.round(logUniform(4, 1, 40));
  const valueCounts = Array.from({ length: keyCount }, (_, key) => Math.round(2 * 25 ** (u(5, key) ** 2)));
  const strength = pick(6) < 0.3 ? 0 : logUniform(7, 0.1, 1.5);
  const relevant = Array.from({ length: keyCount }, (_, key) => u(8, key) < 0.1 + 0.9 * pick(9));
  const spread = logUniform(10, 0.1, 1);
  const isForConversions = pick(11) < 0.25;
  const baseRate = isForConversions ? logUniform(12, 0.02, 0.5) : logUniform(12, 0.001, 0.9);
  const conversionBase = logUniform(13, 0.01, 0.3);
  const perSecond = logUniform(14, 1, 200);
  const clickDelayS = logUniform(15, 0.05, 180);
  const conversionDelayS = logUniform(16, 5, 7200);
  const answers = Math.round(Math.min(maxAnswers, Math.max(4000, perSecond * 600)));
  const endMs = (1000 * answers) / perSecond;
  const change = pick(17);
  const isWave = change < 0.12;
  const isSwap = change >= 0.12 && change < 0.24;
  const isNewcomer = change >= 0.24 && change < 0.36;
  const disturbance = pick(18);
  const fromMs = endMs * (0.3 + 0.4 * pick(19));
  const lengthMs = Math.min(endMs / 6, logUniform(20, 5000, 120_000));
  const isIn = (atMs: number): boolean => atMs >= fromMs && atMs < fromMs + lengthMs;
  const kind = ['clicks', 'page', 'learner', 'late'][Math.floor(disturbance * 10)] ?? 'none';

  const center = Math.log(baseRate / (1 - baseRate));
  const base = Array.from({ length: offerCount }, (_, offer) => center + spread * normal(21, offer));
  const order = base.map((value, offer) => ({ value, offer })).sort((a, b) => b.value - a.value);
  const best = (order[0] as { offer: number }).offer;
  if (isNewcomer) base[best] = (order[Math.min(1, offerCount - 1)] as { value: number }).value + Math.log(1.25);
  const effects = new Map<number, number>();
  const effectOf = (offer: number, key: number, value: number): number => {
    const at = (offer * 64 + key) * 64 + value;
    let effect = effects.get(at);
    if (effect === undefined) {
      effect = strength * normal(22, at) * 0.8 + strength * normal(23, key * 64 + value) * 0.4;
      effects.set(at, effect);
    }
    return effect;
  };
  const waveMs = logUniform(24, 60_000, 1_200_000);
  const scale = 1 / Math.sqrt(Math.max(1, relevant.filter(Boolean).length / 4));
  const conversion = Array.from({ length: offerCount }, (_, offer) =>
    logistic(Math.log(conversionBase / (1 - conversionBase)) + spread * normal(25, offer)),
  );
  const amounts = Array.from({ length: offerCount }, (_, offer) => Math.exp(0.3 * normal(26, offer)));
  const exponential =
    (meanS: number) =>
    (v: number): number =>
      -meanS * Math.log(1 - v);
  const hasTwoProcesses = pick(27) < 0.25;
  const conversionText = isForConversions
    ? `, conversions ${(100 * conversionBase).toFixed(1)}% after ${conversionDelayS.toFixed(0)} s`
    : '';
  const groups = [
    isWave || isSwap ? 'drift' : isNewcomer ? 'newcomer' : 'steady',
    ...(kind === 'none' ? [] : [`outage: ${kind}`]),
    ...(clickDelayS > 20 ? ['slow clicks'] : clickDelayS < 1 ? ['fast clicks'] : []),
    ...(isForConversions ? ['conversions'] : []),
    ...(hasTwoProcesses ? ['two processes'] : []),
    ...((baseRate * answers) / offerCount < 30 ? ['few clicks'] : []),
  ];
  return {
    ...worldOf({
      name: `random ${seed}`,
      what:
        `${offerCount} offers, ${keyCount} attributes, effects ${strength.toFixed(2)}, spread ${spread.toFixed(2)}, ` +
        `base ${(100 * baseRate).toFixed(2)}%, ${perSecond.toFixed(1)}/s, clicks after ${clickDelayS.toFixed(2)} s` +
        `${conversionText}; ${groups.join(', ')}`,
      offers: paidOffers(amounts.map((amount) => pays(isForConversions ? 'cpa' : 'cpc', Number(amount.toFixed(2))))),
      answers,
      perSecond,
      asker: (at): Asker => ({
        custom: new Map(
          valueCounts.map((count, key) => [`a${key}`, String(Math.floor(u(100 + key, at) ** 1.5 * count))]),
        ),
      }),
      clickRate: (offer, { custom }, at) => {
        const atMs = (1000 * at) / perSecond;
        const own = isSwap && atMs > endMs / 2 ? offerCount - 1 - offer : offer;
        let logOdds = base[own] as number;
        if (isWave) logOdds += Math.sin((2 * Math.PI * atMs) / waveMs + offer) * 0.7;
        if (strength > 0)
          for (let key = 0; key < keyCount; key++)
            if (relevant[key]) logOdds += scale * effectOf(own, key, Number(custom.get(`a${key}`)));
        return logistic(logOdds);
      },
      conversionRate: (offer) => conversion[offer] as number,
      clickDelayS: exponential(clickDelayS),
      conversionDelayS: exponential(conversionDelayS),
      startsAt: (offer) => (isNewcomer && offer === best ? Math.floor(answers * 0.4) : 0),
    }),
    groups,
    keys: keyCount,
    isLost: (offer, atMs) => isIn(atMs) && (kind === 'clicks' || (kind === 'page' && offer === best)),
    knownAtMs: (atMs, answer) =>
      (kind === 'late' && isIn(atMs) ? fromMs + lengthMs : atMs) +
      (hasTwoProcesses && answer % 2 === 1 ? secondProcessMs : 0),
    isPaused: (atMs) => kind === 'learner' && isIn(atMs),
  };
}
