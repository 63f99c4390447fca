import type { Beacons } from '../beacons.ts';
import type { Style } from '../compat.ts';
import type { AdConfig, Emit, Labels, Offer, OffersResponse } from '../types.ts';
import type { UspState } from '../usp/state.ts';

export type UnitOptions = {
  answer: OffersResponse;
  config: AdConfig;
  labels: Labels;
  /** Language of the unit's labels. */
  language: string;
  style: Style;
  /** Base URL of the service. */
  base: string;
  beacons: Beacons;
  usp: UspState | null;
  emit: Emit;
  onEnd: () => void;
  /** Called when the page has removed the unit, for example by replacing the page body. */
  onLost: () => void;
};

/** State of a unit, including the user's position in its offers. */
export type UnitState = UnitOptions & {
  offers: readonly Offer[];
  /**
   * Whether offers are shown in a grid instead of one at a time. Units that the page renders with `render` show offers
   * one at a time.
   */
  multi: boolean;
  /** Index of the displayed offer in a single unit, starting at 0. */
  index: number;
  /** Offers in a multi unit that the user has not declined. */
  remaining: Set<Offer>;
  acceptedOffers: Set<Offer>;
  /** Offers for which `ad_shown` was emitted. */
  shownOffers: Set<Offer>;
  ended: boolean;
  /** Whether the page failed to render the unit itself. */
  customFailed: boolean;
};

export function createState(options: UnitOptions): UnitState {
  const { offers, settings } = options.answer;
  return {
    ...options,
    offers,
    multi: settings.multi_offer_unit && options.config.render === undefined,
    index: 0,
    remaining: new Set(offers),
    acceptedOffers: new Set(),
    shownOffers: new Set(),
    ended: false,
    customFailed: false,
  };
}

/** Returns the offers on display. */
export const currentOffers = ({ multi, remaining, offers, index }: UnitState): Offer[] =>
  multi ? [...remaining] : [offers[index] as Offer];

/** Returns the offer to which an action applies if none is passed. */
export const currentOffer = (unit: UnitState): Offer => (currentOffers(unit)[0] ?? unit.offers[0]) as Offer;

/** Returns the position for events about an offer. `current` starts at 1. */
export const positionOf = ({ offers }: UnitState, offer: Offer): { current: number; total: number } => ({
  current: offers.indexOf(offer) + 1,
  total: offers.length,
});

export const isLast = ({ index, offers }: UnitState): boolean => index === offers.length - 1;
