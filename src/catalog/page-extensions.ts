import type { Figures } from '../management/crud-definition.ts';
import type { Values, View } from '../management/resource.ts';
import type { Html } from '../platform/http/html.ts';
import type { ControlsCost, ControlsEffect } from './controls-rules.ts';
import type { PublisherContext } from './publisher-pages.ts';
import type { Publisher, StoredControls } from './types.ts';

/** What requests had that nobody lists: offered where a form asks for one of them. */
export type SeenKind = 'regions' | 'cities' | 'postal_codes' | 'os' | 'browsers' | 'attributes';

/** Of the row with an id. */
export type Card = (context: PublisherContext, id: number) => Promise<Html>;

/** The cards of a row, one below the other. */
export async function cardsOf(cards: readonly Card[], context: PublisherContext, id: number): Promise<Html[]> {
  const made: Html[] = [];
  for (const card of cards) made.push(await card(context, id));
  return made;
}

/** The largest font that is read (bytes): visitors load it before they see their offers as they should be. */
export const maxFontBytes = 512 * 1024;

/**
 * Reads a file by its URL as webhooks are called: of public hosts alone, without redirects. It never rejects; `problem`
 * says what is wrong with the URL, or with what answers there.
 */
export type FetchFile = (
  url: string,
  request: { headers: Record<string, string>; deadlineMs: number },
) => Promise<{ headers: Readonly<Record<string, string>>; body: Buffer } | { problem: string }>;

/** Contributions of other modules to the catalogue's pages. A missing part is not shown. */
export type PageExtensions = {
  /** Absent: fonts are not measured. */
  fetchFont?: FetchFile;
  /** Figures of the last days beside rows and on their pages. */
  figures?: (by: {
    dimension: 'placement' | 'campaign' | 'offer';
    key: (row: View) => string | number;
  }) => Figures<PublisherContext>;
  /** A card on the page of a placement. */
  placementCard?: (context: PublisherContext, name: string) => Html;
  /** Cards on the page of a campaign. */
  campaignCards: readonly Card[];
  /** Cards on the page of an offer. */
  offerCards: readonly Card[];
  /** How many recent requests a campaign could have been shown to. */
  reach?: {
    /** Beside the form. `readOnly`: the stored values, of a form that cannot be edited. */
    panel: (context: PublisherContext, readOnly: Values | null) => Promise<Html>;
    /** Of what is typed, which may be incomplete. */
    ofTyped: (context: PublisherContext, typed: Values) => Promise<Html>;
  };
  /** What block rules change of the decisions of the last days. @throws AppError too_many_requests: it runs already */
  controlsEffects?: {
    /** Of each of the present rules. */
    cost: (publisher: Publisher) => Promise<ControlsCost>;
    /** Of other rules in place of the present ones. */
    of: (publisher: Publisher, other: StoredControls) => Promise<ControlsEffect>;
  };
  /** Values of recent requests, each once, in any order. */
  seenValues?: (publisherId: number, kind: SeenKind) => Promise<readonly string[]>;
  /** Offers of the publisher as the SDK gets them, without URLs that would be tracked; at most `count`. */
  sampleOffers?: (publisher: Publisher, options: { exceptId: number | null; count: number }) => readonly object[];
};
