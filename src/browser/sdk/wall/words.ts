import { defaultSettings, defaultStyles } from '../../../../packages/client/src/default-appearance.ts';
import { termsRules } from '../../../../packages/client/src/terms.ts';
import type { AdConfig, Labels } from '../types.ts';
import { loadWords, type Words } from '../words.ts';

type Name =
  | 'title'
  | 'loading'
  | 'search'
  | 'categories'
  | 'all'
  | 'featured'
  | 'showMore'
  | 'end'
  | 'noMatch'
  | 'retry'
  | 'badLink'
  | 'failed'
  | 'details';

/** Offerwall messages (src/platform/i18n), in addition to the messages that it shares with the unit. */
export type WallWords = Words & { labels: Labels; offerwall: Record<Name, string> };

/** Default settings of the offerwall. They are bundled, because the offerwall does not load the unit's script. */
export const defaults = { settings: defaultSettings, styles: defaultStyles, terms: termsRules };

/** English messages, inserted at build time (scripts/build-sdk.ts). */
declare const WALL_WORDS: WallWords['offerwall'];
declare const UNIT_LABELS: Labels;

/** Loads the offerwall messages in the page's language. */
export async function loadWallWords(config: AdConfig, base: string): Promise<WallWords> {
  const words = await loadWords(config, base);
  return { offerwall: WALL_WORDS, ...words, labels: words.unit.labels ?? UNIT_LABELS };
}
