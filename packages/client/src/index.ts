/**
 * Client for the offer service. It needs no DOM and has no dependencies, so it runs on servers, in browsers and in
 * React Native.
 */
export type {
  ButtonStyle,
  DarkStyles,
  OfferAppearance,
  OfferSettings,
  OfferStyles,
  WebFont,
} from './appearance.ts';
export { type FireBeaconOptions, fillCacheBuster, fireBeacon } from './beacon.ts';
export {
  type AdCallback,
  type AdEvent,
  clickedUrlOf,
  offerCountOf,
  parseAdCallback,
  parseAdMessage,
} from './callback.ts';
export { defaultAppearance, defaultSettings, defaultStyles } from './default-appearance.ts';
export { ConnectionError, InvalidParameterError, ServerError } from './errors.ts';
export {
  countOffers,
  countPlacements,
  type FetchOffersOptions,
  type FetchPlacementsOptions,
  fetchOffers,
  fetchPlacements,
  type PlacementRequest,
} from './fetch-offers.ts';
export type { FetchInit, FetchLike } from './http.ts';
export { NavigationGuard, type NavigationGuardOptions } from './navigation-guard.ts';
export type { JsonValue, UserPayload } from './payload.ts';
export type {
  Beacons,
  Coupon,
  Creative,
  ExperimentArm,
  FetchOffersResponse,
  FetchPlacementsResponse,
  Offer,
  OfferCampaign,
  OfferData,
  PlacementData,
} from './response.ts';
export type {
  Ad,
  AdActions,
  AdConfig,
  AdErrorKind,
  AdEventArguments,
  AdEventCallback,
  AdEventPayloads,
  AdLabels,
  AdMountConfig,
  AdPosition,
  AdRender,
  AdRenderUnit,
  AdUnit,
  AdUser,
  ShownOffer,
} from './sdk.ts';
export {
  type CheckoutHtmlOptions,
  injectApiResponse,
  type PrefetchHtmlOptions,
  type PrefetchMode,
  renderCheckoutHtml,
  renderPrefetchHtml,
} from './template.ts';
export { type TermsRules, termsRules } from './terms.ts';
export { normaliseUrl, requireBaseUrl } from './url.ts';
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookErrorReason,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhook.ts';
export type {
  AuditPayload,
  ConversionPayload,
  OperationalPayloads,
  PerkMessagePayload,
  PulledEvents,
  SelectedCampaign,
  UspSelectionPayload,
  WalletPayload,
  WebhookPayloads,
  WebhookType,
} from './webhook-events.ts';
