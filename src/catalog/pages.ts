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

/** Page context for the pages of a single publisher, with that publisher's configuration. */
export type PublisherContext = PageContext & { publisher: Publisher };

/**
 * Returns the registry for pages of a single publisher, below `/dashboard/p/{publisherId}`. Its guard reads the
 * publisher from the snapshot.
 */
export const publisherPages = (app: App, shell: Shell): Pages<PublisherContext> =>
  pagesOfPublisher(app, shell) as unknown as Pages<PublisherContext>;

/** Kinds of targeting values that have no predefined list. Forms suggest values from recent requests. */
export type SeenKind = 'regions' | 'cities' | 'postal_codes' | 'os' | 'browsers' | 'attributes';

/** Renders a card for the row with the given ID. */
export type Card = (context: PublisherContext, id: number) => Promise<Html>;

/** Renders the cards for a row, in order. */
export async function cardsOf(cards: readonly Card[], context: PublisherContext, id: number): Promise<Html[]> {
  const rendered: Html[] = [];
  for (const card of cards) rendered.push(await card(context, id));
  return rendered;
}

/**
 * Maximum size of a font file, in bytes. The size is limited because users must download the font before they see the
 * offers as designed.
 */
export const maxFontBytes = 512 * 1024;

/**
 * Fetches a file with the same restrictions as webhooks: only from public hosts, and without following redirects. Never
 * rejects: `problem` describes what is wrong with the URL or the response.
 */
export type FetchFile = (
  url: string,
  request: { headers: Record<string, string>; deadlineMs: number },
) => Promise<{ headers: Readonly<Record<string, string>>; body: Buffer } | { problem: Problem }>;

/**
 * Extension points of the catalogue pages, which other modules can implement. Parts without an implementation are not
 * shown.
 */
export type PageExtensions = {
  /** Fetches fonts. If absent, fonts are not measured. */
  fetchFont?: FetchFile;
  /** Builds the recent figures shown in lists and on the page of a row. */
  figures?: (by: {
    dimension: 'placement' | 'campaign' | 'offer';
    key: (row: View) => string | number;
  }) => Figures<PublisherContext>;
  /** Renders a card for the placement page. */
  placementCard?: (context: PublisherContext, name: string) => Html;
  /** Cards for the campaign page. */
  campaignCards: readonly Card[];
  /** Cards for the offer page. */
  offerCards: readonly Card[];
  /** Estimates the reach of a campaign: the number of recent requests for which it could have been shown. */
  reach?: {
    /**
     * Renders the reach panel next to a form. It shows the reach for the stored values if the form cannot be edited, or
     * else requests the reach for the current form values from `estimateUrl`.
     */
    panel: (context: PublisherContext, source: { stored: Values } | { estimateUrl: string }) => Promise<Html>;
    /** Renders the reach for the stored values, for the campaign overview. */
    tile: (context: PublisherContext, stored: Values) => Promise<Html>;
    /** Renders the reach for the current form values, which may be incomplete. */
    ofTyped: (context: PublisherContext, typed: Values) => Promise<Html>;
  };
  /** Forecasts the next 30 days of a campaign. */
  forecast?: {
    /** Renders the forecast panel next to a form. It requests the forecast for the current form values from a URL. */
    panel: (context: PublisherContext, forecastUrl: string) => Html;
    /**
     * Renders the forecast of a stored campaign, with its values replaced by the current form values.
     * @param stored null for a new campaign, whose values are all in `typed`
     */
    ofTyped: (context: PublisherContext, stored: View | null, typed: Values) => Promise<Html>;
  };
  /** Opens a landing page that is being entered, and renders the result. The URL can be incomplete. */
  landingCheck?: (context: PublisherContext, url: string) => Promise<Html>;
  /**
   * Estimates the effect of block rules on recent decisions.
   * @throws AppError too_many_requests if a calculation is already running
   */
  controlsEffects?: {
    /** Computes the cost of each current block rule. */
    cost: (publisher: Publisher) => Promise<ControlsCost>;
    /** Computes the effect of replacing the current block rules with others. */
    of: (publisher: Publisher, other: StoredControls) => Promise<ControlsEffect>;
  };
  /** Returns the distinct values in recent requests, in any order. */
  seenValues?: (publisherId: number, kind: SeenKind) => Promise<readonly string[]>;
  /** Returns up to `count` offers of the publisher in SDK format, without tracking URLs. */
  sampleOffers?: (publisher: Publisher, options: { exceptId: number | null; count: number }) => readonly object[];
};

const nameOrder = new Intl.Collator('en');

/**
 * Returns the first publishers by name whose names contain a text, or whose ID or SDK ID is the text. Does not sort all
 * matches, because there can be 10,000.
 */
export function searchPublishers(publishers: Iterable<Publisher>, text: string, limit: number): Publisher[] {
  const part = text.toLowerCase();
  const matches: Publisher[] = [];
  for (const publisher of publishers) {
    const { id, name, sdkId } = publisher;
    if (!name.toLowerCase().includes(part) && sdkId !== text && String(id) !== text) continue;
    const isBefore = (other: Publisher | undefined): boolean =>
      other !== undefined && nameOrder.compare(name, other.name) < 0;
    if (matches.length === limit && !isBefore(matches.at(-1))) continue;
    const at = matches.findIndex(isBefore);
    matches.splice(at === -1 ? matches.length : at, 0, publisher);
    if (matches.length > limit) matches.pop();
  }
  return matches;
}
