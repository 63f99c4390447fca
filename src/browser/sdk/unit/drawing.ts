import { describeError } from '../errors.ts';
import { progressText } from '../labels.ts';
import type { Offer } from '../types.ts';
import { multiView } from '../views/multi.ts';
import { singleView } from '../views/single.ts';
import { watchVisibility } from '../visibility.ts';
import { customView, isCustom } from './custom-view.ts';
import { currentOffer, currentOffers, positionOf } from './state.ts';
import type { Unit } from './types.ts';

/**
 * Renders the current offers and records impressions. A single unit records them immediately, and a grid when they
 * become visible.
 */
export function draw(unit: Unit, moveFocus: boolean): void {
  const { frame, labels, index, multi, offers } = unit;
  unit.stopWatching();
  unit.stopWatching = () => {};
  if (!drawCustom(unit)) (multi ? drawMulti : drawSingle)(unit, moveFocus);
  if (multi) return;
  if (offers.length > 1) frame.announce(progressText(labels, index + 1, offers.length));
  markShown(unit, currentOffer(unit));
}

function drawSingle(unit: Unit, moveFocus: boolean): void {
  const { frame, index } = unit;
  const content = singleView(unit, currentOffer(unit), index);
  if (moveFocus) content.firstElementChild?.classList.add('enter');
  frame.setContent(content, moveFocus);
}

function drawMulti(unit: Unit, moveFocus: boolean): void {
  const view = multiView(unit, currentOffers(unit), unit.usp);
  unit.refresh = view.refresh;
  unit.frame.setContent(view.element, moveFocus);
  watch(unit, new Map([...view.tiles].map(([offer, tile]) => [tile, offer])));
}

/**
 * Lets the page render the unit. If this fails, the SDK renders the unit from now on.
 * @returns whether the page rendered the unit
 */
function drawCustom(unit: Unit): boolean {
  if (unit.customFailed || !isCustom(unit.config)) return false;
  try {
    const elements = customView(unit);
    if (unit.multi) watch(unit, elements);
    return true;
  } catch (err) {
    unit.customFailed = true;
    unit.useOwnFrame();
    unit.emit('error', describeError(err, 'render_error'));
    return false;
  }
}

function watch(unit: Unit, offers: Map<Element, Offer>): void {
  unit.stopWatching = watchVisibility(offers.keys(), (element) => markShown(unit, offers.get(element) as Offer));
}

function markShown(unit: Unit, offer: Offer): void {
  const { multi, shownOffers, beacons, emit } = unit;
  beacons.impression(offer);
  if (multi && shownOffers.has(offer)) return;
  shownOffers.add(offer);
  emit('ad_shown', positionOf(unit, offer));
}
