import type { OfferAppearance, OfferSettings, OfferStyles } from '../../../packages/client/src/appearance.ts';
import type { AdEvent } from '../../../packages/client/src/callback.ts';
import type { ExperimentArm } from '../../../packages/client/src/response.ts';
import type { AdEventPayloads, AdLabels, ShownOffer } from '../../../packages/client/src/sdk.ts';
import type { TermsRules } from '../../../packages/client/src/terms.ts';

/**
 * The types that pages see are those of the client package, so that both stay in step.
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

/** Behaviour and appearance where neither service nor page sets any, and what terms may hold. */
export type Defaults = { settings: OfferSettings; styles: OfferStyles; terms: TermsRules };

export type Creative = ShownOffer['creatives'][number];

export type Answer = {
  offers: ShownOffer[];
  sessionId: string;
  privacyUrl: string;
  settings: OfferSettings;
  styles: OfferStyles;
  terms: TermsRules;
  /** Whether the perks of the session started selected on the server. */
  allSelected: boolean;
  /** `styles` in dark mode; null: always light. */
  dark: OfferStyles | null;
  appearance: Pick<OfferAppearance, 'color_scheme' | 'spacing' | 'width'> & {
    web_font: OfferAppearance['web_font'] | undefined;
  };
  /** As the response has them. */
  experiments: { experiments: ExperimentArm[] } | null;
  labels: Partial<AdLabels>;
  /** The response as it came, to be stored for a later page. */
  raw: unknown;
};

/** The page's values for the request body (docs/reference/fetch-offers.md#request-body). */
export type UserPayload = Record<string, unknown>;

export type EventName = AdEvent;

/** @returns what the page's callback returned */
export type Emit = <Name extends EventName>(event: Name, payload: AdEventPayloads[Name]) => unknown;
