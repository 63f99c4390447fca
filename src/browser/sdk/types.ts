import type { OfferAppearance, OfferSettings, OfferStyles } from '../../../packages/client/src/appearance.ts';
import type { AdEvent } from '../../../packages/client/src/callback.ts';
import type { ExperimentArm } from '../../../packages/client/src/response.ts';
import type { AdEventPayloads, AdLabels, ShownOffer } from '../../../packages/client/src/sdk.ts';
import type { TermsRules } from '../../../packages/client/src/terms.ts';

/**
 * The types that pages use are those of the client package, so that both stay consistent.
 *
 * offer     field names as on the wire (docs/reference/fetch-offers.md#offer-object)
 * answer    one response of fetch-offers, made safe to show
 * unit      the display of offers: `single` shows one after another, `multi` a grid
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

/** Default behavior and appearance, and the elements allowed in terms. */
export type Defaults = { settings: OfferSettings; styles: OfferStyles; terms: TermsRules };

export type Creative = ShownOffer['creatives'][number];

export type Answer = {
  offers: ShownOffer[];
  sessionId: string;
  privacyUrl: string;
  settings: OfferSettings;
  styles: OfferStyles;
  terms: TermsRules;
  /** Whether the perks of the session were selected initially on the server. */
  allSelected: boolean;
  /** `styles` in dark mode, or null for always light. */
  dark: OfferStyles | null;
  appearance: Pick<OfferAppearance, 'color_scheme' | 'spacing' | 'width'> & {
    web_font: OfferAppearance['web_font'] | undefined;
  };
  /** Experiments as in the response. */
  experiments: { experiments: ExperimentArm[] } | null;
  labels: Partial<AdLabels>;
  /** The response as received, to be stored for a later page. */
  raw: unknown;
};

/** Values of the page for the request body (docs/reference/fetch-offers.md#request-body). */
export type UserPayload = Record<string, unknown>;

export type EventName = AdEvent;

/** @returns what the page's callback returned */
export type Emit = <Name extends EventName>(event: Name, payload: AdEventPayloads[Name]) => unknown;
