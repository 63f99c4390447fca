import { sanitise } from '../sanitise.ts';
import type { Actions, Answer, Labels, Offer } from '../types.ts';
import { anchor, button, h, newId } from './dom.ts';

/** What every view needs. */
export type ViewContext = {
  answer: Answer;
  labels: Labels;
  actions: Actions;
  /** Base URL of the service, and of its images. */
  base: string;
  /** Called for every clicked link, before the browser follows it. */
  onLink: (url: string, event: Event) => void;
};

/** Second click of a double click, which would hit the next offer. */
const isRepeatedClick = (event: Event): boolean => (event as MouseEvent).detail > 1;

function link(context: ViewContext, url: string, text: string, className: string): HTMLElement | null {
  if (url === '' || text === '') return null;
  return anchor(url, className, (event) => context.onLink(url, event), text, newTab(context));
}

const newTab = ({ labels }: ViewContext): HTMLElement => h('span', 'sr', ` ${labels.newTab}`);

/** The positive call to action: a real link, which pop-up blockers let through. */
export function yesButton(context: ViewContext, offer: Offer, className = 'btn yes'): HTMLElement {
  const { styles, settings } = context.answer;
  const shimmer = settings.enable_effect_shimmer_pos_cta ? ' shimmer' : '';
  const style = ['bold', 'italic', 'uppercase'].includes(styles.offerText.cta_text_style)
    ? ` ${styles.offerText.cta_text_style}`
    : '';
  const click = (event: Event): void => {
    if (isRepeatedClick(event)) event.preventDefault();
    else {
      context.onLink(offer.click_url, event);
      context.actions.take(offer);
    }
  };
  return anchor(offer.click_url, className + shimmer + style, click, offer.cta_yes, newTab(context));
}

export const noButton = ({ actions }: ViewContext, offer: Offer, className = 'btn no'): HTMLElement =>
  button(className, (event) => isRepeatedClick(event) || actions.reject(offer), offer.cta_no);

export function brand(context: ViewContext, offer: Offer): HTMLElement | null {
  return context.answer.styles.offerText.hide_adv_name || offer.advertiser_name === ''
    ? null
    : h('p', 'brand', offer.advertiser_name);
}

/** The long text, or the short one where the unit is narrow. */
export const twoLengths = (long: string, short: string): Node[] =>
  long === short ? [document.createTextNode(long)] : [h('span', 'long', long), h('span', 'short', short)];

export const loyalty = (offer: Offer): HTMLElement | null =>
  offer.is_loyalty && offer.loyalty_requirements !== '' ? h('p', 'loyalty', offer.loyalty_requirements) : null;

/** Save for later, the offer's secondary action, the offerwall. */
export function extras(context: ViewContext, offer: Offer): HTMLElement | null {
  const { settings } = context.answer;
  const parts = [
    settings.enable_wallet && offer.wallet_enabled && offer.save_for_later_url !== '' && saveForLater(context, offer),
    link(context, offer.useraction_url, offer.useraction_cta, 'extra'),
    settings.enable_offerwall &&
      offer.offerwall_enabled &&
      link(context, offer.offerwall_url, settings.offerwall_cta, 'extra'),
  ].filter((part) => part instanceof Node);
  return parts.length === 0 ? null : h('div', 'extras', ...parts);
}

function saveForLater(context: ViewContext, offer: Offer): HTMLElement {
  const { perkswallet_cta: label, saved_offer_text: saved } = context.answer.settings;
  const click = async (): Promise<void> => {
    if (saveButton.ariaDisabled === 'true') return;
    saveButton.ariaDisabled = 'true';
    const done = await context.actions.save(offer);
    if (done) saveButton.textContent = saved;
    else saveButton.ariaDisabled = 'false';
  };
  const saveButton = button('extra save', click, label);
  return saveButton;
}

/** Full terms are not in the initial view (docs/interface.md#offer-object). */
export function terms(context: ViewContext, offer: Offer): HTMLElement | null {
  if (offer.terms_and_conditions.trim() === '') return null;
  const click = (event: Event): void => {
    const target = (event.target as Element).closest('a');
    if (target !== null) context.onLink(target.href, event);
  };
  const text = h('div', { class: 'terms-text', click }, sanitise(offer.terms_and_conditions));
  return h('details', 'terms', h('summary', '', context.labels.terms), text);
}

export const miniText = (offer: Offer): HTMLElement | null =>
  offer.mini_text === '' ? null : h('p', 'mini', offer.mini_text);

/** A heading that gets the focus when its offer appears. */
export const title = (long: string, short: string): { element: HTMLElement; id: string } => {
  const id = newId();
  return { element: h('h3', { id, class: 'title', tabindex: -1 }, ...twoLengths(long, short)), id };
};
