import { normalisePlacement } from '../../../catalog/snapshot/placement-name.ts';
import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { explain } from '../../../decision/explain/explain.ts';
import { type Explanation, type Geo, noHistory, nowhere } from '../../../decision/types.ts';
import type { Model } from '../../../offers/model/posteriors.ts';

/** Who is imagined to ask. Empty: not known. */
export type Asked = { placement: string; country: string; platform: string; device: string; custom: string };

/**
 * Why a user who was never seen before is shown an offer of the publisher, or not. Caps and budgets count as unused:
 * what they
 * leave over changes by the second.
 */
export function explainFor(
  publisher: Publisher,
  { placement, country, platform, device, custom }: Asked,
  { model, nowMs, seed }: { model: Model; nowMs: number; seed: number },
): Explanation[] {
  const placed = publisher.placements.get(normalisePlacement(placement));
  const theme =
    (placed?.themeId !== null && placed !== undefined ? publisher.themes.get(placed.themeId as number) : undefined) ??
    publisher.defaultTheme;
  const geo: Geo = { ...nowhere, country: country === '' ? null : country.toUpperCase() };
  return explain({
    publisher,
    theme,
    context: {
      surface: 'unit',
      placement: normalisePlacement(placement),
      platform: platform || null,
      device: device || null,
      os: null,
      browser: null,
      geo,
      custom: readCustom(custom),
      nowMs,
      userKey: 'somebody',
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

/** `name=value`, one a line. */
const readCustom = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/\n|,/)
      .map((line) => line.split('='))
      .filter(([name = '']) => name.trim() !== '')
      .slice(0, 50)
      .map(([name = '', ...rest]) => [name.trim(), rest.join('=').trim()]),
  );
