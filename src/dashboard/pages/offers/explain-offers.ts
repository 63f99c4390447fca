import { normaliseName } from '../../../catalog/snapshot/names.ts';
import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { explain } from '../../../decision/explain/explain.ts';
import { type Explanation, type Geo, noHistory, unknownGeo } from '../../../decision/types.ts';
import type { Model } from '../../../offers/model/posteriors.ts';

/** The request to explain. Empty: unknown. `custom`: `name=value` pairs, separated by commas or lines. */
export type SampleRequest = { placement: string; country: string; platform: string; device: string; custom: string };

const maxCustomAttributes = 50;

/**
 * The decision about each offer of the publisher for a new user. Caps and budgets count as unused: what is left of
 * them changes by the second.
 */
export function explainOffers(
  publisher: Publisher,
  { placement, country, platform, device, custom }: SampleRequest,
  { model, nowMs, seed }: { model: Model; nowMs: number; seed: number },
): Explanation[] {
  const name = normaliseName(placement);
  const themeId = publisher.placements.get(name)?.themeId ?? null;
  const geo: Geo = { ...unknownGeo, country: country === '' ? null : country.toUpperCase() };
  return explain({
    publisher,
    theme: (themeId === null ? undefined : publisher.themes.get(themeId)) ?? publisher.defaultTheme,
    context: {
      surface: 'unit',
      placement: name,
      platform: platform || null,
      device: device || null,
      os: null,
      browser: null,
      geo,
      custom: parseCustom(custom),
      nowMs,
      userKey: 'sample',
      loyalty: 'also',
      onlyWithCreative: false,
      campaignId: null,
      count: null,
      dev: false,
    },
    history: noHistory,
    totals: new Map(),
    posteriors: model.posteriors,
    seed,
  });
}

const parseCustom = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/\n|,/)
      .map((line) => line.split('='))
      .filter(([name = '']) => name.trim() !== '')
      .slice(0, maxCustomAttributes)
      .map(([name = '', ...rest]) => [name.trim(), rest.join('=').trim()]),
  );
