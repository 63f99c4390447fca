import type { Values, Warning } from '../management/resource.ts';
import type { ReviewedKind } from './approval.ts';
import { campaigns } from './resources/campaigns.ts';
import { creatives } from './resources/creatives.ts';
import { offers } from './resources/offers.ts';

const kinds = { campaigns, creatives, offers };

/** Warns about macros in URLs of a row or of changes to it. */
export const urlWarningsOf = (kind: ReviewedKind, values: Values): Warning[] => kinds[kind].warnOfUrls?.(values) ?? [];
