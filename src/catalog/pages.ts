import type { Figures } from '../management/crud-definition.ts';
import type { Values, View } from '../management/resource.ts';
import type { App } from '../platform/http/app.ts';
import type { Html } from '../platform/http/html.ts';
import type { Problem } from '../platform/problem.ts';
import type { PageContext } from '../shell/context.ts';
import type { Shell } from '../shell/layout.ts';
import { type Pages, pagesOfPublisher } from '../shell/pages.ts';
import type { ControlsCost, ControlsEffect } from './controls.ts';
import type { Publisher, StoredControls } from './types.ts';

/** Context of a page of one publisher, with everything the catalogue has about it. */
export type PublisherContext = PageContext & { publisher: Publisher };

/** Pages of one publisher, below `/dashboard/p/{publisherId}`. The guard takes the publisher from the snapshot. */
export const publisherPages = (app: App, shell: Shell): Pages<PublisherContext> =>
  pagesOfPublisher(app, shell) as unknown as Pages<PublisherContext>;

/** Kinds of values that no list contains. Forms offer the values of recent requests. */
export type SeenKind = 'regions' | 'cities' | 'postal_codes' | 'os' | 'browsers' | 'attributes';

/** Renders a card for the row with an id. */
export type Card = (context: PublisherContext, id: number) => Promise<Html>;

/** Renders the cards of a row in order. */
export async function cardsOf(cards: readonly Card[], context: PublisherContext, id: number): Promise<Html[]> {
  const rendered: Html[] = [];
  for (const card of cards) rendered.push(await card(context, id));
  return rendered;
}

/** Maximum size of a font (bytes). Visitors load it before the offers look as intended. */
export const maxFontBytes = 512 * 1024;

/**
 * Fetches a file with the same restrictions as webhooks: only public hosts, no redirects. Never rejects; `problem` says
 * what is wrong with the URL or its response.
 */
export type FetchFile = (
  url: string,
  request: { headers: Record<string, string>; deadlineMs: number },
) => Promise<{ headers: Readonly<Record<string, string>>; body: Buffer } | { problem: Problem }>;

/** Contributions of other modules to the catalogue's pages. Missing parts are not shown. */
export type PageExtensions = {
  /** Fetches fonts; if absent, fonts are not measured. */
  fetchFont?: FetchFile;
  /** Figures of the last days, in lists and on the page of a row. */
  figures?: (by: {
    dimension: 'placement' | 'campaign' | 'offer';
    key: (row: View) => string | number;
  }) => Figures<PublisherContext>;
  /** Card on the page of a placement. */
  placementCard?: (context: PublisherContext, name: string) => Html;
  /** Cards on the page of a campaign. */
  campaignCards: readonly Card[];
  /** Cards on the page of an offer. */
  offerCards: readonly Card[];
  /** Number of recent requests that a campaign could have been shown to. */
  reach?: {
    /** Panel next to the form. `readOnly` holds the stored values of a form that cannot be edited. */
    panel: (context: PublisherContext, readOnly: Values | null) => Promise<Html>;
    /** Reach of the form's current values, which may be incomplete. */
    ofTyped: (context: PublisherContext, typed: Values) => Promise<Html>;
  };
  /**
   * Effect of block rules on the decisions of the last days.
   * @throws AppError too_many_requests if a calculation is running already
   */
  controlsEffects?: {
    /** Cost of each current rule. */
    cost: (publisher: Publisher) => Promise<ControlsCost>;
    /** Effect of replacing the current rules. */
    of: (publisher: Publisher, other: StoredControls) => Promise<ControlsEffect>;
  };
  /** Distinct values of recent requests, in any order. */
  seenValues?: (publisherId: number, kind: SeenKind) => Promise<readonly string[]>;
  /** At most `count` offers of the publisher in the format of the SDK, without tracked URLs. */
  sampleOffers?: (publisher: Publisher, options: { exceptId: number | null; count: number }) => readonly object[];
};
