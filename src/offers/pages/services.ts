import type { Shell } from '../../shell/layout.ts';
import type { OfferDeps } from '../ports.ts';

/** What the pages of offers are made with. */
export type PageServices = Shell & { deps: OfferDeps };
