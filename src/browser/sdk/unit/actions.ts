import { callJson } from '../api.ts';
import { describeError, SdkError } from '../errors.ts';
import type { Actions, Offer } from '../types.ts';
import { setSelected } from '../usp/usp.ts';
import { currentOffer, isLast, positionOf, type UnitState } from './state.ts';

/** Functions that a unit's actions call to update its display. */
export type ActionPorts = {
  redraw: () => void;
  /** Ends the unit. `closing` contains the displayed offers. */
  end: (closing: Offer[]) => void;
  /** Announces a message to screen readers. */
  announce: (text: string) => void;
};

export type UnitActions = Actions & {
  /** Moves a single unit to the next offer, without answering the current one. */
  next: () => void;
};

/**
 * Creates the actions for the user, or for a page that renders the unit itself
 * (docs/reference/fetch-offers.md#show-offers).
 */
export function createActions(unit: UnitState, { redraw, end, announce }: ActionPorts): UnitActions {
  const { beacons, usp, emit, labels } = unit;

  function next(): void {
    if (isLast(unit)) end([currentOffer(unit)]);
    else {
      unit.index++;
      redraw();
    }
  }

  function decline(offer: Offer): void {
    unit.remaining.delete(offer);
    if (unit.remaining.size === 0) end([offer]);
    else redraw();
  }

  return {
    next: () => {
      if (!unit.multi && !unit.ended) next();
    },
    take: (offer = currentOffer(unit)) => {
      if (unit.ended) return;
      const position = positionOf(unit, offer);
      unit.acceptedOffers.add(offer);
      emit('ad_taken', { ...position, campaign_id: offer.campaign_id });
      if (unit.multi ? unit.acceptedOffers.size === position.total : isLast(unit)) emit('last_ad_taken', position);
      if (!unit.multi) next();
    },
    reject: (offer = currentOffer(unit)) => {
      if (unit.ended || !unit.remaining.has(offer)) return;
      beacons.send('no_thanks_click', offer);
      emit('ad_not_taken', positionOf(unit, offer));
      if (unit.multi) decline(offer);
      else next();
    },
    back: () => {
      if (unit.multi || unit.ended || unit.index === 0) return;
      unit.index--;
      redraw();
    },
    close: () => {
      if (unit.ended) return;
      end(unit.multi ? [...unit.remaining].filter((offer) => unit.shownOffers.has(offer)) : [currentOffer(unit)]);
    },
    save: async (offer = currentOffer(unit)) => {
      try {
        if (offer.save_for_later_url === '') throw new SdkError('save_error', 'The offer cannot be saved.');
        await callJson('POST', offer.save_for_later_url);
        announce(labels.saved);
        return true;
      } catch (err) {
        emit('error', { ...describeError(err), kind: 'save_error' });
        return false;
      }
    },
    select: (campaignId, selected = true) => {
      if (usp !== null) setSelected(usp, campaignId, selected);
    },
  };
}
