import type { Beacons } from './beacons.ts';
import type { Bridge } from './bridge.ts';
import { customView } from './custom.ts';
import { describeError, SdkError } from './errors.ts';
import { type Frame, openFrame } from './frame.ts';
import { progressText } from './labels.ts';
import type { Actions, AdConfig, Answer, Emit, Labels, Offer } from './types.ts';
import type { Usp } from './usp.ts';
import { multiView } from './views/multi.ts';
import type { ViewContext } from './views/parts.ts';
import { singleView } from './views/single.ts';
import { watchVisibility } from './visibility.ts';

/**
 * One showing of an answer: which offer is where, and what follows from what the user does
 * (docs/interface.md#showing-offers).
 */
export type Unit = {
  close: () => void;
  reject: () => void;
  back: () => void;
  /** Shows what is ticked. */
  refresh: () => void;
  /** Takes it away without a word. */
  remove: () => void;
};

export type UnitOptions = {
  answer: Answer;
  config: AdConfig;
  labels: Labels;
  base: string;
  beacons: Beacons;
  usp: Usp | null;
  bridge: Bridge;
  emit: Emit;
  save: (url: string) => Promise<void>;
  /** It is gone. */
  onEnd: () => void;
};

/** @throws SdkError render_error when there is no element to embed it in */
export function openUnit(options: UnitOptions): Unit {
  const { answer, config, labels, base, beacons, usp, bridge, emit } = options;
  const multi = answer.settings.multi_offer_unit;
  const total = answer.offers.length;
  /** Multi: offers that were not declined. */
  const left = new Set(answer.offers);
  const taken = new Set<Offer>();
  const shown = new Set<Offer>();
  let index = 0;
  let refresh = (): void => {};
  let stopWatching = (): void => {};
  let ended = false;

  const currentOffer = (): Offer => (multi ? ([...left][0] ?? answer.offers[0]) : answer.offers[index]) as Offer;
  const numberOf = (offer: Offer): number => answer.offers.indexOf(offer) + 1;

  function markShown(offer: Offer): void {
    beacons.impression(offer);
    if (multi && shown.has(offer)) return;
    shown.add(offer);
    emit('ad_shown', { current: numberOf(offer), total });
  }

  function onLink(url: string, event: Event | null): void {
    if (bridge.present()) event?.preventDefault();
    else if (event === null) window.open(url, '_blank', 'noopener');
    emit('url_clicked', { target_url: url, url });
  }

  const actions: Actions = {
    take: (offer = currentOffer()) => {
      if (ended) return;
      taken.add(offer);
      emit('ad_taken', { current: numberOf(offer), total, campaign_id: offer.campaign_id });
      if (multi ? taken.size === total : index === total - 1)
        emit('last_ad_taken', { current: numberOf(offer), total });
      if (!multi) goOn();
    },
    reject: (offer = currentOffer()) => {
      if (ended || !left.has(offer)) return;
      beacons.noThanks(offer);
      emit('ad_not_taken', { current: numberOf(offer), total });
      if (!multi) return goOn();
      left.delete(offer);
      if (left.size === 0) end([offer]);
      else draw(true);
    },
    back: () => {
      if (multi || ended || index === 0) return;
      index--;
      draw(true);
    },
    close: () => {
      if (!ended) end(multi ? [...left].filter((offer) => shown.has(offer)) : [currentOffer()]);
    },
    save: async (offer = currentOffer()) => {
      try {
        if (offer.save_for_later_url === '') throw new SdkError('save_error', 'The offer cannot be saved.');
        await options.save(offer.save_for_later_url);
        frame.announce(labels.saved);
        return true;
      } catch (err) {
        emit('error', { ...describeError(err), kind: 'save_error' });
        return false;
      }
    },
    select: (campaignId, selected = true) => usp?.set(campaignId, selected),
  };

  function goOn(): void {
    if (index === total - 1) end([currentOffer()]);
    else {
      index++;
      draw(true);
    }
  }

  /** `closing`: the offers then shown. */
  function end(closing: Offer[]): void {
    for (const offer of closing) beacons.close(offer);
    remove();
    emit('closed_ads', { current: index + 1, total });
    options.onEnd();
  }

  function remove(): void {
    ended = true;
    stopWatching();
    frame.remove();
  }

  const context: ViewContext = { answer, labels, actions, base, onLink };

  function draw(moveFocus: boolean): void {
    stopWatching();
    stopWatching = () => {};
    if (!drawCustom()) drawOwn(moveFocus);
    if (multi) return;
    if (total > 1) frame.announce(progressText(labels, index + 1, total));
    markShown(currentOffer());
  }

  function drawOwn(moveFocus: boolean): void {
    if (!multi) {
      const content = singleView(context, currentOffer(), index);
      if (moveFocus) content.firstElementChild?.classList.add('enter');
      frame.setContent(content, moveFocus);
      return;
    }
    const view = multiView(context, [...left], usp);
    refresh = view.refresh;
    frame.setContent(view.element, moveFocus);
    const offers = new Map<Element, Offer>([...view.tiles].map(([offer, tile]) => [tile, offer]));
    watch(offers);
  }

  const watch = (offers: Map<Element, Offer>): void => {
    stopWatching = watchVisibility(offers.keys(), (element) => markShown(offers.get(element) as Offer));
  };

  /** @returns whether the page drew the unit itself */
  function drawCustom(): boolean {
    if (config.render === undefined && config.template === undefined) return false;
    try {
      const offers = multi ? [...left] : [currentOffer()];
      const own = {
        ...actions,
        take: (offer = currentOffer()) => {
          onLink(offer.click_url, null);
          actions.take(offer);
        },
      };
      const element = frame.slotElement();
      const { settings, styles } = answer;
      const selected = usp?.selected() ?? [];
      const marked = customView(config, {
        element,
        offers,
        current: numberOf(offers[0] as Offer),
        total,
        selected,
        settings,
        styles,
        actions: own,
      });
      if (multi) watch(marked);
      return true;
    } catch (err) {
      emit('error', describeError(err, 'render_error'));
      return false;
    }
  }

  const target = targetOf(config, answer);
  const frame: Frame = openFrame({ answer, labels, target, multi, onClose: actions.close, onLink });
  draw(false);
  return { close: actions.close, reject: () => actions.reject(), back: actions.back, refresh: () => refresh(), remove };
}

function targetOf(config: AdConfig, { settings: { embedded } }: Answer): Element | null {
  const wanted = config.targetElement ?? (embedded.enabled ? embedded.targetElement : '');
  if (wanted === '') return null;
  const found = typeof wanted === 'string' ? document.querySelector(wanted) : wanted;
  if (!(found instanceof Element)) throw new SdkError('render_error', 'There is no element targetElement.');
  return found;
}
