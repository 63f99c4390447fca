import type { OfferAppearance, OfferSettings, OfferStyles } from '../../../packages/client/src/appearance.ts';
import type { AdEvent } from '../../../packages/client/src/callback.ts';
import type { ExperimentArm } from '../../../packages/client/src/response.ts';
import type { AdEventPayloads, AdLabels, ShownOffer } from '../../../packages/client/src/sdk.ts';
import type { TermsRules } from '../../../packages/client/src/terms.ts';

/**
 * Types of the web SDK. Types that pages use come from the client package, so that both stay consistent.
 * - offer: an offer with the field names of the API (docs/reference/fetch-offers.md#offer-object)
 * - answer: a fetch-offers response that was made safe to show
 * - unit: the element that shows offers, one at a time (`single`) or as a grid (`multi`)
 */
export type {
  AdActions as Actions,
  AdConfig,
  AdEventCallback as Callback,
  AdEventListener as Listener,
  AdLabels as Labels,
  AdRenderUnit as RenderUnit,
  ShownOffer as Offer,
} from '../../../packages/client/src/sdk.ts';

/** Default behaviour and appearance, and the HTML elements allowed in terms. */
export type Defaults = { settings: OfferSettings; styles: OfferStyles; terms: TermsRules };

export type Creative = ShownOffer['creatives'][number];

export type OffersResponse = {
  offers: ShownOffer[];
  sessionId: string;
  privacyUrl: string;
  settings: OfferSettings;
  styles: OfferStyles;
  terms: TermsRules;
  /** Whether the server initially selected all perks in the session. */
  allSelected: boolean;
  /** `styles` for dark mode, or null if the unit is always light. */
  dark: OfferStyles | null;
  appearance: Pick<OfferAppearance, 'color_scheme' | 'spacing' | 'width'> & {
    web_font: OfferAppearance['web_font'] | undefined;
  };
  /** Experiments from the response, or null if none exists. */
  experiments: { experiments: ExperimentArm[] } | null;
  labels: Partial<AdLabels>;
  /** Response as received, to be stored for a later page. */
  raw: unknown;
};

/** Values that the page adds to the request body (docs/reference/fetch-offers.md#request-body). */
export type UserPayload = Record<string, unknown>;

export type EventName = AdEvent;

/**
 * Emits an event.
 * @returns the return value of the page's callback
 */
export type Emit = <Name extends EventName>(event: Name, payload: AdEventPayloads[Name]) => unknown;
